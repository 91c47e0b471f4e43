/* sampling.c -- the first sighting of a fault, and samples that thin themselves out. */
#include "run.h"
#include <math.h>
#include <stdlib.h>

void sight(Sighting* s, int env, int agent, float value) {
    if (s->count++ == 0) {
        *s = (Sighting){1, watch.step, env, agent, value, value};
    }
    if (fabsf(value) > fabsf(s->largest)) {
        s->largest = value;
    }
}

Sample sample_open(void) {
    return (Sample){
        .at = calloc(SAMPLE_SIZE, sizeof(double)), .stride = 1, .low = INFINITY, .high = -INFINITY};
}

void sample_add(Sample* s, double value) {
    s->low = value < s->low ? value : s->low;
    s->high = value > s->high ? value : s->high;
    s->sum += value;
    if (s->seen++ % s->stride != 0) {
        return;
    }
    if (s->count == SAMPLE_SIZE) {    // full: keep every other one from here on
        for (int i = 0; i < SAMPLE_SIZE / 2; i++) {
            s->at[i] = s->at[2 * i];
        }
        s->count /= 2;
        s->stride *= 2;
    }
    s->at[s->count++] = value;
}

void sample_close(Sample* s, const char* name, FILE* file) {
    if (s->seen > 0 && isfinite(s->sum)) {
        fact(sample, .name = name, .seen = s->seen, .count = file ? s->count : 0, .low = s->low,
             .high = s->high, .mean = s->sum / (double)s->seen);
        if (file) {
            fwrite(s->at, sizeof(double), (size_t)s->count, file);
        }
    }
    free(s->at);
}
