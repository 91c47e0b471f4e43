// A demo as Ocean has them: sizes and the weights' place written out. No window: it prints perf.
#include <stdio.h>
#include "drum.h"
#include "puffernet.h"

int main() {
    Weights* weights = load_weights("resources/drum/drum_weights.bin");
    int logit_sizes[1] = {4};
    PufferNet* net = make_puffernet(weights, 1, 2, 32, 1, logit_sizes, 1);

    uint8_t observations[2] = {0};
    float actions[1] = {0}, rewards[1] = {0}, terminals[1] = {0};
    Drum env = {.rng = 7, .num_agents = 1, .observations = observations, .actions = actions,
                .rewards = rewards, .terminals = terminals};
    init(&env);
    c_reset(&env);
    float observations_f[2];
    for (int frame = 0; frame < 4000; frame++) {
        for (int i = 0; i < 2; i++) observations_f[i] = observations[i];
        forward_puffernet(net, observations_f, env.actions);
        c_step(&env);
        c_render(&env);
    }
    printf("%f\n", env.log.perf / env.log.n);
    free_puffernet(net);
    free(weights);
    c_close(&env);
    return 0;
}
