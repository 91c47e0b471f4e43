/* steps.h -- a step of a VecEnv, and what a vector of Gymnasium's does before and after it.
 *
 *     count = steps_play(steps, ids, tick, NULL, rewards, flags, over)
 *     steps_end(steps, over, count, last, finals, columns, there)
 *
 * One pass over the rows for each thing: a dozen calls of NumPy take longer than a step of a
 * thousand copies.
 */
#pragma once
#include "puffer_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Steps {    // what all steps of one VecEnv have in common
    int64_t rows;         // N
    int64_t heads;        // K
    int64_t agents;       // rows of a copy
    int64_t copies;
    int64_t num_logs;
    int64_t row_bytes;                 // of an observation
    const int32_t* widths;             // [heads]
    float* actions;                    // (rows, heads)
    const float* rewards;              // (rows)
    const float* terminals;            // (rows)
    const float* truncations;          // (rows)
    const char* finals;                // (rows) observations, where
    const unsigned char* has_final;    // (rows) is 1; NULL: there are none
    const PufferApi* api;
    PufferVec* vec;
    PufferWatch* watch;
    int32_t flags;    // of a step
} Steps;

// Has all copies play ids (rows, heads), if each head has its own; those whose waits[copy] is 1 stay
// as they are, unless waits is NULL. Then as steps_read. -1 where an id does not exist: nobody moved
int64_t steps_play(const Steps* steps, const int64_t* ids, int64_t tick, const unsigned char* waits,
                   float* rewards, unsigned char* flags, int64_t* over);

// rewards (rows), flags (3, rows): terminated, truncated, either. over (rows) gets the rows with an
// ending, in order. Returns their number
int64_t steps_read(const Steps* steps, float* rewards, unsigned char* flags, int64_t* over);

// finals (count) observations; last (rows) are those of the step before, for rows without a final
// one. columns (num_logs, rows), there (rows): written for rows whose copy has logged something.
// Where api is NULL, nothing is: somebody else reads the logs
void steps_end(const Steps* steps, const int64_t* over, int64_t count, const char* last,
               char* finals, double* columns, unsigned char* there);

#ifdef __cplusplus
}
#endif
