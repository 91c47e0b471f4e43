/* batch.c -- E environments, the rows they write, and the actions they are given. */
#include "harness.h"
#include "system.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAD = 4096, GUARD = 1 << 20, CANARY = 0xC3 };

static void* allocate(size_t bytes) {
    void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fail("not enough memory for the environment's buffers");
    }
    return memory;
}

// `bytes` of memory that touch an unmapped page: after them (high) or before them
static char* allocate_guarded(int array, int env, size_t bytes, int layout) {
    size_t page = page_bytes(), inner = (bytes + page - 1) / page * page;
    char* low = allocate(inner + 2 * GUARD);
    char* high = low + inner + 2 * GUARD;
    mprotect(low, GUARD, PROT_NONE);
    mprotect(high - GUARD, GUARD, PROT_NONE);
    char* start = layout == GUARD_HIGH ? high - GUARD - bytes : low + GUARD;
    add_region(array, env, start, bytes, low, high);
    loan_add(array_names[array], start, bytes);
    return start;
}

Batch batch_open(int how) {
    Batch b = {.envs = options.envs, .agents = options.agents * options.envs};
    PufferError error = {0};
    b.vec = api->create(&options.env, &options.vec, b.agents, 1,
                        options.seed + (uint64_t)options.reseed * 7919u, NULL, &watch, &error);
    if (!b.vec) {
        refuse(&error);
    }
    b.envs = api->num_envs(b.vec);
    b.first = calloc((size_t)b.envs, sizeof *b.first);
    b.count = calloc((size_t)b.envs, sizeof *b.count);
    b.had = calloc((size_t)b.agents, sizeof *b.had);
    b.rows = calloc((size_t)b.envs, sizeof *b.rows);

    for (int a = 0; a < NUM_ARRAYS; a++) {
        if (row_bytes(a) > 0 && how <= REVERSED) {
            b.bytes[a] = (size_t)b.agents * row_bytes(a) + 2 * PAD;
            b.block[a] = allocate(b.bytes[a]);
            memset(b.block[a], CANARY, PAD);
            memset((char*)b.block[a] + b.bytes[a] - PAD, CANARY, PAD);
            loan_add(array_names[a], b.block[a], b.bytes[a]);
        }
    }
    loan_add("env struct", env_struct(&b, 0), (size_t)api->env_struct_size() * (size_t)b.envs);
    char* whole[NUM_ARRAYS] = {0};    // guarded, but in one piece: MY_VEC_STEP clears all rewards
    for (int a = 0; how > REVERSED && desc.whole_steps && a < NUM_ARRAYS; a++) {
        if (row_bytes(a) > 0) {
            whole[a] = allocate_guarded(a, 0, (size_t)b.agents * row_bytes(a), how);
        }
    }
    int placed = 0;    // agents placed so far, in that order
    for (int k = 0; k < b.envs; k++) {
        int i = how == REVERSED ? b.envs - 1 - k : k;
        api->rows(b.vec, i, &b.first[i], &b.count[i]);
        void* at[NUM_ARRAYS] = {0};
        for (int a = 0; a < NUM_ARRAYS; a++) {
            size_t bytes = row_bytes(a);
            if (bytes == 0) {
                continue;
            }
            at[a] = how <= REVERSED ? (char*)b.block[a] + PAD + (size_t)placed * bytes
                    : whole[a]      ? whole[a] + (size_t)placed * bytes
                                    : allocate_guarded(a, i, bytes * (size_t)b.count[i], how);
        }
        placed += b.count[i];
        b.rows[i] = (PufferBuffers){.observations = at[OBSERVATIONS],
                                    .actions = at[ACTIONS],
                                    .rewards = at[REWARDS],
                                    .terminals = at[TERMINALS],
                                    .truncations = at[TRUNCATIONS],
                                    .action_mask = at[MASK],
                                    .alive = at[ALIVE]};
        for (int p = 0; p < 4; p++) {
            const void* own;
            memcpy(&own, env_struct(&b, i) + layout.pointers[p], sizeof own);
            block_replaced(own, p);
        }
        api->bind(b.vec, i, &b.rows[i]);
    }
    return b;
}

void batch_close(Batch* b) {
    if (b->twin) {
        b->twin->close(b);
    } else {
        const char* structs = env_struct(b, 0);
        api->destroy(b->vec, &watch);
        loan_remove(structs);
    }
    for (int a = 0; a < NUM_ARRAYS; a++) {
        if (b->block[a]) {
            loan_remove(b->block[a]);
            munmap(b->block[a], b->bytes[a]);
        }
    }
    free(b->first);
    free(b->count);
    free(b->had);
    free(b->rows);
}

// Unwritten memory must not leave the env: MemorySanitizer looks
static void check_initialized(const Batch* b, int env) {
    if (!check_initialized_at) {
        return;
    }
    for (int i = env < 0 ? 0 : env; i < (env < 0 ? b->envs : env + 1); i++) {
        for (int a = 0; a < NUM_ARRAYS; a++) {
            for (int agent = 0; row_bytes(a) > 0 && agent < b->count[i]; agent++) {
                if (is_told(b, a, i, agent)) {
                    check_initialized_at((char*)array_of(&b->rows[i], a)
                                             + row_bytes(a) * (size_t)agent,
                                         row_bytes(a));
                }
            }
        }
    }
}

void batch_reset(Batch* b, int env) {
    if (b->twin) {
        b->twin->reset(b, env);
        note_agents(b, env);
        return;
    }
    api->reset(b->vec, env < 0 ? 0 : env, env < 0 ? b->envs : 1, &watch);
    close_guards();
    note_agents(b, env);
    check_initialized(b, env);
}

