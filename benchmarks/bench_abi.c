/* bench_abi.c -- one environment stepped two ways, turn and turn about, in one process:
 * by a plain loop over c_step, compiled into this program, and by its library's api->step.
 *
 *     bench_abi LIBRARY ENVS ROUNDS TICKS KEY=VALUE...      [env] settings
 *
 * Prints one line a round: nanoseconds per env step of the loop, and of the library. Both
 * play the same seeds and actions; status 1 if their buffers differ at the end.
 *
 * bench_abi.py compiles it with the library's own flags and BENCH_HEADER, BENCH_ENV,
 * BENCH_CONFIGURE, and reads what it prints.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include BENCH_HEADER
#include BENCH_CONFIG
#include "puffer_abi.h"

typedef BENCH_ENV Env;

typedef struct Buffers {            // E envs of one agent, D bytes or floats, K heads
    unsigned char* observations;    // (E, D)
    float* actions;                 // (E, K)
    float* rewards;                 // (E)
    float* terminals;               // (E)
} Buffers;

static void* block(size_t size) {   // zeros on a page of their own
    void* memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (!memory) exit(3);
    return memset(memory, 0, size);
}

static Buffers make_buffers(int envs, size_t row, int heads) {
    size_t e = (size_t)envs;
    Buffers made = {block(e * row), block(e * (size_t)heads * 4), block(e * 4), block(e * 4)};
    return made;
}

static double now(void) {           // nanoseconds
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void draw_actions(const PufferDescription* desc, int envs, float* first, float* second) {
    static uint64_t state = 42;
    for (int i = 0; i < envs * desc->num_atns; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        int width = desc->act_sizes[i % desc->num_atns];
        first[i] = second[i] = (float)((state >> 33) % (uint64_t)width);
    }
}

// The fastest that a program in C can do with these rules: clear all, then step each
__attribute__((noinline)) static void step_plain(Env* envs, int count, const Buffers* buffers) {
    memset(buffers->rewards, 0, (size_t)count * sizeof(float));
    memset(buffers->terminals, 0, (size_t)count * sizeof(float));
    for (int e = 0; e < count; e++) c_step(&envs[e]);
}

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    int envs = atoi(argv[2]), rounds = atoi(argv[3]), ticks = atoi(argv[4]);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    const PufferApi* (*get)(void) = NULL;
    if (library) *(void**)&get = dlsym(library, "puffer_api");
    if (!get) { fprintf(stderr, "%s\n", dlerror()); return 2; }
    const PufferApi* api = get();

    PufferSetting items[64];
    int count = 0;
    for (int i = 5; i < argc && count < 64; i++) {
        char* equals = strchr(argv[i], '=');
        if (!equals) return 2;
        *equals = '\0';
        items[count++] = (PufferSetting){argv[i], atof(equals + 1)};
    }
    PufferSettings settings = {items, count};
    PufferDescription desc;
    PufferWatch watch = {0};
    PufferError error = {0};
    PufferVec* vec = NULL;
    if (api->describe(&settings, &desc, &error) == 0)
        vec = api->create(&settings, NULL, envs, 1, 0, NULL, &watch, &error);
    if (!vec || api->num_envs(vec) != envs) { fprintf(stderr, "%s\n", error.text); return 2; }

    size_t row = (size_t)desc.obs_size * (desc.obs_dtype == PUFFER_F32 ? 4 : 1);
    Buffers ours = make_buffers(envs, row, desc.num_atns);
    Buffers theirs = make_buffers(envs, row, desc.num_atns);
    Env* plain = (Env*)block((size_t)envs * sizeof(Env));
    for (int e = 0; e < envs; e++) {
        size_t r = (size_t)e, a = r * (size_t)desc.num_atns;
        PufferBuffers bound = {theirs.observations + r * row, theirs.actions + a,
                               theirs.rewards + r, theirs.terminals + r, NULL, NULL};
        api->bind(vec, e, &bound);
        plain[e].rng = api->env_seed(vec, e);
        BENCH_CONFIGURE(&plain[e]);
        init(&plain[e]);
        plain[e].observations = (void*)(ours.observations + r * row);
        plain[e].actions = ours.actions + a;
        plain[e].rewards = ours.rewards + r;
        plain[e].terminals = ours.terminals + r;
        c_reset(&plain[e]);
    }
    api->reset(vec, 0, envs, &watch);

    for (int round = 0; round < rounds; round++) {
        double spent[2] = {0, 0};
        for (int tick = 0; tick < ticks; tick++) {
            draw_actions(&desc, envs, ours.actions, theirs.actions);
            for (int turn = 0; turn < 2; turn++) {          // each goes first half the time
                int which = (turn + tick) & 1;
                double began = now();
                if (which) api->step(vec, 0, envs, 0, &watch);
                else step_plain(plain, envs, &ours);
                spent[which] += now() - began;
            }
        }
        double steps = (double)ticks * envs;
        printf("%.4f %.4f\n", spent[0] / steps, spent[1] / steps);
    }
    bool same = !memcmp(ours.observations, theirs.observations, (size_t)envs * row)
             && !memcmp(ours.rewards, theirs.rewards, (size_t)envs * sizeof(float))
             && !memcmp(ours.terminals, theirs.terminals, (size_t)envs * sizeof(float));
    api->destroy(vec, &watch);
    for (int e = 0; e < envs; e++) c_close(&plain[e]);
    return same ? 0 : 1;
}
