/* choices.c -- tries the values of one head from one moment, whatever the mask says of them. */
#define _GNU_SOURCE
#include "choices.h"
#include <string.h>
#include <unistd.h>

enum { AHEAD = 4 };    // steps

static Outcome* outcomes;      // (MOST) of the choice tried last
static unsigned char* seen;    // (MOST, row) the agent's observation behind the first step

void choices_open(void) {
    outcomes = shared(sizeof *outcomes * MOST);
    seen = shared(row_bytes(OBSERVATIONS) * MOST);
}

unsigned char* mask_of(const Batch* b, int env, int agent) {
    return b->rows[env].action_mask + agent * desc.mask_size;
}

static const unsigned char* row_of(const Choice* c) {
    size_t bytes = row_bytes(OBSERVATIONS);
    return (const unsigned char*)c->b->rows[c->env].observations + bytes * (size_t)c->agent;
}

const Outcome* outcome_of(int value) { return &outcomes[value]; }

// Other actions of the others, and other draws of the env
static void vary(const Choice* c, int play) {
    int64_t t = c->t + (int64_t)(mix((uint64_t)play) % 4096);
    while (!plays_at_random(c->env, t)) {
        t++;
    }
    float* own = c->b->rows[c->env].actions + c->agent * desc.num_atns;
    float kept[MOST];    // a mask has a byte for each value, so there are fewer heads
    memcpy(kept, own, row_bytes(ACTIONS));
    batch_act(c->b, c->env, t);
    memcpy(own, kept, row_bytes(ACTIONS));
    batch_seed(c->b, c->env, (uint32_t)mix((uint64_t)play + 77));
}

static void follow(const Choice* c, int value, int play) {
    Outcome* outcome = &outcomes[value];
    *outcome = (Outcome){.rows = 1};
    for (int64_t ahead = 0; ahead < AHEAD; ahead++) {
        batch_act(c->b, c->env, c->t + ahead);
        if (ahead == 0 && play > 0) {
            vary(c, play);
        }
        if (ahead == 0) {
            c->b->rows[c->env].actions[c->agent * desc.num_atns + c->head] = (float)value;
        }
        watch.step = c->t + ahead;
        batch_step(c->b, c->env, 0);
        outcome->rows = hash_rows(c->b, c->env, outcome->rows);
        if (ahead == 0) {
            outcome->ended = agent_ended(c->b, c->env, c->agent);
            memcpy(outcome->mask, mask_of(c->b, c->env, c->agent), (size_t)desc.mask_size);
            memcpy(seen + row_bytes(OBSERVATIONS) * (size_t)value, row_of(c),
                   row_bytes(OBSERVATIONS));
        }
    }
}

bool choice_try(const Choice* c, int play) {
    for (int value = 0; value < desc.act_sizes[c->head]; value++) {
        bool good = false;
        if (in_fork(&good)) {
            follow(c, value, play);
            _exit(0);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

// Values that the agent cannot tell from this one, itself included
static int alike(const Choice* c, int value) {
    size_t bytes = row_bytes(OBSERVATIONS);
    int count = 0;
    for (int k = 0; k < desc.act_sizes[c->head]; k++) {
        count += !outcomes[k].ended
                 && memcmp(seen + bytes * (size_t)k, seen + bytes * (size_t)value, bytes) == 0;
    }
    return count;
}

// Where the values lead to different elements, this one leaves all of them as they were
static bool is_still(const Choice* c, int value) {
    size_t bytes = row_bytes(OBSERVATIONS), each = desc.obs_dtype == PUFFER_U8 ? 1 : 4;
    const unsigned char *before = row_of(c), *after = seen + bytes * (size_t)value;
    for (size_t at = 0; at < bytes; at += each) {
        if (memcmp(before + at, after + at, each) == 0) {
            continue;
        }
        for (int k = 0; k < desc.act_sizes[c->head]; k++) {
            if (!outcomes[k].ended
                && memcmp(seen + bytes * (size_t)k + at, after + at, each) != 0) {
                return false;
            }
        }
    }
    return true;
}

bool choice_acts(const Choice* c, bool* acts) {
    bool goes_on = false, any = false;
    for (int k = 0; k < desc.act_sizes[c->head]; k++) {
        goes_on = goes_on || !outcomes[k].ended;
        acts[k] = outcomes[k].ended || (alike(c, k) == 1 && !is_still(c, k));
        any = any || acts[k];
    }
    return goes_on && any;
}

int quiet_value(const Choice* c, const bool* acts) {
    int quiet = -1, most = 0;
    for (int k = 0; k < desc.act_sizes[c->head]; k++) {
        int like = acts[k] ? 0 : is_still(c, k) ? MOST : alike(c, k);
        quiet = like > most ? k : quiet;
        most = like > most ? like : most;
    }
    return quiet;
}
