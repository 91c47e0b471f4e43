#include <time.h>
#include "museum.h"
#include "puffernet.h"

int main() {
    srand(time(NULL));
    Museum env = {.max_steps = 80};
    museum_open(&env);
    env.observations = calloc(GUARDS * ROOMS, 1);
    env.actions = calloc(GUARDS * 2, sizeof(float));
    env.rewards = calloc(GUARDS, sizeof(float));
    env.terminals = calloc(GUARDS, sizeof(float));
    c_reset(&env);
    c_render(&env);
    while (!WindowShouldClose()) {
        for (int i = 0; i < GUARDS; i++) env.actions[2 * i] = rand() % 5;
        c_step(&env);
        c_render(&env);
    }
    c_close(&env);
    free(env.observations);
}
