// A truck that steers at random. Settings come from the ini; only an option of the command line
// makes the road steeper.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "quarry.h"
#include "build/quarry_config.h"

static float obs[OBS_SIZE], acts[HEADS], reward, terminal;

int main(int argc, char** argv) {
    const float usual = 8.0f / 10;
    Quarry env = {.observations = obs, .actions = acts, .rewards = &reward,
                  .terminals = &terminal, .steepness = 3, .debug = true};
    srand((unsigned int)time(NULL));
    quarry_configure(&env);
    env.rng = (unsigned int)rand();
    env.steepness = usual;
    if (argc > 1) env.steepness = 2.0f;
    if (argc > 2) env.steepness = (float)atof(argv[2]);
    init(&env);
    c_reset(&env);
    for (int i = 0; i < 1000; i++) {
        acts[0] = (float)(rand() % GEARS);
        acts[1] = (float)(rand() % LANES);
        c_step(&env);
        c_render(&env);
    }
    c_close(&env);
    return 0;
}
