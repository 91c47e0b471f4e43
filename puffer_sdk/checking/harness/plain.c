/* plain.c -- experiments on one batch that is left alone: ranges, guards, traces, endings. */
#define _GNU_SOURCE
#include "harness.h"
#include <math.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//------------------------------------------------------------------------------------
// probe: the shape of the environment, and what a step costs
//------------------------------------------------------------------------------------
void experiment_probe(void) {
    char error[PUFFER_ERROR_SIZE] = "";
    watch.phase = PUFFER_INIT;
    int agents = api->agents_per_env(&options.env, &watch, error);
    if (agents < 1) {
        fail(error);
    }
    watch.phase = PUFFER_IDLE;
    PufferVec* vec = NULL;
    int envs = 1;
    // A MY_VEC_INIT decides for itself: look for the smallest number of agents that it takes
    for (int total = agents; !vec && total <= 256 * agents; total += agents) {
        vec = api->create(&options.env, &options.vec, total, 1, 0, &watch, error);
        agents = vec ? total : agents;
    }
    for (int i = 0; !vec && i < options.vec.count; i++) {
        if (strcmp(options.vec.items[i].key, "total_agents") == 0) {
            agents = (int)options.vec.items[i].value;
            vec = api->create(&options.env, &options.vec, agents, 1, 0, &watch, error);
        }
    }
    if (!vec) {
        fail(error);
    }
    envs = api->num_envs(vec);
    int agents_0, first_0;
    api->rows(vec, 0, &first_0, &agents_0);
    fact("{\"fact\": \"shape\", \"dtype\": \"%s\", \"obs_size\": %d, \"heads\": %d, "
         "\"mask\": %d, \"truncations\": %d, \"whole_steps\": %d, \"agents\": %d, "
         "\"envs\": %d, \"env_agents\": %d}",
         desc.obs_dtype == PUFFER_F32 ? "f32" : "u8", desc.obs_size, desc.num_atns,
         desc.mask_size, desc.has_truncations, desc.whole_steps, agents, envs, agents_0);
    for (int h = 0; h < desc.num_atns; h++) {
        fact("{\"fact\": \"head\", \"head\": %d, \"width\": %d}", h, desc.act_sizes[h]);
    }
    options.agents = agents;
    options.envs = 1;
    Batch b = batch_open(PACKED);
    batch_reset(&b, -1);
    double best = 1e9;              // seconds of one step: the best block, as machines are busy
    for (int block = 0; block < 24; block++) {
        double began = now();
        for (int t = 0; t < 16; t++) {
            watch.step = block * 16 + t;
            batch_act(&b, -1, watch.step);
            batch_step(&b, -1, 0);
        }
        double each = (now() - began) / 16 / b.envs;
        best = each < best ? each : best;
    }
    fact("{\"fact\": \"cost\", \"seconds\": %.9f}", best);
}

//------------------------------------------------------------------------------------
// run: a long run; which values are not finite, or far from zero
//------------------------------------------------------------------------------------
typedef struct Sighting {           // the first time that something was seen, and how often
    int64_t count, step;
    int env, agent;
    float value, largest;
} Sighting;

static void sight(Sighting* s, int env, int agent, float value) {
    if (s->count++ == 0) {
        *s = (Sighting){1, watch.step, env, agent, value, value};
    }
    if (fabsf(value) > fabsf(s->largest)) {
        s->largest = value;
    }
}

// A number as JSON has it, or as a text where JSON has none
static void spell(char* out, size_t size, float value) {
    if (isfinite(value)) {
        snprintf(out, size, "%.9g", value);
    } else {
        snprintf(out, size, "\"%s\"", isnan(value) ? "nan" : value > 0.0f ? "inf" : "-inf");
    }
}

static void tell(const char* name, int element, const Sighting* s) {
    if (s->count > 0) {
        char value[32], largest[32];
        spell(value, sizeof value, s->value);
        spell(largest, sizeof largest, s->largest);
        fact("{\"fact\": \"%s\", \"element\": %d, \"count\": %lld, \"step\": %lld, "
             "\"env\": %d, \"agent\": %d, \"value\": %s, \"largest\": %s}",
             name, element, (long long)s->count, (long long)s->step, s->env, s->agent,
             value, largest);
    }
}

