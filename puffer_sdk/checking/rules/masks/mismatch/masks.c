/* masks.c -- does the action mask speak of the actions that it stands for?
 *
 * First each agent's row of the mask is overwritten before every step: is it written again, and is it
 * where an episode ends? Then, from many moments on, every value of a head is tried, whatever the
 * mask says of it. A value acts if it leads to other rows than each other value of its head. Each
 * byte of the mask is held against each action: the byte that says best when an action acts should
 * be the action's own.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITES = 512, MOST = 64, AHEAD = 4, FILL = 2 };    // steps; actions; steps; not 0: legal

typedef struct RowWrites {     // of one agent's row of the mask, over all envs
    int64_t steps, written;    // steps that did not end its episode
    int64_t ends, ends_written;
    int64_t step;    // of the first ending that left it as it was
    int env;
} RowWrites;

static unsigned char* mask_of(const Batch* b, int env, int agent) {
    return b->rows[env].action_mask + agent * desc.mask_size;
}

static bool is_filled(const unsigned char* mask) {
    for (int i = 0; i < desc.mask_size; i++) {
        if (mask[i] != FILL) {
            return false;
        }
    }
    return true;
}

static void fill_masks(Batch* b, int value) {
    for (int e = 0; e < b->envs; e++) {
        memset(b->rows[e].action_mask, value, (size_t)(b->count[e] * desc.mask_size));
    }
}

static void note_write(const Batch* b, int env, int agent, RowWrites* w) {
    bool written = !is_filled(mask_of(b, env, agent));
    if (!agent_ended(b, env, agent)) {
        w->steps++;
        w->written += written;
        return;
    }
    if (!written && w->ends == w->ends_written) {
        w->step = watch.step;
        w->env = env;
    }
    w->ends++;
    w->ends_written += written;
}

static int64_t watch_writes(Batch* b) {
    RowWrites* writes = calloc((size_t)b->count[0], sizeof *writes);
    int64_t t = 0;
    for (; t < WRITES; t++) {
        watch.step = t + 1;
        batch_act(b, -1, t + 1);
        fill_masks(b, FILL);
        batch_step(b, -1, 0);
        for (int e = 0; e < b->envs; e++) {
            for (int i = 0; i < b->count[e] && i < b->count[0]; i++) {
                if (has_agent(b, e, i)) {
                    note_write(b, e, i, &writes[i]);
                }
            }
        }
    }
    for (int i = 0; i < b->count[0]; i++) {
        const RowWrites* w = &writes[i];
        fact(mask_row, .agent = i, .steps = w->steps, .written = w->written, .ends = w->ends,
             .ends_written = w->ends_written, .env = w->env, .step = w->step);
    }
    free(writes);
    return t;
}

typedef struct Tally {    // moments: [what the byte says][whether the action acts]
    int64_t at[2][2];
} Tally;

// Moments at which the action was legal, and others of its head were not
typedef struct Company {
    int64_t beside, like;    // in all; those at which it led where one of the others leads
} Company;

// The rows that follow if this value is played, whatever the mask says
static bool follow(Batch* b, int env, int agent, int head, int value, int64_t t, uint64_t* answer) {
    bool good = false;
    if (in_fork(&good)) {
        uint64_t hash = 1;
        for (int64_t ahead = 0; ahead < AHEAD; ahead++) {
            batch_act(b, env, t + ahead);
            if (ahead == 0) {
                b->rows[env].actions[agent * desc.num_atns + head] = (float)value;
            }
            watch.step = t + ahead;
            batch_step(b, env, 0);
            hash = hash_rows(b, env, hash);
        }
        *answer = hash;
        _exit(0);
    }
    return good;
}

static void try_head(Batch* b, int env, int agent, int head, int offset, int64_t t,
                     uint64_t* answers, Tally (*table)[MOST], Company* company) {
    const unsigned char* mask = mask_of(b, env, agent);
    int width = desc.act_sizes[head];
    for (int k = 0; k < width; k++) {
        if (!follow(b, env, agent, head, k, t, &answers[k])) {
            return;    // what no mask allows may do anything
        }
    }
    for (int k = 0; k < width; k++) {
        bool acts = true, beside = false, like = false;
        for (int j = 0; j < width; j++) {
            bool forbidden = mask[offset + k] && !mask[offset + j];
            acts = acts && (j == k || answers[j] != answers[k]);
            beside = beside || forbidden;
            like = like || (forbidden && answers[j] == answers[k]);
        }
        company[offset + k].beside += beside;
        company[offset + k].like += like;
        for (int byte = 0; byte < desc.mask_size; byte++) {
            table[byte][offset + k].at[mask[byte] != 0][acts]++;
        }
    }
}

static int64_t agreed(const Tally* t) { return t->at[0][0] + t->at[1][1]; }

static void report_action(int head, int value, int action, Tally (*table)[MOST],
                          const Company* company) {
    const Tally* own = &table[action][action];
    int twin = -1;    // the other byte that says best when it acts
    for (int byte = 0; byte < desc.mask_size; byte++) {
        bool better = twin < 0 || agreed(&table[byte][action]) > agreed(&table[twin][action]);
        twin = byte != action && better ? byte : twin;
    }
    const Tally* other = &table[twin < 0 ? action : twin][action];
    fact(mask_byte, .action = action, .head = head, .value = value, .legal_acts = own->at[1][1],
         .legal_idle = own->at[1][0], .forbidden_acts = own->at[0][1],
         .forbidden_idle = own->at[0][0], .twin = twin, .twin_acts = other->at[1][1],
         .twin_idle = other->at[0][0], .twin_wrong = other->at[0][1] + other->at[1][0],
         .beside = company[action].beside, .like = company[action].like);
}

void experiment_masks(void) {    // steps: forks in all
    Batch b = batch_open(PACKED);
    fill_masks(&b, 1);    // as they are before the first c_reset
    batch_reset(&b, -1);
    int64_t t = watch_writes(&b), forks = 0;
    fill_masks(&b, 1);
    batch_reset(&b, -1);
    Tally(*table)[MOST] = calloc(MOST, sizeof *table);
    Company* company = calloc(MOST, sizeof *company);
    uint64_t* answers = shared(sizeof *answers * MOST);
    for (int sample = 0; desc.mask_size <= MOST && forks < options.steps; sample++) {
        int gap = 1 + (int)(mix((uint64_t)sample) % 16);
        for (int k = 0; k < gap; k++) {
            watch.step = ++t;
            batch_act(&b, -1, t);
            batch_step(&b, -1, 0);
        }
        int env = sample % b.envs;
        int agent = (sample / b.envs) % b.count[env];
        forks += desc.mask_size;
        for (int head = 0, offset = 0; has_agent(&b, env, agent) && head < desc.num_atns; head++) {
            if (desc.act_sizes[head] > 1 && offset + desc.act_sizes[head] <= desc.mask_size) {
                try_head(&b, env, agent, head, offset, t + 1, answers, table, company);
            }
            offset += desc.act_sizes[head];
        }
    }
    for (int head = 0, offset = 0; desc.mask_size <= MOST && head < desc.num_atns; head++) {
        for (int k = 0; k < desc.act_sizes[head] && offset + k < desc.mask_size; k++) {
            report_action(head, k, offset + k, table, company);
        }
        offset += desc.act_sizes[head];
    }
    fact(tried, .forks = forks);
    free(table);
    free(company);
    batch_close(&b);
}
