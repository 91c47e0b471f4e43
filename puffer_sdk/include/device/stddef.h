// stddef.h -- for environments on a GPU
#pragma once
typedef unsigned long size_t;
typedef long ptrdiff_t;
#undef NULL
#define NULL                   0    // C++ converts no void*
#define offsetof(type, member) ((size_t) & ((type*)0)->member)
