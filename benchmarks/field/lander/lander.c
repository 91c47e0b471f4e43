// Watch it fall: cc lander.c -o lander -lraylib -lm
#include "lander.h"
#include <stdlib.h>

int main(void) {
    Lander env = {.rng = 7, .num_agents = 1, .max_ticks = 150, .fuel_use = 0.5f, .wind_max = 0.2f};
    init(&env);
    env.observations = calloc(OBS_SIZE, sizeof(float));
    env.actions = calloc(2, sizeof(float));
    env.rewards = calloc(1, sizeof(float));
    env.terminals = calloc(1, sizeof(float));
    env.truncations = calloc(1, sizeof(float));
    c_reset(&env);
    c_render(&env);
    while (!WindowShouldClose()) {
        env.actions[0] = IsKeyDown(KEY_UP) ? 1.0f : -1.0f;
        env.actions[1] = (float)(IsKeyDown(KEY_LEFT) - IsKeyDown(KEY_RIGHT));
        c_step(&env);
        c_render(&env);
    }
    c_close(&env);
    CloseWindow();
    free(env.observations);
    free(env.actions);
    free(env.rewards);
    free(env.terminals);
    free(env.truncations);
    return 0;
}
