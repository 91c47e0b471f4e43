/* run.c -- a long run: what values observations take, which of them are faults, and samples.
 *
 * Every step of every env is searched for NaN and for values out of bounds, and widens the
 * range of each element: a row at a time, in loops that a compiler turns into vectors. Means
 * and histograms come from a few thousand rows. episode_stats.c
 * follows rewards and logs, byte_wrap.c bytes that wrap around.
 */
#include "run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#define VECTORISED __attribute__((optimize("O3")))
#else
#define VECTORISED
#endif

//------------------------------------------------------------------------------------
// Observations: ranges, faults, rows to keep
//------------------------------------------------------------------------------------
VECTORISED static void widen_floats(float* restrict low, float* restrict high,
                                    const float* restrict row, int size) {
    for (int i = 0; i < size; i++) {    // a NaN widens nothing
        low[i] = row[i] < low[i] ? row[i] : low[i];
        high[i] = row[i] > high[i] ? row[i] : high[i];
    }
}

VECTORISED static void widen_bytes(unsigned char* restrict low, unsigned char* restrict high,
                                   const unsigned char* restrict row, int size) {
    for (int i = 0; i < size; i++) {
        low[i] = row[i] < low[i] ? row[i] : low[i];
        high[i] = row[i] > high[i] ? row[i] : high[i];
    }
}

VECTORISED static bool within(const float* row, int size, float bound) {
    int good = 1;
    for (int i = 0; i < size; i++) {
        good &= fabsf(row[i]) <= bound;    // false for NaN, too
    }
    return good;
}

VECTORISED static bool between(const float* restrict row, const float* restrict low,
                               const float* restrict high, int size) {
    int good = 1;
    for (int i = 0; i < size; i++) {
        good &= (row[i] >= low[i]) & (row[i] <= high[i]);
    }
    return good;
}

VECTORISED static bool bytes_between(const unsigned char* restrict row, const float* restrict low,
                                     const float* restrict high, int size) {
    int good = 1;
    for (int i = 0; i < size; i++) {
        good &= ((float)row[i] >= low[i]) & ((float)row[i] <= high[i]);
    }
    return good;
}

typedef struct Seen {     // of the observations; D elements each
    float *low, *high;    // range over all rows (floats), or
    unsigned char *low_byte, *high_byte;
    float *least, *most;    // declared bounds, or NULL
    float* widened;         // a row of ints as floats
    float usual;            // what is no large number: ints count as far as bytes do
    Sighting *odd, *wide, *outside;
    char* kept;         // (rows, D) a sample
    int32_t* owners;    // (rows) the agents whose rows they are
    int rows, most_rows;
    int64_t every;    // steps between two kept rows
} Seen;

static float* read_bounds(size_t D) {    // 2 x D floats, or NULL
    FILE* file = options.bounds ? fopen(options.bounds, "rb") : NULL;
    float* bounds = malloc(2 * D * sizeof *bounds);
    bool whole = file && fread(bounds, sizeof *bounds, 2 * D, file) == 2 * D;
    if (file) {
        fclose(file);
    }
    if (!whole) {
        free(bounds);
        return NULL;
    }
    return bounds;
}

static Seen seen_open(void) {
    size_t D = (size_t)desc.obs_size;
    Seen s = {.odd = calloc(D, sizeof *s.odd),
              .wide = calloc(D, sizeof *s.wide),
              .outside = calloc(D, sizeof *s.outside)};
    s.low = malloc(D * sizeof *s.low);
    s.high = malloc(D * sizeof *s.high);
    s.usual = desc.obs_dtype == PUFFER_I32 ? 255.0f : 5.0f;
    s.widened = malloc(D * sizeof *s.widened);
    s.low_byte = malloc(D);
    s.high_byte = calloc(D, 1);
    memset(s.low_byte, 255, D);
    for (size_t i = 0; i < D; i++) {
        s.low[i] = INFINITY;
        s.high[i] = -INFINITY;
    }
    s.least = read_bounds(D);
    s.most = s.least ? s.least + D : NULL;
    size_t fitting = (1u << 20) / D;    // a million elements, 4096 rows at most
    s.most_rows = fitting > 4096 ? 4096 : fitting < 64 ? 64 : (int)fitting;
    s.kept = malloc((size_t)s.most_rows * row_bytes(OBSERVATIONS));
    s.owners = malloc((size_t)s.most_rows * sizeof *s.owners);
    s.every = options.steps / s.most_rows + 1;
    return s;
}

static void look_at_floats(Seen* s, const float* row, int env, int agent) {
    int size = desc.obs_size;
    widen_floats(s->low, s->high, row, size);
    if (!within(row, size, s->usual)) {
        for (int i = 0; i < size; i++) {
            if (!isfinite(row[i])) {
                sight(&s->odd[i], env, agent, row[i]);
            } else if (fabsf(row[i]) > s->usual) {
                sight(&s->wide[i], env, agent, row[i]);
            }
        }
    }
    if (s->least && !between(row, s->least, s->most, size)) {
        for (int i = 0; i < size; i++) {
            if (isfinite(row[i]) && (row[i] < s->least[i] || row[i] > s->most[i])) {
                sight(&s->outside[i], env, agent, row[i]);
            }
        }
    }
}

