/* replay.c -- segments and weights that the next update takes in place of its own picks. */
#include "shared.h"
#include <stdlib.h>
#include <string.h>

void replay_set(Replay* replay, const int32_t* rows, const float* importance, int32_t minibatches,
                int32_t segments) {
    size_t count = (size_t)minibatches * (size_t)segments;
    replay_free(replay);
    replay->rows = malloc(sizeof(int32_t) * (count + 1));
    replay->importance = malloc(sizeof(float) * (count + 1));
    replay->count = replay->rows && replay->importance ? minibatches : 0;
    if (!replay->count) return;
    memcpy(replay->rows, rows, sizeof(int32_t) * count);
    memcpy(replay->importance, importance, sizeof(float) * count);
}

void replay_free(Replay* replay) {
    free(replay->rows);
    free(replay->importance);
    memset(replay, 0, sizeof *replay);
}
