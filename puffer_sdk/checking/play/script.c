/* script.c -- the actions that an experiment gave: batch_act, written down.
 *
 * proof.py begins with these. A mask, and who is there to act, depend on the state of the game,
 * so the run is played again; else the actions depend only on the seed, the env, the agent and the
 * step.
 */
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>

// To options.dump: (steps, agents x K) float32 of env dump_env, or of all envs (-1)
void experiment_script(void) {
    Batch b = batch_open(PACKED);
    FILE* file = fopen(options.dump, "wb");
    if (!file) {
        fail("cannot write the script");
    }
    bool plays = desc.mask_size > 0 || desc.has_alive;
    if (plays) {
        batch_reset(&b, -1);
    }
    for (int64_t t = 1; t <= options.steps; t++) {
        watch.step = t;
        batch_act(&b, -1, t);
        for (int e = 0; e < b.envs; e++) {
            if (options.dump_env < 0 || options.dump_env == e) {
                fwrite(b.rows[e].actions, row_bytes(ACTIONS), (size_t)b.count[e], file);
            }
        }
        if (plays) {
            fflush(file);    // the env may not survive the step
            batch_step(&b, -1, 0);
        }
    }
    fclose(file);
    int env = options.dump_env < 0 ? 0 : options.dump_env;
    fact(script, .agents = b.count[env], .all = b.agents);
    if (!plays) {
        finish();    // never reset: nothing to close
    }
    batch_close(&b);
}
