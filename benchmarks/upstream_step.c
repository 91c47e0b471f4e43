/* upstream_step.c -- one environment of PufferLib's stepped by PufferLib's own loop, as its build.sh
 * compiles it, and by our library, turn and turn about, in one process.
 *
 *     upstream_step THEIRS OURS AGENTS ROUNDS TICKS KEY=VALUE...      [env] settings
 *
 * Prints one line a round: CPU nanoseconds per agent step of theirs, and of ours. Both play the same
 * actions at random, from their own seeds. bench_upstream_speed.py compiles and reads it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "puffer_abi.h"

typedef struct Item {    // these three as PufferLib 4.0's vecenv.h lays them out
    const char* key;
    double value;
    void* pointer;
} Item;

typedef struct Items {
    Item* items;
    int size, capacity;
} Items;

typedef struct Theirs {
    void* envs;
    int size, total_agents, buffers, agents_per_buffer;
    int *starts, *counts;
    void* observations;
    float *actions, *rewards, *terminals;
} Theirs;

static double now(void) {    // nanoseconds of this thread
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void* block(size_t size) {    // zeros, as theirs come from
    void* memory = calloc(1, size);
    if (!memory) exit(3);
    return memory;
}

static void* symbol(void* library, const char* name) {
    void* found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(2);
    }
    return found;
}

int main(int argc, char** argv) {
    if (argc < 6) return 2;
    // what only their GPU road or a window calls is never looked for
    void *a = dlopen(argv[1], RTLD_LAZY), *b = dlopen(argv[2], RTLD_LAZY);
    int agents = atoi(argv[3]), rounds = atoi(argv[4]), ticks = atoi(argv[5]), count = 0;
    Theirs* (*create)(int, int, int, Items*, Items*);
    void (*reset)(Theirs*), (*step)(Theirs*);
    const PufferApi* (*get)(void);
    *(void**)&create = symbol(a, "create_static_vec");
    *(void**)&reset = symbol(a, "static_vec_reset");
    *(void**)&step = symbol(a, "cpu_vec_step");
    *(void**)&get = symbol(b, "puffer_api");

    Item vec_items[2] = {{"total_agents", agents, NULL}, {"num_buffers", 1, NULL}}, env_items[64];
    PufferSetting given[64];
    for (int i = 6; i < argc && count < 64; i++, count++) {
        char* equals = strchr(argv[i], '=');
        if (!equals) return 2;
        *equals = '\0';
        env_items[count] = (Item){argv[i], atof(equals + 1), NULL};
        given[count] = (PufferSetting){argv[i], atof(equals + 1)};
    }
    Items vec_settings = {vec_items, 2, 2}, env_settings = {env_items, count, 64};
    Theirs* theirs = create(agents, 1, 0, &vec_settings, &env_settings);
    reset(theirs);

    const PufferApi* api = get();
    PufferSettings settings = {given, count};
    PufferDescription desc;
    PufferWatch watch = {0};
    PufferError error = {0};
    PufferVec* vec = NULL;
    if (api->describe(&settings, &desc, &error) == 0)
        vec = api->create(&settings, NULL, agents, 1, 0, NULL, &watch, &error);
    if (!vec) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    size_t row = (size_t)desc.obs_size * (desc.obs_dtype == PUFFER_F32 ? 4 : 1),
           n = (size_t)agents, heads = (size_t)desc.num_atns;
    int envs = api->num_envs(vec);
    size_t each = n / (size_t)envs;
    char* observations = block(n * row);
    float *actions = block(n * heads * 4), *rewards = block(n * 4), *terminals = block(n * 4);
    for (int e = 0; e < envs; e++) {
        size_t r = (size_t)e * each;
        PufferBuffers bound = {(void*)(observations + r * row), actions + r * heads, rewards + r,
                               terminals + r, NULL, NULL};
        api->bind(vec, e, &bound);
    }
    api->reset(vec, 0, envs, &watch);

    uint64_t state = 42;
    for (int round = 0; round < rounds; round++) {
        double spent[2] = {0, 0};
        for (int tick = 0; tick < ticks; tick++) {
            for (size_t i = 0; i < n * heads; i++) {
                state = state * 6364136223846793005ull + 1442695040888963407ull;
                uint64_t width = (uint64_t)desc.act_sizes[i % heads];
                actions[i] = theirs->actions[i] = (float)((state >> 33) % width);
            }
            for (int turn = 0; turn < 2; turn++) {    // each goes first half the time
                int which = (turn + tick) & 1;
                double began = now();
                if (which) api->step(vec, 0, envs, 0, &watch);
                else step(theirs);
                spent[which] += now() - began;
            }
        }
        double steps = (double)ticks * agents;
        printf("%.3f %.3f\n", spent[0] / steps, spent[1] / steps);
    }
    return 0;
}
