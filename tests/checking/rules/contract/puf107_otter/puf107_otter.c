// Watch an otter that acts at random.
#include <stdio.h>
#include <stdlib.h>
#include "puf107_otter.h"

#define POND (4 + 5)

int main(void) {
    Otter env = {.depth = POND, .lungs = 14.5f, .num_agents = 1, .rng = 7};
    env.observations = calloc(OBS_SIZE, sizeof(float));
    env.actions = calloc(1, sizeof(float));
    env.rewards = calloc(1, sizeof(float));
    env.terminals = calloc(1, sizeof(float));
    c_reset(&env);
    for (int i = 0; i < 1000; i++) {
        env.actions[0] = (float)(rand() % ACTS);
        c_step(&env);
        printf("%d m, %.1f s of air\n", env.at, env.air);
    }
    c_close(&env);
    free(env.observations);
    free(env.actions);
    free(env.rewards);
    free(env.terminals);
    return 0;
}
