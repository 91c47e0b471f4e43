/* probes.h -- places of the author's code whose numbers are looked at while it runs.
 *
 * checking/collect/c/probing.py writes a copy of the header in which the operand of a narrowing store
 * is passed through puffer_narrow, an integer division through puffer_quotient, and a generator's
 * state that is copied through puffer_copy, what perf takes through puffer_share; all return what the
 * code would have had. puffer_forget is shown a reward before it is set to 0. probes.c reports what
 * went through.
 */
#pragma once
#include <stdint.h>

typedef struct PufferSite {
    int64_t count;          // times that it was reached
    int64_t outside;        // puffer_narrow: values that fit into no byte; puffer_forget: rewards
                            // other than 0; puffer_share: values outside [0, 1]
    int64_t first;          // the first of them
    int64_t zeros, ones;    // puffer_quotient: results of 0 and of 1 ...
    int64_t inexact;        // ... those of 0 that are no zero, as 3 / 4
    int64_t beyond;         // results that are no share: below 0, above 1, or 1 with a remainder
    int64_t nearly;         // ... those of 0 whose numerator is 9/10 of the other or more
    int64_t low, high;      // numerators; puffer_share: thousandths
    int64_t last;           // puffer_copy: the state that was copied last; times that it was ...
    int64_t again;          // ... the same as before
} PufferSite;

#ifdef PUFFER_SITES    // how many there are: set by the copy that includes this
#ifdef __cplusplus
#define PUFFER_SEEN extern "C" __attribute__((visibility("default")))
#else
#define PUFFER_SEEN extern __attribute__((visibility("default")))
#endif
PUFFER_SEEN const int puffer_check_site_count;
PUFFER_SEEN PufferSite puffer_check_sites[PUFFER_SITES];
#define PUFFER_LOOKS static inline __attribute__((no_instrument_function))
const int puffer_check_site_count = PUFFER_SITES;
PufferSite puffer_check_sites[PUFFER_SITES];

PUFFER_LOOKS int64_t puffer_narrow(int site, int64_t value) {
    PufferSite* s = &puffer_check_sites[site];
    s->count++;
    if ((value < 0 || value > 255) && s->outside++ == 0) {
        s->first = value;
    }
    return value;
}

PUFFER_LOOKS int64_t puffer_quotient(int site, int64_t a, int64_t b) {
    PufferSite* s = &puffer_check_sites[site];
    int64_t quotient = a / b;
    s->low = s->count == 0 || a < s->low ? a : s->low;
    s->high = s->count == 0 || a > s->high ? a : s->high;
    s->count++;
    s->zeros += quotient == 0;
    s->ones += quotient == 1;
    s->inexact += quotient == 0 && a != 0;
    s->nearly += quotient == 0 && a > 0 && b > 0 && a >= b - b / 10;
    s->beyond += a < 0 || b < 0 || quotient > 1 || (quotient == 1 && a != b);
    return quotient;
}

PUFFER_LOOKS int64_t puffer_copy(int site, int64_t state) {
    PufferSite* s = &puffer_check_sites[site];
    s->again += s->count > 0 && state == s->last;
    s->last = state;
    s->count++;
    return state;
}

PUFFER_LOOKS double puffer_share(int site, double value) {
    PufferSite* s = &puffer_check_sites[site];
    if (value < -1e-4 || value > 1.0001) {
        int64_t thousandths = value > 1e12    ? (int64_t)1e15
                              : value < -1e12 ? (int64_t)-1e15
                                              : (int64_t)(1e3 * value);
        s->low = thousandths < s->low ? thousandths : s->low;
        s->high = thousandths > s->high ? thousandths : s->high;
        s->outside++;
    }
    s->count++;
    return value;
}

PUFFER_LOOKS void puffer_forget(int site, double reward) {
    PufferSite* s = &puffer_check_sites[site];
    s->count++;
    s->outside += reward != 0.0;
}
#endif
