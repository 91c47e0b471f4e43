/* masks.c -- does the action mask speak of the actions that it stands for?
 *
 * First each agent's row of the mask is overwritten before every step: is it written again, and is it
 * where an episode ends? Then, from many moments on, every value of a head is tried, whatever the
 * mask says of it. A value acts if it leads to other rows than each other value of its head. Each
 * byte of the mask is held against each action: the byte that says best when an action acts should
 * be the action's own.
 */
#define _GNU_SOURCE
#include "legality.h"
#include <stdlib.h>
#include <string.h>

enum { WRITES = 512, FILL = 2, LONGER = 2 };    // steps; not 0: legal; times

typedef struct RowWrites {     // of one agent's row of the mask, over all envs
    int64_t steps, written;    // steps that did not end its episode
    int64_t ends, ends_written;
    int64_t step;    // of the first ending that left it as it was
    int env;
} RowWrites;

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

// by_reset_only: steps write no agent's row, but where an episode ends
static int64_t watch_writes(Batch* b, bool* by_reset_only) {
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
    int64_t written = 0, ends_written = 0;
    for (int i = 0; i < b->count[0]; i++) {
        const RowWrites* w = &writes[i];
        written += w->written;
        ends_written += w->ends_written;
        fact(mask_row, .agent = i, .steps = w->steps, .written = w->written, .ends = w->ends,
             .ends_written = w->ends_written, .env = w->env, .step = w->step);
    }
    *by_reset_only = written == 0 && ends_written > 0;
    free(writes);
    return t;
}

// Moments at which the action was legal, and others of its head were not
typedef struct Company {
    int64_t beside, like;    // in all; those at which it led where one of the others leads
} Company;

typedef struct Tables {    // what becomes of the moments; [byte][action], [action]
    Tally (*bytes)[MOST];
    Company* company;
    Legality* legality;
} Tables;

static void note_choice(const Choice* c, Tables* tables) {
    const unsigned char* mask = mask_of(c->b, c->env, c->agent);
    const int offset = c->offset, width = desc.act_sizes[c->head];
    for (int k = 0; tables->bytes && k < width; k++) {
        bool acts = true, beside = false, like = false;
        for (int j = 0; j < width; j++) {
            bool forbidden = mask[offset + k] && !mask[offset + j];
            bool same = outcome_of(j)->rows == outcome_of(k)->rows;
            acts = acts && (j == k || !same);
            beside = beside || forbidden;
            like = like || (forbidden && same);
        }
        tables->company[offset + k].beside += beside;
        tables->company[offset + k].like += like;
        for (int byte = 0; byte < desc.mask_size; byte++) {
            tables->bytes[byte][offset + k].at[mask[byte] != 0][acts]++;
        }
    }
    legality_note(tables->legality, c);
}

static void report_action(int head, int value, int action, const Tally (*table)[MOST],
                          const Company* company) {
    const Tally* own = &table[action][action];
    int twin = twin_of(table, action);
    const Tally* other = &table[twin < 0 ? action : twin][action];
    fact(mask_byte, .action = action, .head = head, .value = value, .legal_acts = own->at[1][1],
         .legal_idle = own->at[1][0], .forbidden_acts = own->at[0][1],
         .forbidden_idle = own->at[0][0], .twin = twin, .twin_acts = other->at[1][1],
         .twin_idle = other->at[0][0], .twin_wrong = other->at[0][1] + other->at[1][0],
         .beside = company[action].beside, .like = company[action].like);
}

// Plays on and tries each head of one agent, until so many forks were made. starts: always right
// behind a c_reset. Returns the last step
static int64_t try_moments(Batch* b, int64_t t, bool starts, Tables* tables, int64_t most) {
    int64_t forks = 0;
    for (int sample = 0; forks + legality_forks(tables->legality) < most; sample++) {
        batch_play(b, &t, starts ? 1 : 1 + (int64_t)(mix((uint64_t)sample) % 16));
        int env = sample % b->envs;
        int agent = (sample / b->envs) % b->count[env];
        if (starts) {
            batch_reset(b, env);
        }
        forks += desc.mask_size;
        for (int head = 0, offset = 0; has_agent(b, env, agent) && head < desc.num_atns; head++) {
            Choice choice = {b, env, agent, head, offset, t + 1};
            offset += desc.act_sizes[head];
            if (desc.act_sizes[head] > 1 && offset <= desc.mask_size && choice_try(&choice, 0)) {
                note_choice(&choice, tables);    // else: what no mask allows may do anything
            }
        }
    }
    return t;
}

// Moments that are looked at for longer, as the mask seemed wrong in both ways
static int64_t look_again(Batch* b, int64_t t, bool starts) {
    Tables tables = {.legality = legality_open(true)};
    t = try_moments(b, t, starts, &tables, LONGER * options.steps);
    legality_report(tables.legality, b->count[0], starts);
    free(tables.legality);
    return t;
}

void experiment_masks(void) {    // steps: forks in all
    Batch b = batch_open(PACKED);
    fill_masks(&b, 1);    // as they are before the first c_reset
    batch_reset(&b, -1);
    bool by_reset_only = false;
    int64_t t = watch_writes(&b, &by_reset_only);
    fill_masks(&b, 1);
    batch_reset(&b, -1);
    if (desc.mask_size > MOST) {
        batch_close(&b);
        return;
    }
    choices_open();
    Tables tables = {calloc(MOST, sizeof *tables.bytes), calloc(MOST, sizeof *tables.company),
                     legality_open(false)};
    t = try_moments(&b, t, false, &tables, options.steps);
    for (int head = 0, offset = 0; head < desc.num_atns; head++) {
        for (int k = 0; k < desc.act_sizes[head] && offset + k < desc.mask_size; k++) {
            report_action(head, k, offset + k, (const Tally(*)[MOST])tables.bytes, tables.company);
        }
        offset += desc.act_sizes[head];
    }
    if (legality_is_doubtful(tables.legality)) {
        t = look_again(&b, t, false);
        if (by_reset_only) {
            look_again(&b, t, true);
        }
    }
    free(tables.bytes);
    free(tables.company);
    free(tables.legality);
    batch_close(&b);
}
