/* {{ cookiecutter.name }}.c -- {{ cookiecutter.name }} in a window: it plays at random, or you steer one agent.
 *
 *     hold LEFT SHIFT     you steer the red agent; let go, and dice do
 *     left, right         turn        (or A, D)
 *     up, down            accelerate  (or W, S)
 *
 * Needs raylib (https://www.raylib.com). `puffer-sdk build` comes first: it writes
 * build/{{ cookiecutter.name }}_config.h, the settings of {{ cookiecutter.name }}.ini as C, so that none is stated twice.
 *
 *     puffer-sdk build
 *     cc -O2 {{ cookiecutter.name }}.c -o build/{{ cookiecutter.name }} -lraylib -lm && build/{{ cookiecutter.name }}
 */
#include "{{ cookiecutter.name }}.h"
#include "build/{{ cookiecutter.name }}_config.h"

#include <stdlib.h>             // calloc, free
#include <time.h>               // time: another game each time, unlike in training

// The middle action of a head keeps things as they are; one beside it is a gentle nudge
static void key_actions(float* actions) {
    int left  = IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A);
    int right = IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D);
    int up    = IsKeyDown(KEY_UP)    || IsKeyDown(KEY_W);
    int down  = IsKeyDown(KEY_DOWN)  || IsKeyDown(KEY_S);
    actions[HEAD_TURN] = (float)(TURNS / 2 + right - left);
    actions[HEAD_THRUST] = (float)(THRUSTS / 2 + up - down);
}

int main(void) {
    {{ cookiecutter.__struct }} game = {0};
    {{ cookiecutter.__struct }}* env = &game;          // by this name, because OBS_SIZE is said in terms of it
    env->rng = (unsigned int)time(NULL);
    {{ cookiecutter.name }}_configure(env);
    init(env);

    // What a trainer would own: here it is ours to allocate, and to free
    size_t agents = (size_t)env->num_agents;
    env->observations = calloc(agents * (size_t)OBS_SIZE, sizeof *env->observations);
    env->actions = calloc(agents * NUM_ATNS, sizeof *env->actions);
    env->rewards = calloc(agents, sizeof *env->rewards);
    env->terminals = calloc(agents, sizeof *env->terminals);

    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        for (int a = 0; a < env->num_agents; a++) {
            float* actions = &env->actions[a * HEAD_COUNT];
            actions[HEAD_TURN] = (float)GetRandomValue(0, TURNS - 1);
            actions[HEAD_THRUST] = (float)GetRandomValue(0, THRUSTS - 1);
        }
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            key_actions(env->actions);
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
