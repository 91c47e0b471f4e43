/* leaks.c -- finds blocks that are never freed: creates, resets, plays and destroys envs. */
#include "allocations.h"
#include <string.h>

// What stays, and what grows
static void play(Batch* b, int resets, int64_t steps) {
    int64_t t = 0;
    for (int r = 1; r <= resets; r++) {
        watch.step = t;
        batch_reset(b, -1);
        for (int k = 0; k < MARKS; k++) {
            for (int i = 0; resets >= 8 && r == resets >> (MARKS - 1 - k) && i < num_sites; i++) {
                sites[i].at_mark[k] = sites[i].live;
                sites[i].bytes_at_mark[k] = sites[i].bytes;
            }
        }
        batch_play(b, &t, 8);
    }
    batch_play(b, &t, steps);
}

// As much again with twice as many resets, and so on: it will never be enough
static bool is_linear(const int64_t at[MARKS], int64_t least) {
    int64_t first = at[1] - at[0], second = at[2] - at[1], third = at[3] - at[2];
    return first > 0 && 2 * second >= 3 * first && 2 * third >= 3 * second && third >= least;
}

static void report_site(const char* how, const Site* s, int envs, int resets, int64_t blocks,
                        int64_t bytes) {
    Stack stack = {.depth = s->depth};
    memcpy(stack.frames, s->stack, sizeof s->stack);
    fact(leak, .phase = phase_name(s->phase), .env = s->env, .step = s->step, .seed = watch.seed,
         .how = how, .replaced = s->replaced, .blocks = blocks, .bytes = bytes, .envs = envs,
         .resets = resets, .stack = stack);
}

void experiment_memory(void) {
    count_blocks(true);
    int resets = options.repeat, envs = options.envs;
    int later = resets > 16 ? 4 : 1;    // resets of the other rounds; few, where one is slow
    for (int round = 0; round < ROUNDS && !overfull; round++) {
        Batch b = batch_open(PACKED);
        envs = b.envs;
        play(&b, round == 0 ? resets : later, options.steps);
        batch_close(&b);
        for (int i = 0; i < num_sites; i++) {
            sites[i].after[round] = sites[i].live;
            sites[i].bytes_after[round] = sites[i].bytes;
        }
    }
    count_blocks(false);
    for (int i = 0; i < num_sites && !overfull; i++) {
        const Site* s = &sites[i];
        // A table that is made once for all envs is no leak: it does not grow
        if (s->after[0] < s->after[1] && s->after[1] < s->after[2] && s->after[2] < s->after[3]) {
            report_site("close", s, envs, 4, s->after[3] - s->after[2],
                        s->bytes_after[3] - s->bytes_after[2]);
        } else if (is_linear(s->at_mark, resets / 8) || is_linear(s->bytes_at_mark, resets)) {
            report_site("resets", s, envs, resets, s->at_mark[3] - s->at_mark[0],
                        s->bytes_at_mark[3] - s->bytes_at_mark[0]);
        }
    }
    fact(counted, .envs = envs, .overfull = overfull);
}