static bool within(const float* row, int size, float bound) {
    int good = 1;
    for (int i = 0; i < size; i++) {
        good &= fabsf(row[i]) <= bound;         // false for NaN, too
    }
    return good;
}

static void look_at_observations(const Batch* b, Sighting* odd, Sighting* wide) {
    for (int e = 0; e < b->envs; e++) {
        const float* row = b->rows[e].observations;
        for (int agent = 0; agent < b->count[e]; agent++, row += desc.obs_size) {
            if (within(row, desc.obs_size, 5.0f)) {
                continue;
            }
            for (int i = 0; i < desc.obs_size; i++) {
                if (!isfinite(row[i])) {
                    sight(&odd[i], e, agent, row[i]);
                } else if (fabsf(row[i]) > 5.0f) {
                    sight(&wide[i], e, agent, row[i]);
                }
            }
        }
    }
}

typedef struct Totals {
    int64_t rewards, terminals, truncations, endings;
    Sighting odd_reward, odd_terminal, odd_truncation, lone_truncation;
} Totals;

static void look_at_rewards(const Batch* b, Totals* t) {
    for (int e = 0; e < b->envs; e++) {
        const PufferBuffers* rows = &b->rows[e];
        for (int agent = 0; agent < b->count[e]; agent++) {
            float reward = rows->rewards[agent], terminal = rows->terminals[agent];
            t->rewards += reward != 0.0f;
            if (!isfinite(reward)) {
                sight(&t->odd_reward, e, agent, reward);
            }
            t->terminals += terminal == 1.0f;
            if (terminal != 0.0f && terminal != 1.0f) {
                sight(&t->odd_terminal, e, agent, terminal);
            }
            if (rows->truncations) {
                float truncation = rows->truncations[agent];
                t->truncations += truncation == 1.0f;
                if (truncation != 0.0f && truncation != 1.0f) {
                    sight(&t->odd_truncation, e, agent, truncation);
                } else if (truncation == 1.0f && terminal == 0.0f) {
                    sight(&t->lone_truncation, e, agent, terminal);
                }
            }
        }
    }
}

void experiment_run(void) {
    Batch b = batch_open(PACKED);
    size_t D = (size_t)desc.obs_size;
    Sighting* odd = calloc(D, sizeof *odd);
    Sighting* wide = calloc(D, sizeof *wide);
    int64_t (*taken)[256] = calloc((size_t)desc.num_atns, sizeof *taken);
    Totals totals = {0};
    double logged = 0.0, log[PUFFER_MAX_LOG];

    batch_reset(&b, -1);
    for (int64_t t = 0; t <= options.steps; t++) {
        if (t > 0) {
            watch.step = t;
            batch_act(&b, -1, t);
            batch_step(&b, -1, 0);
            look_at_rewards(&b, &totals);
        }
        if (desc.obs_dtype == PUFFER_F32) {
            look_at_observations(&b, odd, wide);
        }
        if (t % 16 == 0) {
            for (int e = 0; e < b.envs; e++) {
                for (int k = 0; k < b.count[e] * desc.num_atns; k++) {
                    int id = (int)b.rows[e].actions[k];
                    taken[k % desc.num_atns][id & 255] += id >= 0;
                }
            }
        }
        if (t % 4096 == 0) {
            logged += api->collect_log(b.vec, 0, b.envs, log);
        }
    }
    logged += api->collect_log(b.vec, 0, b.envs, log);
    for (size_t i = 0; i < D; i++) {
        tell("obs-not-finite", (int)i, &odd[i]);
        tell("obs-scale", (int)i, &wide[i]);
    }
    tell("reward-not-finite", 0, &totals.odd_reward);
    tell("terminal-value", 0, &totals.odd_terminal);
    tell("truncation-value", 0, &totals.odd_truncation);
    tell("truncation-alone", 0, &totals.lone_truncation);
    for (int h = 0; h < desc.num_atns; h++) {
        int width = desc.act_sizes[h], seen = 0;
        for (int id = 0; id < width && id < 256; id++) {
            seen += taken[h][id] > 0;
        }
        fact("{\"fact\": \"actions\", \"head\": %d, \"width\": %d, \"seen\": %d}",
             h, width, width == 1 ? 1 : seen);
    }
    fact("{\"fact\": \"run\", \"envs\": %d, \"agents\": %d, \"steps\": %lld, "
         "\"rewards\": %lld, \"terminals\": %lld, \"truncations\": %lld, \"logged\": %.0f}",
         b.envs, b.agents, (long long)(options.steps * b.envs), (long long)totals.rewards,
         (long long)totals.terminals, (long long)totals.truncations, logged);
    batch_close(&b);
}

