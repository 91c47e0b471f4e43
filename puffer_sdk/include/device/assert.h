// assert.h -- for environments on a GPU. An assert that fails ends the run, and names the env
#pragma once
void abort(void);
#ifdef NDEBUG
#define assert(test) ((void)0)
#else
#define assert(test) ((test) ? (void)0 : abort())
#endif
#define static_assert _Static_assert
