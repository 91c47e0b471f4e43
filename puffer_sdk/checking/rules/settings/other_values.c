/* other_values.c -- a short play under other values of [env]: does it stay inside its rows, and is
 * anything different? Rows lie between guards; the log counts as something that may differ.
 */
#include "harness.h"
#include <stdlib.h>
#include <unistd.h>

// Where envs hold large tables, in a fork: what a my_vec_init makes there, nobody frees
static int agents_per_env(PufferError* error) {
    typedef struct Asked {
        int agents;
        PufferError error;
    } Asked;
    Asked* asked = options.twins ? shared(sizeof *asked) : NULL;
    bool good = false;
    if (asked && in_fork(&good)) {
        watch.phase = PUFFER_INIT;
        asked->agents = api->agents_per_env(&options.env, &watch, &asked->error);
        _exit(0);
    }
    if (good) {
        *error = asked->error;
        return asked->agents;
    }
    watch.phase = PUFFER_INIT;
    int agents = api->agents_per_env(&options.env, &watch, error);
    watch.phase = PUFFER_IDLE;
    return agents;
}

void experiment_setting(void) {
    PufferError error = {0};
    int agents = agents_per_env(&error);
    if (agents < 1) {
        refuse(&error);    // the env refuses: that is as it should be
    }
    options.agents = agents > 1 ? agents : options.agents;
    Batch b = batch_open(GUARD_HIGH);
    options.traced = b.envs;
    uint64_t* hashes = calloc((size_t)(options.steps + 1) * (size_t)b.envs, 8);
    for (int64_t t = 0; t <= options.steps; t++) {
        watch.step = t;
        if (t == 0) {
            batch_reset(&b, -1);
        } else {
            batch_act(&b, -1, t);
            batch_step(&b, -1, 0);
        }
        for (int e = 0; e < b.envs; e++) {
            hashes[t * b.envs + e] = hash_bytes(hash_env(&b, e), env_struct(&b, e) + layout.log,
                                                layout.log_size);
        }
    }
    batch_close(&b);
    write_hashes(hashes);
}
