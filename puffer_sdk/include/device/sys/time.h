// sys/time.h -- for environments on a GPU
#pragma once
#include <time.h>
struct timeval {
    time_t tv_sec;
    long tv_usec;
};
int gettimeofday(struct timeval*, void*) PUFFER_NO_CLOCK;
