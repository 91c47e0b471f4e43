/* breakout.c -- breakout in a window: it plays at random, or you play.
 *
 *     hold LEFT SHIFT     you decide; let go, and dice do
 *     left, right         move the paddle     (or A, D)
 *
 * Needs raylib (https://www.raylib.com). `puffer-sdk build` comes first: it writes
 * build/breakout_config.h, the settings of breakout.ini as C, so that none is stated twice.
 *
 *     puffer-sdk build
 *     cc -O2 breakout.c -o build/breakout -lraylib -lm && build/breakout
 */
#include "breakout.h"
#include "build/breakout_config.h"

#include <stdlib.h>             // calloc, free
#include <time.h>               // time: another game each time, unlike in training

static int key_action(void) {
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) return ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) return ACT_RIGHT;
    return ACT_STAY;
}

int main(void) {
    Breakout game = {0};
    Breakout* env = &game;      // by this name, because OBS_SIZE is said in terms of it
    env->rng = (unsigned int)time(NULL);
    breakout_configure(env);
    init(env);

    // What a trainer would own: here it is ours to allocate, and to free
    size_t agents = (size_t)env->num_agents;
    env->observations = calloc(agents * (size_t)OBS_SIZE, sizeof *env->observations);
    env->actions = calloc(agents * NUM_ATNS, sizeof *env->actions);
    env->rewards = calloc(agents, sizeof *env->rewards);
    env->terminals = calloc(agents, sizeof *env->terminals);
    env->truncations = calloc(agents, sizeof *env->truncations);

    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        bool by_hand = IsKeyDown(KEY_LEFT_SHIFT);
        env->actions[0] = (float)(by_hand ? key_action() : GetRandomValue(0, ACT_COUNT - 1));
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
