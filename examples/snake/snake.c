/* snake.c -- snake in a window: watch a crowd, or be snake 0, the red one.
 *
 *     hold LEFT SHIFT     you decide; let go, and it does as the others do
 *     arrows or WASD      turn; with neither, it goes straight on
 *
 * Everybody else goes for the nearest food in view, and looks no farther ahead than a tile.
 *
 * Needs raylib (https://www.raylib.com). `puffer-sdk build` comes first: it writes
 * build/snake_config.h, the settings of snake.ini as C, so that none is stated twice.
 *
 *     puffer-sdk build
 *     cc -O2 snake.c -o build/snake -lraylib -lm && build/snake
 */
#include "snake.h"
#include "build/snake_config.h"

#include <stdlib.h>             // calloc, free, abs
#include <time.h>               // time: another game each time, unlike in training

static const int ROWS[ACT_COUNT] = {-1, 1, 0, 0}, COLUMNS[ACT_COUNT] = {0, 0, -1, 1};

static int key_action(int before) {
    if (IsKeyDown(KEY_UP)    || IsKeyDown(KEY_W)) return ACT_UP;
    if (IsKeyDown(KEY_DOWN)  || IsKeyDown(KEY_S)) return ACT_DOWN;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) return ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) return ACT_RIGHT;
    return before;
}

// The way that is not deadly and comes closest to food, given what a snake sees; `before`,
// its last action, where it sees none. A wrong turn now and then unties snakes that circle
static int greedy_action(const unsigned char* seen, int vision, int before) {
    int window = 2 * vision + 1, best = before, best_cost = 1 << 20;
    for (int action = 0; action < ACT_COUNT; action++) {
        int row = vision + ROWS[action], column = vision + COLUMNS[action];
        int cost = 2 * window + (action != before) + (GetRandomValue(0, 99) == 0) * window;
        if (vision < 1 || seen[row * window + column] < TILE_EMPTY) {
            continue;
        }
        for (int i = 0; i < window * window; i++) {
            int away = 2 * (abs(i / window - row) + abs(i % window - column));
            if (seen[i] > TILE_EMPTY && away < cost) {
                cost = away;
            }
        }
        if (cost < best_cost) {
            best = action;
            best_cost = cost;
        }
    }
    return best;
}

int main(void) {
    Snake game = {0};
    Snake* env = &game;         // by this name, because OBS_SIZE is said in terms of it
    env->rng = (unsigned int)time(NULL);
    snake_configure(env);
    init(env);

    // What a trainer would own: here it is ours to allocate, and to free
    size_t agents = (size_t)env->num_agents, size = (size_t)OBS_SIZE;
    env->observations = calloc(agents * size, sizeof *env->observations);
    env->actions = calloc(agents * NUM_ATNS, sizeof *env->actions);
    env->rewards = calloc(agents, sizeof *env->rewards);
    env->terminals = calloc(agents, sizeof *env->terminals);

    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        for (size_t a = 0; a < agents; a++) {
            int before = (int)env->actions[a];
            bool by_hand = a == 0 && IsKeyDown(KEY_LEFT_SHIFT);
            env->actions[a] = (float)(by_hand ? key_action(before) : greedy_action(
                                      env->observations + a * size, env->vision, before));
        }
        c_step(env);
        c_render(env);
    }

    c_close(env);
    CloseWindow();
    free(env->observations);
    free(env->actions);
    free(env->rewards);
    free(env->terminals);
    return 0;
}
