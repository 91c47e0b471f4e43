/* clocks.c -- clocks and entropy that an env might use, and the harness's own clock.
 *
 * The env's stand still within a run and move between runs (options.shift), so that a game
 * which depends on them is caught every time.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

double now(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);    // ours is not the env's clock
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double cpu_seconds(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const time_t epoch = 1700000000;

time_t time(time_t* out) {
    time_t value = epoch + 7919 * options.shift;
    if (out) {
        *out = value;
    }
    return value;
}

clock_t clock(void) { return (clock_t)(1000 + 7919 * options.shift); }

int gettimeofday(struct timeval* out, void* zone) {
    (void)zone;
    out->tv_sec = time(NULL);
    out->tv_usec = 7919 * options.shift;
    return 0;
}

int clock_gettime(clockid_t id, struct timespec* out) {
    (void)id;
    out->tv_sec = time(NULL);
    out->tv_nsec = 7919 * options.shift;
    return 0;
}

ssize_t getrandom(void* out, size_t size, unsigned int flags) {
    static uint64_t calls;
    (void)flags;
    for (size_t i = 0; i < size; i++) {
        ((unsigned char*)out)[i] = (unsigned char)mix(++calls + 7919u * (uint64_t)options.shift);
    }
    return (ssize_t)size;
}

int getentropy(void* out, size_t size) {
    getrandom(out, size, 0);
    return 0;
}
