// stdlib.h -- for environments on a GPU. rand() and its kin act on the env's own generator
#pragma once
#include <stddef.h>
#define RAND_MAX     2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
void* malloc(size_t);
void* calloc(size_t, size_t);
void* realloc(void*, size_t);
void free(void*);
void abort(void);
void exit(int);
int abs(int);
long labs(long);
long long llabs(long long);
int atoi(const char*);
int rand(void);
void srand(unsigned int);
long random(void);
void srandom(unsigned int);
int rand_r(unsigned int*);
void qsort(void*, size_t, size_t, int (*)(const void*, const void*));
void* bsearch(const void*, const void*, size_t, size_t, int (*)(const void*, const void*));
double drand48(void) PUFFER_NOT_HERE("drand48 keeps its state for all envs");
long lrand48(void) PUFFER_NOT_HERE("lrand48 keeps its state for all envs");
void srand48(long) PUFFER_NOT_HERE("srand48 keeps its state for all envs");
double atof(const char*) PUFFER_NO_TEXTS;
long atol(const char*) PUFFER_NO_TEXTS;
double strtod(const char*, char**) PUFFER_NO_TEXTS;
float strtof(const char*, char**) PUFFER_NO_TEXTS;
long strtol(const char*, char**, int) PUFFER_NO_TEXTS;
unsigned long strtoul(const char*, char**, int) PUFFER_NO_TEXTS;
char* getenv(const char*) PUFFER_NO_SYSTEM;
int system(const char*) PUFFER_NO_SYSTEM;
int atexit(void (*)(void)) PUFFER_NO_SYSTEM;
int posix_memalign(void**, size_t, size_t) PUFFER_NOT_HERE("malloc is all there is on a GPU");
void* aligned_alloc(size_t, size_t) PUFFER_NOT_HERE("malloc is all there is on a GPU");
