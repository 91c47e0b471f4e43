// assert.h -- for environments on a GPU. An assert that fails ends the run, and names the env
#pragma once
void puffer_assert(const char* test, const char* file, int line);
#ifdef NDEBUG
#define assert(test) ((void)0)
#else
#define assert(test) ((test) ? (void)0 : puffer_assert(#test, __FILE__, __LINE__))
#endif
#define static_assert _Static_assert
