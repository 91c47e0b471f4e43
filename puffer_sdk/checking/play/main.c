/* main.c -- reads the command line, opens the environment, runs one experiment. */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Options options = {.agents = 1,
                   .envs = 8,
                   .steps = 1024,
                   .only = -1,
                   .hang = 10.0,
                   .log_perf = -1,
                   .log_return = -1,
                   .log_length = -1};
const PufferApi* api;
void (*set_seed)(PufferVec* vec, int32_t env, uint32_t seed);
void* const* beginnings;
volatile int begun[MAX_BEGINNINGS];
Layout layout;
PufferDescription desc;
PufferWatch watch;
static void (*dump_coverage)(void);    // where the library was compiled for it

static const struct {
    const char* name;
    void (*run)(void);
} experiments[] = {
#define EXPERIMENT(NAME) {#NAME, experiment_##NAME},
#include "experiments.def"
#undef EXPERIMENT
};

// "set.size=11" -> an item of settings, when text begins with prefix
static bool take_setting(PufferSettings* settings, const char* prefix, const char* text) {
    size_t length = strlen(prefix);
    const char* equals = strchr(text, '=');
    if (strncmp(text, prefix, length) != 0 || !equals) {
        return false;
    }
    PufferSetting* items = realloc((void*)settings->items,
                                   sizeof *items * (size_t)(settings->count + 1));
    items[settings->count++] = (PufferSetting){
        strndup(text + length, (size_t)(equals - text) - length), strtod(equals + 1, NULL),
        equals + 1};
    settings->items = items;
    return true;
}

static void parse(int count, char** words) {
    for (int i = 2; i < count; i++) {
        const char* word = words[i];
        const char* equals = strchr(word, '=');
        if (!equals || take_setting(&options.env, "set.", word)
            || take_setting(&options.vec, "vec.", word)) {
            continue;
        }
        const char* value = equals + 1;
        size_t size = (size_t)(equals - word);
#define IS(name) (size == strlen(name) && strncmp(word, name, size) == 0)
        if (IS("library")) options.library = value;
        else if (IS("facts")) options.facts = value;
        else if (IS("hashes")) options.hashes = value;
        else if (IS("dump")) options.dump = value;
        else if (IS("samples")) options.samples = value;
        else if (IS("bounds")) options.bounds = value;
        else if (IS("log_perf")) options.log_perf = atoi(value);
        else if (IS("log_return")) options.log_return = atoi(value);
        else if (IS("log_length")) options.log_length = atoi(value);
        else if (IS("seed")) options.seed = strtoull(value, NULL, 10);
        else if (IS("agents")) options.agents = atoi(value);
        else if (IS("seek")) options.seek = atoi(value);
        else if (IS("envs")) options.envs = atoi(value);
        else if (IS("steps")) options.steps = atoll(value);
        else if (IS("layout")) options.layout = atoi(value);
        else if (IS("only")) options.only = atoi(value);
        else if (IS("repeat")) options.repeat = atoi(value);
        else if (IS("random")) options.random = atoi(value);
        else if (IS("shift")) options.shift = atoi(value);
        else if (IS("dump_step")) options.dump_step = atoll(value);
        else if (IS("dump_env")) options.dump_env = atoi(value);
        else if (IS("private")) options.private = value;
        else if (IS("generators")) options.generators = value;
        else if (IS("fed")) options.fed = value;
        else if (IS("memory")) options.memory = strtoull(value, NULL, 10);
        else if (IS("reseed")) options.reseed = atoi(value);
        else if (IS("coverage")) options.coverage = atoi(value);
        else if (IS("stores")) options.stores = atoi(value);
        else if (IS("fences")) options.fences = atoi(value);
        else if (IS("uneven")) options.uneven = atoi(value);
        else if (IS("told")) options.told = atoi(value);
        else if (IS("twins")) options.twins = atoi(value);
        else if (IS("ahead")) options.ahead = atoi(value);
        else if (IS("hung")) options.hung = value;
        else if (IS("parent")) options.parent = atoi(value);
        else if (IS("hang")) options.hang = strtod(value, NULL);
        else if (IS("slower")) options.slower = strtod(value, NULL);
#undef IS
    }
}

// Libraries compiled with -finstrument-functions call this at the start of every function
void __cyg_profile_func_enter(void* function, void* from) {
    (void)from;
    for (int k = 0; beginnings && k < MAX_BEGINNINGS && beginnings[k]; k++) {
        begun[k] += function == beginnings[k];
    }
}

void __cyg_profile_func_exit(void* function, void* from) {
    (void)function;
    (void)from;
}

static void open_library(void) {
    void* library = dlopen(options.library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail(dlerror());
    }
    const PufferApi* (*get)(void) = (const PufferApi* (*)(void))dlsym(library, "puffer_api");
    const Layout* found = dlsym(library, "puffer_check_layout");
    Dl_info info;
    dump_coverage = (void (*)(void))dlsym(library, "puffer_check_dump");
    if (!get || !found || !dladdr(found, &info)) {
        fail("the library was not made for check");
    }
    beginnings = dlsym(library, "puffer_check_beginnings");
    set_seed = (void (*)(PufferVec*, int32_t, uint32_t))dlsym(library, "puffer_check_seed");
    if (!beginnings || !set_seed) {
        fail("the library was not made for check");
    }
    sites_open(library);
    api = get();
    layout = *found;
    fact(loaded, .base = (uint64_t)(uintptr_t)info.dli_fbase);
}

int main(int count, char** words) {
    parse(count, words);
    // The same addresses in every run: what an env does with a wild pointer repeats, too
    if (!options.random) {
        fix_addresses(words);
    }
    if (count < 2 || !options.facts || !options.library) {
        fprintf(stderr, "usage: harness EXPERIMENT library=PATH facts=PATH ...\n");
        return 2;
    }
    options.experiment = words[1];
    open_library();
    if (api->abi_version != PUFFER_ABI_VERSION || api->struct_size != (int)sizeof(PufferApi)) {
        fail("the environment was compiled against another puffer_abi.h");
    }
    guard_against_env();
    watch.phase = PUFFER_INIT;
    PufferError error = {0};
    if (api->describe(&options.env, &desc, &error) != 0) {
        refuse(&error);
    }
    watch.phase = PUFFER_IDLE;
    for (size_t i = 0; i < sizeof experiments / sizeof *experiments; i++) {
        if (strcmp(options.experiment, experiments[i].name) == 0) {
            experiments[i].run();
            sites_report();
            if (options.coverage && dump_coverage) {
                dump_coverage();
            }
            finish();
        }
    }
    fail("there is no such experiment");
}
