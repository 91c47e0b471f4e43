/* crossed_rows.c -- whose rows answer to an agent's choice, and whose episode its terminal ends.
 *
 * From many moments on, one head of one agent gets another value for one step, and everybody else
 * plays on as they would have. Which rows differ from those of the unchanged play, within AHEAD
 * steps? Between the moments, each step with the terminal of a single agent is looked at: whose
 * observation jumps, and who has left?
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

enum { AHEAD = 8, ACTORS = 8, ROWS = 32, TELLS = 10, WIDE = 1 << 14 };
enum { SEEN = 1, PAID = 2, ENDED = 4, HEARD = 8, NOBODY = 16 };    // what has differed

typedef struct Answer {    // of one row to one head of one agent: moments
    int64_t tested, any, seen, paid;
} Answer;

typedef struct Played {    // one step of the unchanged play
    char* observations;    // of all rows; those of nobody are zeros
    float *rewards, *terminals;
    bool* had;
    bool* ended;      // one value: some agent's episode did
    uint64_t* rng;    // one value: after the step
} Played;

typedef struct Moment {    // what forks share
    Played steps[AHEAD];
    int* told;             // (rows) what has differed there, and in [rows] at no row
    uint16_t* elements;    // (ACTORS, ROWS, D) how often each differed one step later, or NULL
} Moment;

static Moment moment_open(int rows) {
    Moment m;
    size_t bytes = row_bytes(OBSERVATIONS) * (size_t)rows, n = (size_t)rows;
    for (int s = 0; s < AHEAD; s++) {
        char* block = shared(8 + 8 * n + bytes + n + 1);
        char* rows = block + 8;
        m.steps[s] = (Played){rows + 8 * n,
                              (float*)rows,
                              (float*)rows + n,
                              (bool*)(rows + 8 * n + bytes),
                              (bool*)(rows + 8 * n + bytes + n),
                              (uint64_t*)block};
    }
    m.told = shared((n + 1) * sizeof *m.told);
    m.elements = desc.obs_size > WIDE
                     ? NULL
                     : shared(sizeof *m.elements * ACTORS * ROWS * (size_t)desc.obs_size);
    return m;
}

static void count_elements(const Batch* b, int env, const Played* before, int actor, Moment* m) {
    size_t bytes = row_bytes(OBSERVATIONS), D = (size_t)desc.obs_size, width = bytes / D;
    for (int row = 0; m->elements && row < b->count[env] && row < ROWS; row++) {
        const char* x = before->observations + bytes * (size_t)row;
        const char* y = (const char*)b->rows[env].observations + bytes * (size_t)row;
        uint16_t* counts = m->elements + ((size_t)actor * ROWS + (size_t)row) * D;
        for (size_t i = 0; has_agent(b, env, row) && i < D; i++) {
            counts[i] += memcmp(x + width * i, y + width * i, width) != 0 && counts[i] < UINT16_MAX;
        }
    }
}

static bool is_lost(float reward, bool had) {    // goes to nobody
    return !had && reward != 0.0f && isfinite(reward);
}

// What of the step that was made differs from the unchanged play; lucky: other random numbers have
// been drawn since, which decide rewards
static void compare(const Batch* b, int env, const Played* before, bool over, bool lucky,
                    Moment* m) {
    size_t bytes = row_bytes(OBSERVATIONS);
    const PufferBuffers* rows = &b->rows[env];
    bool nobody = false, heard = false, ends = *before->ended || any_ended(b, env);
    for (int row = 0; row < b->count[env]; row++) {
        bool there = before->had[row] && had_agent(b, env, row);
        float reward = rows->rewards[row], was = before->rewards[row];
        bool pays = memcmp(&reward, &was, sizeof reward) != 0;
        heard |= pays && there;
        nobody |= pays
                  && (is_lost(was, before->had[row]) || is_lost(reward, had_agent(b, env, row)));
        if (over || !there) {
            continue;
        }
        m->told[row] |= pays && !lucky ? PAID : 0;
        m->told[row] |= rows->terminals[row] != before->terminals[row] ? ENDED : 0;
        if (!ends
            && memcmp((const char*)rows->observations + bytes * (size_t)row,
                      before->observations + bytes * (size_t)row, bytes)
                   != 0) {
            m->told[row] |= SEEN;
        }
    }
    m->told[b->count[env]] |= (heard ? HEARD : 0) | (nobody && !heard ? NOBODY : 0);
}

// head -1: unchanged
static bool play_on(Batch* b, int env, int64_t t, int agent, int head, float value, Moment* m) {
    bool good = false;
    if (in_fork(&good)) {
        bool over = false, lucky = false;    // an episode was; other random numbers were drawn
        for (int s = 0; s < AHEAD; s++) {
            batch_act(b, env, t + s);
            if (s == 0 && head >= 0) {
                b->rows[env].actions[agent * desc.num_atns + head] = value;
            }
            watch.step = t + s;
            batch_step(b, env, 0);
            Played* step = &m->steps[s];
            size_t rows = (size_t)b->count[env];
            if (head < 0) {
                copy_told(b, env, OBSERVATIONS, step->observations);
                memcpy(step->rewards, b->rows[env].rewards, rows * sizeof(float));
                memcpy(step->terminals, b->rows[env].terminals, rows * sizeof(float));
                memcpy(step->had, b->had + b->first[env], rows);
                *step->ended = any_ended(b, env);
                *step->rng = rng_of(b, env);
                continue;
            }
            compare(b, env, step, over, lucky, m);
            lucky |= *step->rng != rng_of(b, env);
            over |= *step->ended || any_ended(b, env);
            if (s == 0 && !over) {
                count_elements(b, env, step, agent, m);
            }
        }
        _exit(0);
    }
    return good;
}

// Another value than the agent would have chosen, which the mask allows; false: there is none
static bool other_value(const Batch* b, int env, int agent, int head, uint64_t draw, float* value) {
    int width = desc.act_sizes[head], offset = 0;
    float own = b->rows[env].actions[agent * desc.num_atns + head];
    if (width == 1) {
        *value = own > 0.0f ? -1.0f : 1.0f;
        return true;
    }
    for (int h = 0; h < head; h++) {
        offset += desc.act_sizes[h];
    }
    for (int k = 0; k < width; k++) {
        int id = (int)((draw + (uint64_t)k) % (uint64_t)width);
        bool allowed = offset + width > desc.mask_size
                       || b->rows[env].action_mask[agent * desc.mask_size + offset + id];
        if (allowed && (float)id != own) {
            *value = (float)id;
            return true;
        }
    }
    return false;
}

//------------------------------------------------------------------------------------
// Steps with the terminal of one agent alone
//------------------------------------------------------------------------------------
typedef struct Ending {    // of one agent, and one row
    int64_t jumps, left;
    double jump;
} Ending;

typedef struct Endings {
    Ending of[ROWS][ROWS];
    int64_t ends[ROWS], steps[ROWS];
    int64_t empty, filled;    // rows without an agent, on all steps; those with a reward
    double usual[ROWS];       // what its row changes by, on steps without an ending
    char* before;             // (all rows) observations
} Endings;

static double change(const Batch* b, int env, int row, const char* before) {
    const char* after = b->rows[env].observations;
    size_t D = (size_t)desc.obs_size, at = D * (size_t)row;
    before += row_bytes(OBSERVATIONS) * (size_t)b->first[env];
    double sum = 0.0;
    for (size_t i = at; i < at + D; i++) {
        double step = element_of(after, i) - element_of(before, i);
        sum += isfinite(step) ? fabs(step) : 0.0;
    }
    return sum;
}

static void keep_rows(const Batch* b, Endings* e) {
    size_t bytes = row_bytes(OBSERVATIONS);
    for (int env = 0; env < b->envs; env++) {
        int rows = b->count[env] < ROWS ? b->count[env] : ROWS;
        memcpy(e->before + bytes * (size_t)b->first[env], b->rows[env].observations,
               bytes * (size_t)rows);
    }
}

static void look_at_endings(const Batch* b, int env, Endings* e) {
    int lone = -1, ended = 0, rows = b->count[env] < ROWS ? b->count[env] : ROWS;
    for (int row = 0; row < b->count[env]; row++) {
        if (had_agent(b, env, row) && b->rows[env].terminals[row] != 0.0f) {
            lone = row;
            ended++;
        }
        e->empty += !had_agent(b, env, row);
        e->filled += is_lost(b->rows[env].rewards[row], had_agent(b, env, row));
    }
    bool quiet = !any_ended(b, env);
    if (!quiet && (ended != 1 || lone >= rows)) {
        return;
    }
    if (!quiet) {
        e->ends[lone]++;
    }
    for (int row = 0; row < rows; row++) {
        bool had = had_agent(b, env, row), has = has_agent(b, env, row);
        if (!quiet) {
            e->of[lone][row].left += had && !has && row != lone && has_agent(b, env, lone);
        }
        if (!had || !has) {
            continue;
        }
        double by = change(b, env, row, e->before);
        if (quiet) {
            e->usual[row] += by;
            e->steps[row]++;
        } else {
            e->of[lone][row].jump += by;
            e->of[lone][row].jumps++;
        }
    }
}

static void report_endings(const Endings* e, int actors, int rows) {
    for (int agent = 0; agent < actors; agent++) {
        for (int row = 0; e->ends[agent] > 0 && row < rows; row++) {
            const Ending* one = &e->of[agent][row];
            fact(lone_end, .agent = agent, .row = row, .ends = e->ends[agent], .left = one->left,
                 .jumps = one->jumps, .jump = one->jump / (double)(one->jumps + !one->jumps),
                 .usual = e->usual[row] / (double)(e->steps[row] + !e->steps[row]));
        }
    }
}

//------------------------------------------------------------------------------------
// crossed: the experiment
//------------------------------------------------------------------------------------
static void report_views(const Moment* m, int actors) {
    size_t D = (size_t)desc.obs_size;
    for (int agent = 0; m->elements && agent < actors; agent++) {
        for (int row = 0; row < actors; row++) {
            const uint16_t* theirs = m->elements + ((size_t)agent * ROWS + (size_t)row) * D;
            const uint16_t* own = m->elements + ((size_t)row * ROWS + (size_t)row) * D;
            int64_t of_agent = 0, of_own = 0;
            for (size_t i = 0; i < D; i++) {
                of_agent += theirs[i] > TELLS * own[i] && theirs[i] >= TELLS;
                of_own += own[i] > TELLS * theirs[i];
            }
            if (row != agent) {
                fact(view, .agent = agent, .row = row, .theirs = of_agent, .own = of_own);
            }
        }
    }
}

void experiment_crossed(void) {    // steps: forks in all
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    int most = 0;
    for (int env = 0; env < b.envs; env++) {
        most = b.count[env] > most ? b.count[env] : most;
    }
    int actors = most < ACTORS ? most : ACTORS, rows = most < ROWS ? most : ROWS;
    int heads = desc.num_atns;
    Moment m = moment_open(most);
    Answer* answers = calloc((size_t)(actors * heads * rows), sizeof *answers);
    Endings* endings = calloc(1, sizeof *endings);
    endings->before = malloc(row_bytes(OBSERVATIONS) * (size_t)b.agents);
    int64_t forks = 0, t = 0, paid = 0, nobody = 0, first_step = -1;
    int first_env = -1, first_agent = -1;
    for (int sample = 0; forks < options.steps; sample++) {
        int gap = 1 + (int)(mix((uint64_t)sample) % 16);
        for (int k = 0; k < gap; k++) {
            watch.step = ++t;
            batch_act(&b, -1, t);
            keep_rows(&b, endings);
            batch_step(&b, -1, 0);
            for (int env = 0; env < b.envs; env++) {
                look_at_endings(&b, env, endings);
            }
        }
        int env = sample % b.envs;
        batch_act(&b, env, t + 1);
        forks++;
        if (!play_on(&b, env, t + 1, -1, -1, 0.0f, &m)) {
            continue;
        }
        for (int cell = 0; cell < actors * heads; cell++) {
            int agent = cell / heads, head = cell % heads;
            float value;
            if (agent >= b.count[env] || !has_agent(&b, env, agent)
                || !other_value(&b, env, agent, head, mix((uint64_t)(t * 64 + cell)), &value)) {
                continue;
            }
            memset(m.told, 0, ((size_t)most + 1) * sizeof *m.told);
            forks++;
            if (!play_on(&b, env, t + 1, agent, head, value, &m)) {
                continue;
            }
            for (int row = 0; row < rows && row < b.count[env]; row++) {
                Answer* one = &answers[cell * rows + row];
                int told = m.told[row];
                one->tested++;
                one->any += told != 0;
                one->seen += (told & SEEN) != 0;
                one->paid += (told & PAID) != 0;
            }
            int of_all = m.told[b.count[env]];
            paid += of_all != 0;
            if (of_all & NOBODY && nobody++ == 0) {
                first_step = t + 1;
                first_env = env;
                first_agent = agent;
            }
        }
    }
    for (int cell = 0; cell < actors * heads; cell++) {
        for (int row = 0; row < rows; row++) {
            const Answer* one = &answers[cell * rows + row];
            if (one->any > 0 || row == cell / heads) {
                fact(answer, .agent = cell / heads, .head = cell % heads, .row = row,
                     .tested = one->tested, .any = one->any, .seen = one->seen, .paid = one->paid);
            }
        }
    }
    report_views(&m, actors);
    report_endings(endings, actors, rows);
    fact(crossed, .empty = endings->empty, .filled = endings->filled, .paid = paid,
         .nobody = nobody, .step = first_step, .env = first_env, .agent = first_agent);
    batch_close(&b);
}
