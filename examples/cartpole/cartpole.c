/* cartpole.c -- cartpole in a window: it plays at random, or you play.
 *
 *     hold LEFT SHIFT     you decide; let go, and dice do
 *     left, right         push        (or A, D); with neither, it pushes in turns
 *
 * Needs raylib (https://www.raylib.com). `puffer-sdk build` comes first: it writes
 * build/cartpole_config.h, the settings of cartpole.ini as C, so that none is stated twice.
 *
 *     puffer-sdk build
 *     cc -O2 cartpole.c -o build/cartpole -lraylib -lm && build/cartpole
 */
#include "cartpole.h"
#include "build/cartpole_config.h"

#include <stdlib.h>             // calloc, free
#include <time.h>               // time: another game each time, unlike in training

// There is no action that does nothing; left and right in turns come close
static int key_action(int tick) {
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) return ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) return ACT_RIGHT;
    return tick % 2 ? ACT_LEFT : ACT_RIGHT;
}

int main(void) {
    Cartpole game = {0};
    Cartpole* env = &game;
    env->rng = (unsigned int)time(NULL);
    cartpole_configure(env);
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
        env->actions[0] = (float)(by_hand ? key_action(env->tick)
                                          : GetRandomValue(0, ACT_COUNT - 1));
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
