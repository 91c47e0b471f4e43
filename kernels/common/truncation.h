/* truncation.h -- what an episode that a time limit cut off is worth from there on. */
#pragma once
#include "kernels/common/inline.h"

// Stored as floats in `truncated`, beside rewards
enum {
    NOT_TRUNCATED,          // it goes on, or has ended
    TRUNCATED,              // V of the observation before stands in
    TRUNCATED_WITH_VALUE    // V of its last observation is known
};

// The highest return of a segment's ticks that rewards alone bring, at least 0. Of an episode that
// the segment does not end, as if T ticks like these came again for ever.  limit: of rewards
KERNEL_INLINE float earned_return(const float* rewards, const float* ended, const float* truncated,
                                  int T, float gamma, float limit) {
    float highest = 0.0f, sum = 0.0f, left = 1.0f, most = 3.4e38f;
    for (int t = 0; t < T; t++) left *= gamma;
    float for_ever = 1.0f - left > 1.0f / most ? 1.0f / (1.0f - left) : most, times = for_ever;
    for (int t = T - 1; t >= 0; t--) {
        float reward = rewards[t] > limit ? limit : rewards[t] < -limit ? -limit : rewards[t];
        if (ended[t] != 0.0f) times = truncated[t] != (float)NOT_TRUNCATED ? for_ever : 1.0f;
        sum = reward + (ended[t] != 0.0f ? 0.0f : gamma * sum);
        highest = sum * times > highest ? sum * times : highest;
    }
    return highest > most ? most : highest;
}
