/* pendulum.c -- pendulum in a window: it plays at random, or you play.
 *
 *     hold LEFT SHIFT     you decide; let go, and dice do
 *     left, right         all of the torque, counter-clockwise or clockwise   (or A, D)
 *
 * Needs raylib (https://www.raylib.com). `puffer-sdk build` comes first: it writes
 * build/pendulum_config.h, the settings of pendulum.ini as C, so that none is stated twice.
 *
 *     puffer-sdk build
 *     cc -O2 pendulum.c -o build/pendulum -lraylib -lm && build/pendulum
 */
#include "pendulum.h"
#include "build/pendulum_config.h"

#include <stdlib.h>             // calloc, free
#include <time.h>               // time: another game each time, unlike in training

static float key_action(void) {
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) return 1.0f;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) return -1.0f;
    return 0.0f;
}

int main(void) {
    Pendulum game = {0};
    Pendulum* env = &game;
    env->rng = (unsigned int)time(NULL);
    pendulum_configure(env);
    init(env);

    // What a trainer would own: here it is ours to allocate, and to free
    env->observations = calloc(OBS_SIZE, sizeof *env->observations);
    env->actions = calloc(NUM_ATNS, sizeof *env->actions);
    env->rewards = calloc(1, sizeof *env->rewards);
    env->terminals = calloc(1, sizeof *env->terminals);
    env->truncations = calloc(1, sizeof *env->truncations);

    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        bool by_hand = IsKeyDown(KEY_LEFT_SHIFT);
        env->actions[0] = by_hand ? key_action() : (float)GetRandomValue(-100, 100) / 100.0f;
        c_step(env);
        c_render(env);
    }

    c_close(env);
    CloseWindow();
    free(env->observations);
    free(env->actions);
    free(env->rewards);
    free(env->terminals);
    free(env->truncations);
    return 0;
}