//------------------------------------------------------------------------------------
// guard: each row touches an unmapped page, so that a write beyond it ends in on_crash
//------------------------------------------------------------------------------------
void experiment_guard(void) {
    Batch b = batch_open(options.layout);
    batch_reset(&b, -1);
    for (int64_t t = 1; t <= options.steps; t++) {
        watch.step = t;
        batch_act(&b, -1, t);
        batch_step(&b, -1, 0);
    }
    watch.step = options.steps;
    batch_reset(&b, -1);            // also from the middle of an episode
    fact("{\"fact\": \"guarded\", \"layout\": %d, \"steps\": %lld}", options.layout,
         (long long)(options.steps * b.envs));
    batch_close(&b);
}

//------------------------------------------------------------------------------------
// packed: rows of all envs behind one another; a step may change its own env's rows alone
//------------------------------------------------------------------------------------
typedef struct Shadow { void* block[NUM_ARRAYS]; } Shadow;

static void compare_outside(const Batch* b, Shadow* shadow, int env, const char* phase) {
    for (int a = 0; a < NUM_ARRAYS; a++) {
        if (!b->block[a] || a == ACTIONS) {
            continue;
        }
        char* block = b->block[a];
        char* old = shadow->block[a];
        size_t begin = (size_t)((char*)array_of(&b->rows[env], a) - block);
        size_t own = row_bytes(a) * (size_t)b->count[env];
        memcpy(old + begin, block + begin, own);            // its own rows are its own
        if (memcmp(old, block, b->bytes[a]) == 0) {
            continue;
        }
        size_t i = 0;
        while (old[i] == block[i]) {
            i++;
        }
        fact("{\"fact\": \"overrun\", \"array\": \"%s\", \"env\": %d, \"step\": %lld, "
             "\"past\": %lld, \"bytes\": %zu, \"phase\": \"%s\"}",
             array_names[a], env, (long long)watch.step,
             i >= begin + own ? (long long)(i - begin - own) : (long long)i - (long long)begin,
             own, phase);
        finish();
    }
}

void experiment_packed(void) {
    Batch b = batch_open(PACKED);
    Shadow shadow;
    for (int a = 0; a < NUM_ARRAYS; a++) {
        shadow.block[a] = b.block[a] ? malloc(b.bytes[a]) : NULL;
    }
    for (int64_t t = 0; t <= options.steps; t++) {
        watch.step = t;
        if (t > 0) {
            batch_act(&b, -1, t);
        }
        for (int a = 0; a < NUM_ARRAYS; a++) {
            if (b.block[a]) {
                memcpy(shadow.block[a], b.block[a], b.bytes[a]);
            }
        }
        for (int e = 0; e < b.envs; e++) {
            if (t == 0) {
                batch_reset(&b, e);
            } else {
                batch_step(&b, e, 0);
            }
            compare_outside(&b, &shadow, e, t == 0 ? "reset" : "step");
        }
    }
    fact("{\"fact\": \"packed\", \"steps\": %lld}", (long long)(options.steps * b.envs));
    batch_close(&b);
}

//------------------------------------------------------------------------------------
// trace: a hash of each env's rows at each step, to be compared with another process's
//------------------------------------------------------------------------------------
static uint64_t hash_bytes(uint64_t hash, const void* data, size_t size) {
    const unsigned char* bytes = data;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9FB21C651E98DF25u;
        hash ^= hash >> 32;
    }
    for (; size > 0; size--, bytes++) {
        hash = (hash ^ *bytes) * 0x9FB21C651E98DF25u;
    }
    return hash ^ (hash >> 29);
}

