/* run.h -- the parts of the long run: sampling.c, episode_stats.c, unlogged_endings.c,
 * logged_values.c, byte_wrap.c. All are cheap enough to be called on every step.
 */
#pragma once
#include <stdio.h>
#include "harness.h"

typedef struct Sighting {    // the first time that something was seen, and how often
    int64_t count, step;
    int env, agent;
    float value, largest;
} Sighting;

enum { SAMPLE_SIZE = 8192 };
typedef struct Sample {    // every stride-th of the values offered: a pure function
    double* at;            // (SAMPLE_SIZE) owned
    int64_t seen, stride;
    int count;
    double low, high, sum;    // of all values, not only of the sample
} Sample;

void sight(Sighting* s, int env, int agent, float value);
#define report_sighting(kind, at, s) /* as a fact, if it was seen */                               \
    ((s)->count == 0                                                                               \
         ? (void)0                                                                                 \
         : fact(kind, .element = at, .count = (s)->count, .step = (s)->step, .env = (s)->env,      \
                .agent = (s)->agent, .value = (s)->value, .largest = (s)->largest))
Sample sample_open(void);
void sample_add(Sample* s, double value);
void sample_close(Sample* s, const char* name, FILE* file);    // a fact, and its values

typedef struct Ledger Ledger;    // rewards, episodes and log entries; episode_stats.c
Ledger* ledger_open(const Batch* b);
void ledger_step(Ledger* l);    // after every step: watch.step says which
void ledger_close(Ledger* l, FILE* samples);

typedef struct Omitted Omitted;    // endings that the log leaves out; unlogged_endings.c
Omitted* omitted_open(const Batch* b);
// After a step of this env: agents whose episodes ended, those that were there, rewards of all
void omitted_step(Omitted* o, const Batch* b, int env, int ended, int lived, double paid);
void omitted_close(Omitted* o, const Batch* b);

typedef struct Logged Logged;    // values of fields of Log; logged_values.c
Logged* logged_open(const Batch* b);
void logged_step(Logged* l, const Batch* b, int env);    // after its entry has been read
void logged_entry(Logged* l, int env, const float* log, size_t count, float n);
void logged_close(Logged* l);    // as facts

typedef struct Circles Circles;           // bytes that wrap around; byte_wrap.c
Circles* circles_open(const Batch* b);    // NULL where observations are not bytes
void circles_step(Circles* c, int64_t t);
void circles_close(Circles* c);
