/* pong.c -- pong in a window: it plays at random, or you play.
 *
 *     hold LEFT SHIFT     you decide; let go, and dice do
 *     up, down            move the paddle     (or W, S)
 *
 * Needs raylib (https://www.raylib.com). `puffer-sdk build` comes first: it writes
 * build/pong_config.h, the settings of pong.ini as C, so that none is stated twice.
 *
 *     puffer-sdk build
 *     cc -O2 pong.c -o build/pong -lraylib -lm && build/pong
 */
#include "pong.h"
#include "build/pong_config.h"

#include <stdlib.h>             // calloc, free
#include <time.h>               // time: another game each time, unlike in training

static int key_action(void) {
    if (IsKeyDown(KEY_UP)   || IsKeyDown(KEY_W)) return ACT_UP;
    if (IsKeyDown(KEY_DOWN) || IsKeyDown(KEY_S)) return ACT_DOWN;
    return ACT_STAY;
}

int main(void) {
    Pong game = {0};
    Pong* env = &game;          // by this name, because OBS_SIZE is said in terms of it
    env->rng = (unsigned int)time(NULL);
    pong_configure(env);
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
