/* truncation.h -- what an episode that a time limit cut off is worth from there on. */
#pragma once

// Stored as floats in `truncated`, beside rewards
enum {
    NOT_TRUNCATED,          // it goes on, or has ended
    TRUNCATED,              // V of the observation before stands in
    TRUNCATED_WITH_VALUE    // V of its last observation is known
};
