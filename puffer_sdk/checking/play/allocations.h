/* allocations.h -- live blocks of memory, by the stack that allocated them. */
#pragma once
#include "harness.h"

enum { MAX_SITES = 256, DEPTH = 16, MARKS = 4, ROUNDS = 4 };

typedef struct Site {
    uint64_t hash;    // of the stack
    void* stack[DEPTH];
    int depth, phase, env;    // of the first block
    int replaced;             // bits: arrays of the struct that pointed to a block before bind
    int64_t step;
    int64_t live, bytes;                             // now
    int64_t at_mark[MARKS], bytes_at_mark[MARKS];    // after R/8, R/4, R/2, R resets
    int64_t after[ROUNDS], bytes_after[ROUNDS];      // envs were created, played and destroyed
} Site;

extern Site sites[MAX_SITES];
extern int num_sites;
extern bool overfull;          // more blocks than can be counted: some are missing
void count_blocks(bool on);    // until it is called again
