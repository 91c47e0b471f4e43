/* system.h -- what Linux and macOS do by other calls. macOS's have been compiled, and never run. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#ifdef __APPLE__
#include <stdlib.h>
static inline void* memalign(size_t alignment, size_t size) {
    void* block;
    return posix_memalign(&block, alignment, size) ? NULL : block;
}
#define TEMP_FAILURE_RETRY(call)                                                                   \
    ({                                                                                             \
        long result;                                                                               \
        do result = (long)(call);                                                                  \
        while (result == -1 && errno == EINTR);                                                    \
        result;                                                                                    \
    })
#else
#include <malloc.h>
#endif

// MemorySanitizer's, which macOS has not: NULL where the program is compiled without it
#ifdef __APPLE__
#define check_initialized_at                 ((void (*)(const volatile void*, size_t))NULL)
#define __sanitizer_set_death_callback(what) ((void)(what))
#else
#define check_initialized_at __msan_check_mem_is_initialized
void __msan_check_mem_is_initialized(const volatile void*, size_t) __attribute__((weak));
void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));
#endif

#ifndef O_TMPFILE
#define O_TMPFILE 0
#endif

typedef struct Fault {
    unsigned long long pc;
    int write;    // -1: unknown
} Fault;

size_t page_bytes(void);
// Seconds of the system's clock, which is not the env's: play/clocks.c answers for that
double system_seconds(bool of_cpu);
// Waits for a change until that time of the system's clock; false when it has come
bool wait_until(pthread_cond_t* change, pthread_mutex_t* lock, double end);
// The process ends when its parent does: at once, or at the next look (end_if_orphaned)
void end_with_parent(void);
void end_if_orphaned(void);    // may be called in a signal handler
// Starts the program again, once, with the same addresses in every run, where the system can
void fix_addresses(char** words);
// What a signal's handler was told of a fault
Fault fault_of(const void* context);
int64_t resident_bytes(void);
// Where malloc's blocks lie, and the bytes of one that begins at an address; 0 where none does
typedef struct Heap {
    uintptr_t low, high;
} Heap;
Heap find_heap(void);
size_t block_bytes(Heap heap, uintptr_t at);
