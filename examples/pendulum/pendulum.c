/* pendulum.c -- pendulum in a window: the trained policy plays, or you do.
 *
 *     hold LEFT SHIFT     you decide; let go, and the policy does
 *     left, right         all of the torque, counter-clockwise or clockwise   (or A, D)
 *
 *     puffer-sdk build --local    a program to debug: stops at the line of the first bad access
 *     puffer-sdk build --fast     an optimized program: build/pendulum-fast
 *     puffer-sdk build --web      a page to send to anybody: build/web/index.html
 *
 * All three play the policy of the newest run, and at random before there is one. After any of
 * them, or a plain `puffer-sdk build`, an installed raylib will do as well:
 *
 *     cc -O2 pendulum.c -o build/pendulum -lraylib -lm && build/pendulum
 */
#include "pendulum.h"
#include "build/pendulum_config.h"     // made from pendulum.ini

#include <time.h>

// Agent 0's action, from the keyboard. `puffer-sdk play` calls this as well
static void c_keys(Pendulum* env) {
    float torque = 0.0f;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) torque = 1.0f;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) torque = -1.0f;
    env->actions[0] = torque;
}

int main(int argc, char** argv) {
    Pendulum game = {0};
    Pendulum* env = &game;
    env->rng = (unsigned int)time(NULL);        // another game each time, unlike in training
    pendulum_configure(env);     // the settings of pendulum.ini
    init(env);
    pendulum_allocate(env);      // the arrays that a trainer would own
    PufferNet* policy = pendulum_policy(env, argc, argv);    // NULL: there is none yet

    SetTraceLogLevel(LOG_WARNING);      // raylib logs a lot otherwise
    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        pendulum_act(env, policy);
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            c_keys(env);        // yours instead of what was decided for agent 0
        }
        c_step(env);
        c_render(env);
    }

    puffernet_free(policy);
    c_close(env);
    CloseWindow();
    pendulum_free(env);
    return 0;
}
