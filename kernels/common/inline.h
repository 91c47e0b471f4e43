/* inline.h -- how functions of headers are written, where no instruction set has said so. */
#pragma once
#ifndef KERNEL_INLINE
#define KERNEL_INLINE static inline __attribute__((always_inline, unused))
#endif