void batch_seed(Batch* b, int env, uint32_t seed) {
    if (b->twin) {
        b->twin->seed(b, env, seed);
    } else {
        set_seed(b->vec, env, seed);
    }
}

void batch_step(Batch* b, int env, int flags) {
    note_agents(b, env);
    if (b->twin) {
        b->twin->step(b, env, flags);
        return;
    }
    api->step(b->vec, env < 0 ? 0 : env, env < 0 ? b->envs : 1, flags, &watch);
    close_guards();
    check_initialized(b, env);
}

void copy_actions(const Batch* from, Batch* to) {
    for (int i = 0; i < from->envs; i++) {
        memcpy(to->rows[i].actions, from->rows[i].actions,
               row_bytes(ACTIONS) * (size_t)from->count[i]);
    }
}

//------------------------------------------------------------------------------------
// Actions: each env goes through phases of uniform, sticky and held actions, so that
// corners are reached which random play never sees. A pure function of its arguments
//------------------------------------------------------------------------------------
static int held_values(int head) {    // 1 = continuous: low, middle, high
    return desc.act_sizes[head] == 1 ? 3 : desc.act_sizes[head];
}

static float draw_action(int head, uint64_t bits) {
    if (desc.act_sizes[head] > 1) {
        return (float)((bits >> 32) % (uint64_t)desc.act_sizes[head]);
    }
    float sum = 0.0f;    // near enough to a unit normal, as a fresh policy acts
    for (int i = 0; i < 4; i++) {
        sum += (float)((bits >> (16 * i)) & 0xFFFF) / 65536.0f;
    }
    return (sum - 2.0f) * 1.7320508f;
}

// Below 0: random, in one of four ways; else: which of all heads' values is held
static int mode_of(int env, int64_t step) {
    int64_t length = env % 2 ? 1024 : 128;
    int held = 0;
    for (int h = 0; h < desc.num_atns; h++) {
        held += held_values(h);
    }
    return (int)((env + step / length) % (4 + held)) - 4;
}

bool plays_at_random(int env, int64_t step) { return mode_of(env, step) < 0; }

// Uneven play, in phases of 16 or 32 steps: one action is held, and one step in twelve takes
// another; or half of the actions are left out. What one action keeps from happening comes about
// where it is rare: a piece of tetris that reaches the floor before it is swapped
static float choose_unevenly(int env, int head, uint64_t who, int64_t step) {
    int width = desc.act_sizes[head];
    uint64_t phase = mix(who ^ mix(~(uint64_t)(step / (16 << (env & 1)))));
    uint64_t bits = mix(who ^ mix((uint64_t)step));
    bool holds = env & 2;
    if (holds && bits % 12 > 0) {
        return width == 1 ? (float)(phase % 3) - 1.0f : (float)(phase % (uint64_t)width);
    }
    for (int k = 0; !holds && width > 2 && k < width; k++) {
        int value = (int)(((bits >> 32) + (uint64_t)k) % (uint64_t)width);
        if (phase >> (value % 64) & 1) {
            return (float)value;
        }
    }
    return draw_action(head, bits);
}

static float choose(int env, int agent, int head, int64_t step) {
    uint64_t who = options.seed * 1000003u + ((uint64_t)env << 40) + ((uint64_t)agent << 12)
                   + (uint64_t)head;
    if (options.uneven) {
        return choose_unevenly(env, head, who, step);
    }
    int mode = mode_of(env, step);
    if (mode >= 0) {
        for (int h = 0; h < desc.num_atns; h++) {
            if (mode < held_values(h)) {
                if (h == head) {
                    return desc.act_sizes[h] == 1 ? (float)(mode - 1) : (float)mode;
                }
                break;
            }
            mode -= held_values(h);
        }
    }
    int64_t when = mode < -2 || mode >= 0 ? step : step / 8;
    return draw_action(head, mix(who ^ mix((uint64_t)when)));
}

// The nearest allowed action at or after this one, where the env masks actions
static float masked(const unsigned char* mask, int head, float action) {
    int size = desc.act_sizes[head], offset = 0;
    for (int h = 0; h < head; h++) {
        offset += desc.act_sizes[h];
    }
    if (size == 1 || offset + size > desc.mask_size) {
        return action;
    }
    for (int k = 0; k < size; k++) {
        int candidate = ((int)action + k) % size;
        if (mask[offset + candidate]) {
            return (float)candidate;
        }
    }
    return action;
}

void batch_act(Batch* b, int env, int64_t step) {
    for (int i = env < 0 ? 0 : env; i < (env < 0 ? b->envs : env + 1); i++) {
        const PufferBuffers* rows = &b->rows[i];
        for (int agent = 0; agent < b->count[i]; agent++) {
            bool acts = !desc.has_alive || has_agent(b, i, agent);
            for (int head = 0; head < desc.num_atns; head++) {
                float action = acts ? choose(i, agent, head, step) : 0.0f;
                if (desc.mask_size > 0 && acts) {
                    action = masked(rows->action_mask + agent * desc.mask_size, head, action);
                }
                rows->actions[agent * desc.num_atns + head] = action;
            }
        }
    }
}

void batch_tick(Batch* b, int64_t step) {
    watch.step = step;
    batch_act(b, -1, step);
    batch_step(b, -1, 0);
}

void batch_play(Batch* b, int64_t* step, int64_t steps) {
    while (steps-- > 0) {
        batch_tick(b, ++*step);
    }
}
