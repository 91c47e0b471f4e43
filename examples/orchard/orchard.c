/* orchard.c -- orchard in a window: the trained policy plays, or you do.
 *
 *     hold LEFT SHIFT     you decide; let go, and the policy does
 *     left, right         move the basket     (or A, D)
 *
 *     puffer-sdk build --local    a program to debug: stops at the line of the first bad access
 *     puffer-sdk build --fast     an optimized program: build/orchard-fast
 *     puffer-sdk build --web      a page to send to anybody: build/web/index.html
 *
 * All three play the policy of the newest run, and at random before there is one. After any of
 * them, or a plain `puffer-sdk build`, an installed raylib will do as well:
 *
 *     cc -O2 orchard.c -o build/orchard -lraylib -lm && build/orchard
 */
#include "orchard.h"
#include "build/orchard_config.h"     // made from orchard.ini

#include <time.h>

// The agent's action, from the keyboard. `puffer-sdk play` calls this as well
static void c_keys(Orchard* env) {
    int action = ACT_STAY;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) action = ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) action = ACT_RIGHT;
    env->actions[0] = (float)action;
}

int main(int argc, char** argv) {
    Orchard game = {0};
    Orchard* env = &game;
    env->rng = (unsigned int)time(NULL);        // another game each time, unlike in training
    orchard_configure(env);     // the settings of orchard.ini
    orchard_allocate(env);      // the arrays that a trainer would own
    PufferNet* policy = orchard_policy(env, argc, argv);    // NULL: there is none yet

    SetTraceLogLevel(LOG_WARNING);      // raylib logs a lot otherwise
    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        orchard_act(env, policy);
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            c_keys(env);        // yours instead of what was decided for agent 0
        }
        c_step(env);
        c_render(env);
    }

    puffernet_free(policy);
    c_close(env);
    CloseWindow();
    orchard_free(env);
    return 0;
}
