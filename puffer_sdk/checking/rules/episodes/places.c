/* places.c -- does it matter which row an agent has, although all are declared to be alike?
 *
 * Every env plays by itself, and each gives one difference between a row and the others for each
 * quantity: t says how many of its errors the mean of these differences is away from 0. Rows that
 * are always equal are looked at from single moments: do they say who of the two did what?
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

enum { MOST_CELLS = 1 << 16, PRIZES = 8, PAIR_MOMENTS = 48, PLAYERS = 8 };
enum { REWARD, POSITIVE, NEGATIVE, ELEMENTS };    // quantities; elements follow
static const double NEAR_T = 3.0, MOST_T = 1e6;

typedef struct Places {
    int rows, quantities;
    double* sums;          // (envs, rows, quantities)
    double *low, *high;    // (rows, quantities) of all envs
    double* size;          // likewise: sums of |x|, or of squares
    int64_t steps;
} Places;

typedef struct Prize {    // what the only winner of an episode was paid: how often the others paid
    float won;
    int64_t both, alone;
} Prize;

typedef struct Tie {    // of two agents of one env
    bool twins;         // they see the same, and act alike
    int favours;        // who was paid more when that was so: 1 the first, -1 the second
} Tie;

static double value_of(const Batch* b, int env, int row, int quantity) {
    float reward = b->rows[env].rewards[row];
    switch (quantity) {
    case REWARD: return (double)reward;
    case POSITIVE: return reward > 0.0f;
    case NEGATIVE: return reward < 0.0f;
    default: break;
    }
    return element_of(b->rows[env].observations,
                      (size_t)row * (size_t)desc.obs_size + (size_t)(quantity - ELEMENTS));
}

static void add_step(const Batch* b, int env, Places* p) {
    for (int row = 0; row < p->rows; row++) {
        if (!had_agent(b, env, row) || !has_agent(b, env, row)) {
            continue;
        }
        for (int q = 0; q < p->quantities; q++) {
            double value = value_of(b, env, row, q);
            size_t at = (size_t)row * (size_t)p->quantities + (size_t)q;
            value = isfinite(value) ? value : 0.0;
            p->sums[(size_t)env * (size_t)(p->rows * p->quantities) + at] += value;
            p->size[at] += q < ELEMENTS ? fabs(value) : value * value;
            p->low[at] = value < p->low[at] ? value : p->low[at];
            p->high[at] = value > p->high[at] ? value : p->high[at];
        }
    }
}

static void report_place(const Batch* b, const Places* p, int row, int q) {
    double mean = 0.0, others = 0.0, sum = 0.0, squares = 0.0, all = 0.0, power = 0.0;
    bool varies = q < ELEMENTS;    // a number that stands for the place is none of the game's
    for (int k = 0; k < p->rows; k++) {
        size_t at = (size_t)k * (size_t)p->quantities + (size_t)q;
        varies |= p->low[at] < p->high[at];
        power += p->size[at] / (double)p->rows;
    }
    for (int env = 0; env < b->envs; env++) {
        const double* sums = p->sums + (size_t)env * (size_t)(p->rows * p->quantities);
        double own = sums[row * p->quantities + q] / (double)p->steps, rest = 0.0;
        for (int k = 0; k < p->rows; k++) {
            rest += k == row ? 0.0 : sums[k * p->quantities + q] / (double)p->steps;
        }
        rest /= p->rows - 1;
        mean += own / b->envs;
        others += rest / b->envs;
        sum += own - rest;
        squares += (own - rest) * (own - rest);
    }
    all = (mean + others * (p->rows - 1)) / p->rows;
    power /= (double)p->steps * b->envs;
    double spread = (squares - sum * sum / b->envs) / (b->envs - 1);
    double t = sum / b->envs / sqrt(spread > 0.0 ? spread / b->envs : 1e-30);
    t = fabs(t) < MOST_T ? t : copysign(MOST_T, t);
    if (varies && fabs(t) >= NEAR_T) {
        double scale = q < ELEMENTS ? power : sqrt(fmax(0.0, power - all * all));
        fact(place, .agent = row,
             .what = q == REWARD     ? "reward"
                     : q == POSITIVE ? "positive"
                     : q == NEGATIVE ? "negative"
                                     : "element",
             .element = q - ELEMENTS, .mean = mean, .others = others, .scale = scale, .t = t);
    }
}

//------------------------------------------------------------------------------------
// Endings with one winner, and rows that are always equal
//------------------------------------------------------------------------------------
static void look_at_prizes(const Batch* b, int env, Prize* prizes) {
    int winners = 0, losers = 0;
    float won = 0.0f;
    for (int row = 0; row < b->count[env]; row++) {
        float reward = b->rows[env].rewards[row];
        winners += reward > 0.0f;
        losers += reward < 0.0f;
        won = reward > 0.0f ? reward : won;
    }
    for (int k = 0; env_ended(b, env) && winners == 1 && k < PRIZES; k++) {
        if (prizes[k].both + prizes[k].alone == 0 || prizes[k].won == won) {
            prizes[k].won = won;
            prizes[k].both += losers > 0;
            prizes[k].alone += losers == 0;
            return;
        }
    }
}

// Before a step: which agents see the same, and act alike. [env][agent][agent]
static void look_for_twins(const Batch* b, int rows, Tie (*ties)[PLAYERS][PLAYERS]) {
    size_t seen = row_bytes(OBSERVATIONS), acted = row_bytes(ACTIONS);
    for (int env = 0; env < b->envs; env++) {
        const char *views = b->rows[env].observations, *acts = (const char*)b->rows[env].actions;
        for (int k = 1; k < rows; k++) {
            for (int j = 0; j < k; j++) {
                ties[env][j][k].twins = has_agent(b, env, j) && has_agent(b, env, k)
                                        && !memcmp(views + seen * (size_t)j,
                                                   views + seen * (size_t)k, seen)
                                        && !memcmp(acts + acted * (size_t)j,
                                                   acts + acted * (size_t)k, acted);
            }
        }
    }
}

// Behind it: is one of them paid more? The first time of each env counts: others depend on it
static void look_at_ties(const Batch* b, int env, int rows, Tie (*ties)[PLAYERS]) {
    const float* rewards = b->rows[env].rewards;
    for (int k = 1; k < rows; k++) {
        for (int j = 0; j < k; j++) {
            if (ties[j][k].twins && !ties[j][k].favours) {
                ties[j][k].favours = (rewards[j] > rewards[k]) - (rewards[j] < rewards[k]);
            }
        }
    }
}

static void report_ties(const Batch* b, int rows, const Tie (*ties)[PLAYERS][PLAYERS]) {
    for (int k = 1; k < rows; k++) {
        for (int j = 0; j < k; j++) {
            int64_t first = 0, second = 0;
            for (int env = 0; env < b->envs; env++) {
                first += ties[env][j][k].favours > 0;
                second += ties[env][j][k].favours < 0;
            }
            fact(tie, .agent = j, .other = k, .first = first, .second = second);
        }
    }
}

// All rows one step later, with the actions of these two exchanged, or with another one of one
static bool one_step(Batch* b, int env, int64_t t, int one, int other, bool swap, int changed,
                     uint64_t* answer) {
    bool good = false;
    if (in_fork(&good)) {
        size_t bytes = row_bytes(ACTIONS);
        char *first = (char*)b->rows[env].actions + bytes * (size_t)one,
             *second = (char*)b->rows[env].actions + bytes * (size_t)other;
        char kept[bytes];
        memcpy(kept, first, bytes);
        if (swap) {
            memcpy(first, second, bytes);
            memcpy(second, kept, bytes);
        } else if (changed >= 0) {    // as the other one of them acts
            memcpy(changed == one ? first : second, changed == one ? second : kept, bytes);
        }
        watch.step = t;
        batch_step(b, env, 0);
        *answer = hash_rows(b, env, 1);
        _exit(0);
    }
    return good;
}

static void report_pair(Batch* b, int64_t t, int one, int other) {
    uint64_t* answers = shared(4 * sizeof *answers);
    int64_t moments = 0, told = 0;
    for (int k = 0; k < 4 * PAIR_MOMENTS && moments < PAIR_MOMENTS; k++) {
        int env = k % b->envs;
        batch_act(b, -1, ++t);
        bool good = one_step(b, env, t, one, other, false, -1, &answers[0])
                    && one_step(b, env, t, one, other, true, -1, &answers[1])
                    && one_step(b, env, t, one, other, false, one, &answers[2])
                    && one_step(b, env, t, one, other, false, other, &answers[3]);
        bool both_act = answers[2] != answers[0] && answers[3] != answers[0];
        moments += good && both_act;
        told += good && both_act && answers[1] != answers[0];
        watch.step = t;
        batch_step(b, -1, 0);
    }
    fact(same_view, .agent = one, .other = other, .moments = moments, .told = told);
}

void experiment_places(void) {
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    Prize prizes[PRIZES] = {0};
    int rows = b.count[0] < PLAYERS ? b.count[0] : PLAYERS;
    Places p = {.rows = rows, .quantities = ELEMENTS, .steps = options.steps};
    p.quantities += desc.obs_size * rows <= MOST_CELLS ? desc.obs_size : 0;
    size_t cells = (size_t)(rows * p.quantities), bytes = row_bytes(OBSERVATIONS);
    p.sums = calloc(cells * (size_t)b.envs, sizeof *p.sums);
    p.size = calloc(cells, sizeof *p.size);
    p.low = malloc(cells * sizeof *p.low);
    p.high = malloc(cells * sizeof *p.high);
    for (size_t i = 0; i < cells; i++) {
        p.low[i] = INFINITY;
        p.high[i] = -INFINITY;
    }
    Tie(*ties)[PLAYERS][PLAYERS] = calloc((size_t)b.envs, sizeof *ties);
    bool differ[PLAYERS][PLAYERS] = {0};
    for (int64_t t = 1; t <= options.steps; t++) {
        watch.step = t;
        batch_act(&b, -1, t);
        look_for_twins(&b, rows, ties);
        batch_step(&b, -1, 0);
        for (int env = 0; env < b.envs; env++) {
            add_step(&b, env, &p);
            look_at_ties(&b, env, rows, ties[env]);
            look_at_prizes(&b, env, prizes);
            const char* seen = b.rows[env].observations;
            for (int k = 1; k < rows; k++) {
                const char* mine = seen + bytes * (size_t)k;
                for (int j = 0; j < k; j++) {
                    differ[j][k] |= memcmp(seen + bytes * (size_t)j, mine, bytes) != 0;
                }
            }
        }
    }
    for (int row = 0; row < rows; row++) {
        for (int q = 0; q < p.quantities; q++) {
            report_place(&b, &p, row, q);
        }
    }
    report_ties(&b, rows, (const Tie(*)[PLAYERS][PLAYERS])ties);
    free(ties);
    for (int k = 0; k < PRIZES && prizes[k].both + prizes[k].alone > 0; k++) {
        fact(prize, .won = prizes[k].won, .both = prizes[k].both, .alone = prizes[k].alone);
    }
    bool told = false;    // of one pair: that is enough
    for (int k = 1; k < rows; k++) {
        for (int j = 0; j < k && !told; j++) {
            told = !differ[j][k];
            if (told) {
                report_pair(&b, options.steps, j, k);
            }
        }
    }
    batch_close(&b);
}
