/* plain.c -- experiments that run one batch as it is: costs, guards, rows, traces. */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//------------------------------------------------------------------------------------
// probe: the shape of the environment, and what a step costs
//------------------------------------------------------------------------------------
enum { MOST_AGENTS = 256 };    // that are tried for a MY_VEC_INIT

// A MY_VEC_INIT decides for itself how many agents it takes. The fewest, or those of [vec]: each
// number is tried in a process of its own, as what a failed try has allocated is not freed
static int smallest_tiling(void) {
    PufferError error = {0};
    for (int total = 1; total <= MOST_AGENTS; total++) {
        bool good = false;
        if (in_fork(&good)) {
            _exit(!api->create(&options.env, &options.vec, total, 1, 0, NULL, &watch, &error));
        }
        if (good) {
            return total;
        }
    }
    for (int i = 0; i < options.vec.count; i++) {
        if (strcmp(options.vec.items[i].key, "total_agents") == 0) {
            return (int)options.vec.items[i].value;
        }
    }
    return 1;
}

// What a plain env of this size costs: it writes its rows element by element, from random
// numbers, and draws 32 more for each agent. Measured on the same machine
static double yardstick(const Batch* b, uint32_t* rows) {
    enum { LARGE = 1 << 16 };    // elements that take long enough to be timed once
    double began = now();
    uint64_t draw = 0;
    size_t elements = (size_t)desc.obs_size * (size_t)b->agents;
    int rounds = elements < LARGE ? 16 : 1;
    for (int t = 0; t < rounds; t++) {
        for (size_t i = 0; i < elements; i++) {
            rows[i] = (uint32_t)(draw += mix(i));
        }
        for (int k = 0; k < 32 * b->agents; k++) {
            draw = mix(draw);
        }
        rows[0] += (uint32_t)draw;    // used, so that no compiler leaves it out
    }
    return (now() - began) / rounds / b->envs;
}

void experiment_probe(void) {
    PufferError error = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);    // what the env prints is shown where it cannot be made
    watch.phase = PUFFER_INIT;
    double init = cpu_seconds();    // the first: it may make what all share
    int agents = options.seek ? 1 : api->agents_per_env(&options.env, &watch, &error);
    init = cpu_seconds() - init;
    if (agents < 1) {
        refuse(&error);
    }
    watch.phase = PUFFER_IDLE;
    options.agents = options.seek ? smallest_tiling() : agents;
    options.envs = 1;
    double began = cpu_seconds();
    Batch b = batch_open(PACKED);
    init = options.seek ? cpu_seconds() - began : init;    // what my_vec_init takes
    int envs = api->num_envs(b.vec);
    int agents_0, first_0;
    api->rows(b.vec, 0, &first_0, &agents_0);
    static const char* const dtypes[] = {"u8", "f32", "i32"};
    fact(shape, .dtype = dtypes[desc.obs_dtype], .obs_size = desc.obs_size, .heads = desc.num_atns,
         .mask = desc.mask_size, .truncations = desc.has_truncations, .alive = desc.has_alive,
         .whole_steps = desc.whole_steps, .agents = options.agents, .envs = envs,
         .env_agents = agents_0);
    for (int h = 0; h < desc.num_atns; h++) {
        fact(head, .head = h, .width = desc.act_sizes[h]);
    }
    batch_reset(&b, -1);
    uint32_t* rows = malloc(sizeof *rows * (size_t)desc.obs_size * (size_t)b.agents);
    double best = 1e9;     // seconds of one step: the best block, as machines are busy
    double plain = 1e9;    // and of the yardstick's
    for (int block = 0; block < 24; block++) {
        double began = now();
        for (int t = 0; t < 16; t++) {
            batch_tick(&b, block * 16 + t + 1);
        }
        double each = (now() - began) / 16 / b.envs;
        best = each < best ? each : best;
        each = yardstick(&b, rows);
        plain = each < plain ? each : plain;
        words_sample(&b);
    }
    double reset = 1e9;
    for (int k = 0; k < 4; k++) {
        double began = now();
        batch_reset(&b, -1);
        double each = (now() - began) / b.envs;
        reset = each < reset ? each : reset;
        words_sample(&b);
    }
    words_report();
    fact(resident, .bytes = resident_bytes());
    fact(cost, .seconds = best, .reset = reset, .yardstick = plain, .init = init);
}

