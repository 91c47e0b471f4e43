/* {{ cookiecutter.name }}.c -- {{ cookiecutter.name }} in a window: the trained policy plays, or you do.
 *
 *     hold LEFT SHIFT     you decide; let go, and the policy does
 *     arrows or WASD      steer the boat
 *
 *     puffer-sdk build --local    a program to debug: stops at the line of the first bad access
 *     puffer-sdk build --fast     an optimized program: build/{{ cookiecutter.name }}-fast
 *     puffer-sdk build --web      a page to send to anybody: build/web/index.html
 *
 * All three play the policy of the newest run, and at random before there is one. After any of
 * them, or a plain `puffer-sdk build`, an installed raylib will do as well:
 *
 *     cc -O2 {{ cookiecutter.name }}.c -o build/{{ cookiecutter.name }} -lraylib -lm && build/{{ cookiecutter.name }}
 */
#include "{{ cookiecutter.name }}.h"
#include "build/{{ cookiecutter.name }}_config.h"     // made from {{ cookiecutter.name }}.ini

#include <time.h>

// Agent 0's action, from the keyboard. `puffer-sdk play` calls this as well
static void c_keys({{ cookiecutter.__struct }}* env) {
    int action = ACT_STAY;
    if (IsKeyDown(KEY_DOWN)  || IsKeyDown(KEY_S)) action = ACT_DOWN;
    if (IsKeyDown(KEY_UP)    || IsKeyDown(KEY_W)) action = ACT_UP;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) action = ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) action = ACT_RIGHT;
    env->actions[0] = (float)action;
}

int main(int argc, char** argv) {
    {{ cookiecutter.__struct }} game = {0};
    {{ cookiecutter.__struct }}* env = &game;
    env->rng = (unsigned int)time(NULL);        // another game each time, unlike in training
    {{ cookiecutter.name }}_configure(env);     // the settings of {{ cookiecutter.name }}.ini
    init(env);
    {{ cookiecutter.name }}_allocate(env);      // the arrays that a trainer would own
    PufferNet* policy = {{ cookiecutter.name }}_policy(env, argc, argv);    // NULL: there is none yet

    SetTraceLogLevel(LOG_WARNING);      // raylib logs a lot otherwise
    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        {{ cookiecutter.name }}_act(env, policy);
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            c_keys(env);        // yours instead of what was decided for agent 0
        }
        c_step(env);
        c_render(env);
    }

    puffernet_free(policy);
    c_close(env);
    CloseWindow();
    {{ cookiecutter.name }}_free(env);
    return 0;
}