static uint64_t hash_env(const Batch* b, int env) {
    uint64_t hash = 0x243F6A8885A308D3u;
    for (int a = 0; a < NUM_ARRAYS; a++) {
        if (a != ACTIONS && row_bytes(a) > 0) {
            hash = hash_bytes(hash, array_of(&b->rows[env], a),
                              row_bytes(a) * (size_t)b->count[env]);
        }
    }
    return hash;
}

static void write_rows(const Batch* b, int env) {
    int file = open(options.dump, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int a = 0; file >= 0 && a < NUM_ARRAYS; a++) {
        size_t size = row_bytes(a) * (size_t)b->count[env];
        if (a != ACTIONS && size > 0 && write(file, array_of(&b->rows[env], a), size) < 0) {
            fail("cannot write the environment's rows");
        }
    }
    close(file);
}

// What an uninitialised local variable will hold: different in runs with another shift
static void __attribute__((noinline)) soil_stack(void) {
    volatile char dirt[2048];
    memset((char*)dirt, options.shift ? 0xB5 : 0x4A, sizeof dirt);
    __asm__ volatile("" : : "r"(dirt) : "memory");
}

// The hashes (steps + 1, E), or NULL when nobody wants them. Sets options.traced to E
static uint64_t* trace_once(bool wanted) {
    Batch b = batch_open(options.layout);
    options.traced = b.envs;
    uint64_t* hashes = wanted ? calloc((size_t)(options.steps + 1) * (size_t)b.envs, 8) : NULL;
    bool whole = options.only < 0 && options.layout == PACKED;
    for (int64_t t = 0; t <= options.steps; t++) {
        watch.step = t;
        if (t > 0) {
            batch_act(&b, options.only, t);
        }
        soil_stack();
        for (int k = 0; k < (whole ? 1 : b.envs); k++) {
            int e = whole ? -1 : options.layout == REVERSED ? b.envs - 1 - k : k;
            if (options.only >= 0 && e != options.only) {
                continue;
            }
            if (t == 0) {
                batch_reset(&b, e);
            } else {
                batch_step(&b, e, 0);
            }
        }
        for (int e = 0; hashes && e < b.envs; e++) {
            if (options.only < 0 || e == options.only) {
                hashes[t * b.envs + e] = hash_env(&b, e);
            }
        }
        if (hashes && options.dump && t == options.dump_step) {
            write_rows(&b, options.dump_env);
            break;
        }
    }
    batch_close(&b);
    return hashes;
}

void experiment_trace(void) {
    void* volatile displaced = options.shift ? malloc(100003) : NULL;
    for (int i = 0; i < options.repeat; i++) {
        trace_once(false);
    }
    uint64_t* hashes = trace_once(true);
    if (options.hashes) {
        int file = open(options.hashes, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        const char* at = (const char*)hashes;
        size_t left = (size_t)(options.steps + 1) * (size_t)options.traced * 8;
        while (file >= 0 && left > 0) {
            ssize_t done = write(file, at, left);
            if (done <= 0) {
                fail("cannot write the trace");
            }
            at += done;
            left -= (size_t)done;
        }
        close(file);
    }
    free(displaced);
    fact("{\"fact\": \"traced\", \"envs\": %d, \"steps\": %lld}", options.traced,
         (long long)options.steps);
}

//------------------------------------------------------------------------------------
// audit: does the state begin anew when an episode ends?
//
// A `home` word of the env struct has the same value after every c_reset, and others in
// between (a tick, a score, a start position). An ending after which no home word went home,
// and for which no random number was drawn although every c_reset draws, was not a reset
//------------------------------------------------------------------------------------
enum { RESETS = 16, MAX_WORDS = 1 << 12 };

static bool is_state(size_t word) { // not a log, a generator or a pointer to the buffers
    size_t at = word * 4;
    const Layout* l = &layout;
    if ((at + 4 > l->log && at < l->log + l->log_size) || (at + 4 > l->rng && at < l->rng + 4)) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if (at + 4 > l->pointers[i] && at < l->pointers[i] + sizeof(void*)) {
            return false;
        }
    }
    return true;
}