//------------------------------------------------------------------------------------
// guard: each row touches an unmapped page, so that a write beyond it ends in on_crash
//------------------------------------------------------------------------------------
void experiment_guard(void) {
    Batch b = batch_open(options.layout);
    batch_reset(&b, -1);
    for (int64_t t = 1; t <= options.steps; t++) {
        batch_tick(&b, t);
    }
    watch.step = options.steps;
    batch_reset(&b, -1);    // also from the middle of an episode
    fact(guarded, .steps = options.steps * b.envs);
    batch_close(&b);
}

//------------------------------------------------------------------------------------
// packed: rows of all envs in one block; a step may only change the rows of its own env
//------------------------------------------------------------------------------------
typedef struct Shadow {
    void* block[NUM_ARRAYS];
} Shadow;

static void compare_outside(const Batch* b, Shadow* shadow, int env, const char* phase) {
    for (int a = 0; a < NUM_ARRAYS; a++) {
        if (!b->block[a] || a == ACTIONS) {
            continue;
        }
        char* block = b->block[a];
        char* old = shadow->block[a];
        size_t begin = (size_t)((char*)array_of(&b->rows[env], a) - block);
        size_t own = row_bytes(a) * (size_t)b->count[env];
        memcpy(old + begin, block + begin, own);    // its own rows are its own
        if (memcmp(old, block, b->bytes[a]) == 0) {
            continue;
        }
        size_t i = 0;
        while (old[i] == block[i]) {
            i++;
        }
        int64_t past = (int64_t)i - (int64_t)(i >= begin + own ? begin + own : begin);
        fact(overrun, .array = array_names[a], .env = env, .step = watch.step, .past = past,
             .bytes = (int64_t)own, .phase = phase);
        finish();
    }
}

typedef struct Rewritten {
    int64_t count, step;
    int env, agent, head;
    float was, is;
} Rewritten;

static void compare_actions(const Batch* b, const Shadow* shadow, int env, Rewritten* found) {
    const float* is = b->rows[env].actions;
    size_t size = row_bytes(ACTIONS) * (size_t)b->count[env];
    const float* was = (const float*)((const char*)shadow->block[ACTIONS]
                                      + ((const char*)is - (const char*)b->block[ACTIONS]));
    if (memcmp(is, was, size) == 0 || found->count++ > 0) {
        return;
    }
    int i = 0;
    while (memcmp(&is[i], &was[i], 4) == 0) {
        i++;
    }
    *found = (Rewritten){1, watch.step, env, i / desc.num_atns, i % desc.num_atns, was[i], is[i]};
}

void experiment_packed(void) {
    Batch b = batch_open(PACKED);
    Shadow shadow;
    Rewritten written = {0};
    for (int a = 0; a < NUM_ARRAYS; a++) {
        shadow.block[a] = b.block[a] ? malloc(b.bytes[a]) : NULL;
    }
    for (int64_t t = 0; t <= options.steps; t++) {
        watch.step = t;
        actions_unseal();
        if (t > 0) {
            batch_act(&b, -1, t);
        }
        for (int a = 0; a < NUM_ARRAYS; a++) {
            if (b.block[a]) {
                memcpy(shadow.block[a], b.block[a], b.bytes[a]);
            }
        }
        if (written.count > 0) {    // the next write shows its line
            actions_seal(b.block[ACTIONS], b.bytes[ACTIONS]);
        }
        for (int e = 0; e < b.envs; e++) {
            if (t == 0) {
                batch_reset(&b, e);
            } else {
                batch_step(&b, e, 0);
                compare_actions(&b, &shadow, e, &written);
            }
            compare_outside(&b, &shadow, e, t == 0 ? "reset" : "step");
        }
    }
    actions_unseal();
    if (written.count > 0) {
        fact(actions_written, .env = written.env, .agent = written.agent, .head = written.head,
             .step = written.step, .was = written.was, .became = written.is);
    }
    fact(packed, .steps = options.steps * b.envs);
    batch_close(&b);
}

//------------------------------------------------------------------------------------
// trace: a hash of each env's rows at each step, to be compared with another process's
//------------------------------------------------------------------------------------
uint64_t hash_env(const Batch* b, int env) { return hash_rows(b, env, 0x243F6A8885A308D3u); }

