/* cartpole.c -- cartpole in a window: the trained policy plays, or you do.
 *
 *     hold LEFT SHIFT     you decide; let go, and the policy does
 *     left, right         push        (or A, D); with neither, it pushes in turns
 *
 *     puffer-sdk build --local    a program to debug: stops at the line of the first bad access
 *     puffer-sdk build --fast     an optimized program: build/cartpole-fast
 *     puffer-sdk build --web      a page to send to anybody: build/web/index.html
 *
 * All three play the policy of the newest run, and at random before there is one. After any of
 * them, or a plain `puffer-sdk build`, an installed raylib will do as well:
 *
 *     cc -O2 cartpole.c -o build/cartpole -lraylib -lm && build/cartpole
 */
#include "cartpole.h"
#include "build/cartpole_config.h"     // made from cartpole.ini

#include <time.h>

// Agent 0's action, from the keyboard. `puffer-sdk play` calls this as well.
// There is no action that does nothing; left and right in turns come close
static void c_keys(Cartpole* env) {
    int action = env->tick % 2 ? ACT_LEFT : ACT_RIGHT;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) action = ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) action = ACT_RIGHT;
    env->actions[0] = (float)action;
}

int main(int argc, char** argv) {
    Cartpole game = {0};
    Cartpole* env = &game;
    env->rng = (unsigned int)time(NULL);        // another game each time, unlike in training
    cartpole_configure(env);     // the settings of cartpole.ini
    init(env);
    cartpole_allocate(env);      // the arrays that a trainer would own
    PufferNet* policy = cartpole_policy(env, argc, argv);    // NULL: there is none yet

    SetTraceLogLevel(LOG_WARNING);      // raylib logs a lot otherwise
    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        cartpole_act(env, policy);
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            c_keys(env);        // yours instead of what was decided for agent 0
        }
        c_step(env);
        c_render(env);
    }

    puffernet_free(policy);
    c_close(env);
    CloseWindow();
    cartpole_free(env);
    return 0;
}