static size_t state_words(void) {
    size_t words = layout.size / 4;
    return words < MAX_WORDS ? words : MAX_WORDS;
}

// Words of the struct, then the observation bytes of all its agents in words of one element
static size_t element_count(const Batch* b, int env) {
    size_t count = (size_t)desc.obs_size * (size_t)b->count[env];
    return count < MAX_WORDS ? count : MAX_WORDS;
}

static uint32_t element(const Batch* b, int env, size_t i) {
    if (desc.obs_dtype == PUFFER_U8) {
        return ((const unsigned char*)b->rows[env].observations)[i];
    }
    uint32_t bits;
    memcpy(&bits, (const char*)b->rows[env].observations + 4 * i, 4);
    return bits;
}

typedef struct Home {               // what c_reset always brings back, of one env
    uint32_t* value;
    bool* fixed;                    // the same after every reset
    bool* moves;                    // and another value between resets
} Home;

static uint32_t word_at(const Batch* b, int env, size_t words, size_t i) {
    if (i < words) {
        uint32_t value;
        memcpy(&value, env_struct(b, env) + 4 * i, 4);
        return value;
    }
    return element(b, env, i - words);
}

// What became of the words that were away from home before an ending
static void count_homecomings(const Batch* b, int env, const Home* home, const bool* away,
                              size_t from, size_t to, size_t words, int* were, int* came) {
    *were = *came = 0;
    for (size_t i = from; i < to; i++) {
        if (home->fixed[i] && home->moves[i] && away[i]) {
            *were += 1;
            *came += word_at(b, env, words, i) == home->value[i];
        }
    }
}

static uint32_t rng_of(const Batch* b, int env) {
    uint32_t value;
    memcpy(&value, env_struct(b, env) + layout.rng, 4);
    return value;
}

typedef struct Audit {              // counts over all envs
    int64_t endings;                // steps that ended the episode of every agent of the env
    int64_t stayed;                 // after which no home word had gone home
    int64_t kept;                   // of these, without a random number drawn
    int64_t stayed_next;            // of `stayed`, those whose next step was an ending, too
    int64_t grown;                  // of `stayed`, logged with the ticks of episodes before
    int64_t part;                   // steps that ended the episode of some agents
    int64_t resets, draws;          // calls of c_reset, and those that drew a number
    int64_t plain, noisy;           // other steps, and those that drew a random number
    int64_t frozen;                 // agents all ended, and then nothing changed for long
    int64_t step;                   // of the first one that stayed
    int env;
} Audit;

static int64_t learn_home(Batch* b, int e, Home* home, size_t words, size_t all, Audit* a) {
    int64_t t = 0;
    for (int r = 0; r < RESETS; r++) {
        uint32_t before = rng_of(b, e);
        watch.step = t;
        batch_reset(b, e);
        a->resets++;
        a->draws += rng_of(b, e) != before;
        for (size_t i = 0; i < all; i++) {
            uint32_t value = word_at(b, e, words, i);
            if (r == 0) {
                home->value[i] = value;
            }
            home->fixed[i] = home->fixed[i] && value == home->value[i]
                          && (i >= words || is_state(i));
        }
        int length = 1 + (int)(mix((uint64_t)(r * b->envs + e)) % 24);
        for (int k = 0; k < length; k++) {
            watch.step = ++t;
            batch_act(b, e, t);
            batch_step(b, e, 0);
            for (size_t i = 0; i < all; i++) {
                home->moves[i] = home->moves[i] || word_at(b, e, words, i) != home->value[i];
            }
        }
    }
    watch.step = t;
    batch_reset(b, e);
    return t;
}

static double logged_length(Batch* b, int e) {      // of the one episode just logged, or -1
    double log[PUFFER_MAX_LOG];
    double n = api->collect_log(b->vec, e, 1, log);
    for (int i = 0; n == 1.0 && i < desc.num_logs; i++) {
        if (strcmp(desc.log_names[i], "episode_length") == 0) {
            return log[i];
        }
    }
    return -1.0;
}