// An env's rows, and its struct in a file of its own (.struct)
void write_rows(const Batch* b, int env) {
    char path[4096];
    snprintf(path, sizeof path, "%s.struct", options.dump);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, env_struct(b, env), layout.size) < 0) {
        fail("cannot write the environment's struct");
    }
    close(file);
    file = open(options.dump, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int a = 0; file >= 0 && a < NUM_ARRAYS; a++) {
        size_t size = row_bytes(a) * (size_t)b->count[env];
        char* rows = a != ACTIONS && size > 0 ? malloc(size) : NULL;
        if (rows) {
            copy_told(b, env, a, rows);
        }
        if (rows && write(file, rows, size) < 0) {
            fail("cannot write the environment's rows");
        }
        free(rows);
    }
    close(file);
}

// What an uninitialised local variable holds: different in runs with another shift
static void __attribute__((noinline)) soil_stack(void) {
    volatile char dirt[2048];
    memset((char*)dirt, options.shift ? 0xB5 : 0x4A, sizeof dirt);
    __asm__ volatile("" : : "r"(dirt) : "memory");
}

enum { MAX_GENERATORS = 8 };

typedef struct Draws {    // of one generator in the struct, over all envs and steps
    size_t at, size;      // bytes of the struct
    uint64_t hash;        // of every value it had
    int64_t moves;        // steps that changed it
    uint64_t* last;       // (E) its value
} Draws;

static int find_generators(const Batch* b, Draws* draws) {    // rng, and options.generators
    size_t at = layout.rng, size = layout.rng_size;
    int count = 0, used = 0;
    const char* text = options.generators ? options.generators : "";
    do {
        if (size) {
            draws[count++] = (Draws){at, size < 8 ? size : 8, 0, 0, calloc((size_t)b->envs, 8)};
        }
        text += used + (text[used] == ',');
        used = 0;
    } while (count < MAX_GENERATORS && sscanf(text, "%zu:%zu%n", &at, &size, &used) == 2);
    return count;
}

static void follow_draws(const Batch* b, Draws* draws, int count, int64_t t) {
    for (Draws* d = draws; d < draws + count; d++) {
        for (int e = 0; e < b->envs; e++) {
            uint64_t value = 0;
            memcpy(&value, env_struct(b, e) + d->at, d->size);
            uint64_t by = value > d->last[e] ? value - d->last[e] : d->last[e] - value;
            d->moves += t > 0 && (d->at == layout.rng ? by > 0 : by >= 4096);    // seeds in a field
            d->last[e] = value;
            d->hash = mix(d->hash ^ value);
        }
    }
}

static void report_draws(const Draws* draws, int count) {
    for (const Draws* d = draws; d < draws + count; d++) {
        fact(draws, .at = d->at, .moves = d->moves, .hash = d->hash);
        free(d->last);
    }
}

// The hashes (steps + 1, E), or NULL if not wanted. Sets options.traced to E
static uint64_t* trace_once(bool wanted) {
    Batch b = batch_open(options.layout);
    options.traced = b.envs;
    uint64_t* hashes = wanted ? calloc((size_t)(options.steps + 1) * (size_t)b.envs, 8) : NULL;
    bool whole = options.only < 0 && options.layout == PACKED;
    Draws draws[MAX_GENERATORS];
    int generators = find_generators(&b, draws);
    if (options.stores && whole && hashes) {
        stores_open(&b);
    }
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
        if (storing) {
            stores_settle();
        }
        if (whole && hashes) {
            follow_draws(&b, draws, generators, t);
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
    report_draws(draws, whole && hashes ? generators : 0);
    if (options.stores && whole && hashes) {
        stores_close();
    }
    batch_close(&b);
    return hashes;
}

void write_hashes(const uint64_t* hashes) {
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
    fact(traced, .envs = options.traced, .steps = options.steps);
}

void experiment_trace(void) {
    void* volatile displaced = options.shift ? malloc(100003) : NULL;
    for (int i = 0; i < options.repeat; i++) {
        trace_once(false);
    }
    uint64_t* hashes = trace_once(true);
    free(displaced);
    write_hashes(hashes);
}
