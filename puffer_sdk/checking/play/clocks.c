/* clocks.c -- clocks and entropy that an env might use, and the harness's own clock.
 *
 * The env's stand still, and run in a run that is moved (options.shift), so that a game which
 * depends on them is caught every time.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

double now(void) { return system_seconds(false); }

double cpu_seconds(void) { return system_seconds(true); }

// Seconds of the env's clocks: none pass, or up to one at each look in a run that is moved
static double seconds(void) {
    static uint64_t looks;
    static double passed;
    if (options.shift) {
        passed += (double)(mix(++looks) % 1000) / 1000;
    }
    return 7919 * options.shift + passed;
}

time_t time(time_t* out) {
    time_t value = 1700000000 + (time_t)seconds();
    if (out) {
        *out = value;
    }
    return value;
}

clock_t clock(void) { return (clock_t)(1000 + CLOCKS_PER_SEC * seconds()); }

int gettimeofday(struct timeval* out, void* zone) {
    (void)zone;
    double passed = seconds();
    out->tv_sec = 1700000000 + (time_t)passed;
    out->tv_usec = (suseconds_t)(1e6 * (passed - (double)(time_t)passed));
    return 0;
}

int clock_gettime(clockid_t id, struct timespec* out) {
    (void)id;
    double passed = seconds();
    out->tv_sec = 1700000000 + (time_t)passed;
    out->tv_nsec = (long)(1e9 * (passed - (double)(time_t)passed));
    return 0;
}

double GetTime(void) { return seconds(); }    // raylib's

float GetFrameTime(void) {
    double before = seconds();
    return (float)(seconds() - before);
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