static uint64_t hash_seen(const Batch* b, int e) {
    return hash_bytes(1, b->rows[e].observations,
                      row_bytes(OBSERVATIONS) * (size_t)b->count[e]);
}

static void audit_env(Batch* b, int e, Audit* a) {
    enum { LONG = 2000 };           // steps without any change: nothing will happen any more
    size_t words = state_words(), all = words + element_count(b, e);
    Home home = {calloc(all, 4), malloc(all), calloc(all, 1)};
    bool* away = calloc(all, 1);
    bool* over = calloc((size_t)b->count[e], 1);    // agents whose episode ended
    memset(home.fixed, 1, all);
    int64_t t = learn_home(b, e, &home, words, all, a);
    bool has_home = false;          // in the struct; else the observations have to do
    for (size_t i = 0; i < words; i++) {
        has_home = has_home || (home.fixed[i] && home.moves[i]);
    }
    int64_t since = 0, since_reset = 0, still = 0;
    uint64_t seen = 0;
    bool stayed_before = false;
    logged_length(b, e);

    for (int64_t k = 0; k < options.steps; k++) {
        uint32_t before = rng_of(b, e);
        for (size_t i = 0; i < all; i++) {
            away[i] = home.fixed[i] && home.moves[i] && word_at(b, e, words, i) != home.value[i];
        }
        watch.step = ++t;
        batch_act(b, e, t);
        batch_step(b, e, 0);
        since++;
        since_reset++;
        bool drew = rng_of(b, e) != before, ended = env_ended(b, e);
        a->stayed_next += stayed_before && ended;
        stayed_before = false;

        uint64_t now_seen = hash_seen(b, e);
        bool all_over = true, some = false;
        for (int i = 0; i < b->count[e]; i++) {
            bool end = b->rows[e].terminals[i] != 0.0f;
            some = some || end;
            over[i] = over[i] || end;
            all_over = all_over && over[i];
        }
        still = now_seen == seen && !drew && !some ? still + 1 : 0;
        seen = now_seen;
        if (all_over && still == LONG) {
            a->frozen++;
            if (a->step < 0) {
                a->step = t - LONG;
                a->env = e;
            }
        }
        if (drew || (some && !ended)) {
            memset(over, 0, (size_t)b->count[e] * (size_t)drew);
        }
        if (!ended) {
            a->part += some;
            a->plain++;
            a->noisy += drew;
            continue;
        }
        a->endings++;
        int were, came, were_seen, came_seen;
        count_homecomings(b, e, &home, away, 0, words, words, &were, &came);
        count_homecomings(b, e, &home, away, words, all, words, &were_seen, &came_seen);
        double length = logged_length(b, e);
        if (has_home ? were > 0 && came == 0 : were_seen > 0 && 2 * came_seen < were_seen) {
            stayed_before = true;
            a->stayed++;
            a->kept += !drew;
            a->grown += since_reset > since && length == (double)since_reset;
            if (a->step < 0) {
                a->step = t;
                a->env = e;
            }
        } else {
            since_reset = 0;
        }
        since = 0;
    }
    free(home.value);
    free(home.fixed);
    free(home.moves);
    free(away);
    free(over);
}

void experiment_audit(void) {
    Batch b = batch_open(PACKED);
    Audit a = {.step = -1, .env = -1};
    for (int e = 0; e < b.envs; e++) {
        audit_env(&b, e, &a);
    }
    fact("{\"fact\": \"endings\", \"endings\": %lld, \"kept\": %lld, \"stayed\": %lld, "
         "\"stayed_next\": %lld, \"grown\": %lld, \"part\": %lld, \"resets\": %lld, "
         "\"draws\": %lld, \"plain\": %lld, \"noisy\": %lld, \"env\": %d, \"step\": %lld, \"frozen\": %lld}",
         (long long)a.endings, (long long)a.kept, (long long)a.stayed, (long long)a.stayed_next,
         (long long)a.grown, (long long)a.part, (long long)a.resets, (long long)a.draws,
         (long long)a.plain, (long long)a.noisy, a.env, (long long)a.step, (long long)a.frozen);
    batch_close(&b);
}
