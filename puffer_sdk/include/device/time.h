// time.h -- for environments on a GPU
#pragma once
#include <stddef.h>
typedef long time_t;
typedef long clock_t;
typedef int clockid_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
};
#define CLOCKS_PER_SEC  1000000l
#define CLOCK_REALTIME  0
#define CLOCK_MONOTONIC 1
time_t time(time_t*) PUFFER_NO_CLOCK;
clock_t clock(void) PUFFER_NO_CLOCK;
double difftime(time_t, time_t) PUFFER_NO_CLOCK;
int clock_gettime(clockid_t, struct timespec*) PUFFER_NO_CLOCK;
int nanosleep(const struct timespec*, struct timespec*) PUFFER_NO_CLOCK;
struct tm* localtime(const time_t*) PUFFER_NO_CLOCK;
struct tm* gmtime(const time_t*) PUFFER_NO_CLOCK;
size_t strftime(char*, size_t, const char*, const struct tm*) PUFFER_NO_TEXTS;