static void look_at_bytes(Seen* s, const unsigned char* row, int env, int agent) {
    int size = desc.obs_size;
    widen_bytes(s->low_byte, s->high_byte, row, size);
    if (s->least && !bytes_between(row, s->least, s->most, size)) {
        for (int i = 0; i < size; i++) {
            if (row[i] < s->least[i] || row[i] > s->most[i]) {
                sight(&s->outside[i], env, agent, row[i]);
            }
        }
    }
}

// As floats, which is what a network gets
static void look_at_ints(Seen* s, const int32_t* row, int env, int agent) {
    for (int i = 0; i < desc.obs_size; i++) {
        s->widened[i] = (float)row[i];
    }
    look_at_floats(s, s->widened, env, agent);
}

static void look_at_observations(Seen* s, const Batch* b, int64_t t) {
    size_t bytes = row_bytes(OBSERVATIONS);
    for (int e = 0; e < b->envs; e++) {
        const char* row = b->rows[e].observations;
        for (int agent = 0; agent < b->count[e]; agent++, row += bytes) {
            if (!has_agent(b, e, agent)) {
                continue;
            }
            if (desc.obs_dtype == PUFFER_F32) {
                look_at_floats(s, (const float*)row, e, agent);
            } else if (desc.obs_dtype == PUFFER_I32) {
                look_at_ints(s, (const int32_t*)row, e, agent);
            } else {
                look_at_bytes(s, (const unsigned char*)row, e, agent);
            }
        }
    }
    if (t % s->every == 0 && s->rows < s->most_rows) {    // another env and agent each time
        uint64_t draw = mix((uint64_t)t);
        int e = (int)(draw % (uint64_t)b->envs);
        int agent = (int)((draw >> 32) % (uint64_t)b->count[e]);
        if (has_agent(b, e, agent)) {
            s->owners[s->rows] = agent;
            memcpy(s->kept + (size_t)s->rows++ * bytes,
                   (const char*)b->rows[e].observations + (size_t)agent * bytes, bytes);
        }
    }
}

static void seen_close(Seen* s, FILE* file) {
    size_t D = (size_t)desc.obs_size;
    for (size_t i = 0; i < D; i++) {
        report_sighting(obs_not_finite, (int)i, &s->odd[i]);
        report_sighting(obs_scale, (int)i, &s->wide[i]);
        report_sighting(obs_bounds, (int)i, &s->outside[i]);
        if (desc.obs_dtype == PUFFER_U8) {
            s->low[i] = s->low_byte[i];
            s->high[i] = s->high_byte[i];
        }
    }
    if (file) {
        fwrite(s->low, sizeof *s->low, D, file);
        fwrite(s->high, sizeof *s->high, D, file);
        fwrite(s->kept, row_bytes(OBSERVATIONS), (size_t)s->rows, file);
        fwrite(s->owners, sizeof *s->owners, (size_t)s->rows, file);
        fact(kept, .rows = s->rows);
    }
    free(s->least);
    free(s->low);
    free(s->high);
    free(s->widened);
    free(s->low_byte);
    free(s->high_byte);
    free(s->odd);
    free(s->wide);
    free(s->outside);
    free(s->kept);
    free(s->owners);
}

//------------------------------------------------------------------------------------
// run: the experiment
//------------------------------------------------------------------------------------
static void count_actions(const Batch* b, int64_t (*taken)[256]) {
    for (int e = 0; e < b->envs; e++) {
        for (int k = 0; k < b->count[e] * desc.num_atns; k++) {
            int id = (int)b->rows[e].actions[k];
            taken[k % desc.num_atns][id & 255] += id >= 0 && has_agent(b, e, k / desc.num_atns);
        }
    }
}

static void report_actions(int64_t (*taken)[256]) {
    for (int h = 0; h < desc.num_atns; h++) {
        int width = desc.act_sizes[h], seen = 0;
        for (int id = 0; id < width && id < 256; id++) {
            seen += taken[h][id] > 0;
        }
        fact(actions, .head = h, .width = width, .seen = width == 1 ? 1 : seen);
    }
}

void experiment_run(void) {
    Batch b = batch_open(PACKED);
    Seen seen = seen_open();
    Circles* circles = circles_open(&b);
    int64_t(*taken)[256] = calloc((size_t)desc.num_atns, sizeof *taken);

    batch_reset(&b, -1);
    Ledger* ledger = ledger_open(&b);
    for (int64_t t = 0; t <= options.steps; t++) {
        if (t > 0) {
            watch.step = t;
            batch_act(&b, -1, t);
            if (t % 16 == 0) {
                count_actions(&b, taken);    // before the step: the env may change them
            }
            batch_step(&b, -1, 0);
            ledger_step(ledger);
        }
        look_at_observations(&seen, &b, t);
        circles_step(circles, t);
    }
    // Only now: an env may close descriptors that are not its own
    FILE* file = options.samples ? fopen(options.samples, "wb") : NULL;
    seen_close(&seen, file);
    circles_close(circles);
    ledger_close(ledger, file);
    report_actions(taken);
    free(taken);
    if (file) {
        fclose(file);
    }
    batch_close(&b);
}
