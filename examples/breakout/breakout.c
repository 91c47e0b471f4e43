/* breakout.c -- breakout in a window: the trained policy plays, or you do.
 *
 *     hold LEFT SHIFT     you decide; let go, and the policy does
 *     left, right         move the paddle     (or A, D)
 *
 *     puffer-sdk build --local    a program to debug: stops at the line of the first bad access
 *     puffer-sdk build --fast     an optimized program: build/breakout-fast
 *     puffer-sdk build --web      a page to send to anybody: build/web/index.html
 *
 * All three play the policy of the newest run, and at random before there is one. After any of
 * them, or a plain `puffer-sdk build`, an installed raylib will do as well:
 *
 *     cc -O2 breakout.c -o build/breakout -lraylib -lm && build/breakout
 */
#include "breakout.h"
#include "build/breakout_config.h"     // made from breakout.ini

#include <time.h>

// Agent 0's action, from the keyboard. `puffer-sdk play` calls this as well
static void c_keys(Breakout* env) {
    int action = ACT_STAY;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) action = ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) action = ACT_RIGHT;
    env->actions[0] = (float)action;
}

int main(int argc, char** argv) {
    Breakout game = {0};
    Breakout* env = &game;
    env->rng = (unsigned int)time(NULL);        // another game each time, unlike in training
    breakout_configure(env);     // the settings of breakout.ini
    // A tick is so many frames. Here each is drawn, and the policy decides as often as it learned to
    const int frames = env->frameskip;
    env->frameskip = 1;         // puffer: allow(PUF107) the frames are drawn one by one
    init(env);
    breakout_allocate(env);      // the arrays that a trainer would own
    PufferNet* policy = breakout_policy(env, argc, argv);    // NULL: there is none yet

    SetTraceLogLevel(LOG_WARNING);      // raylib logs a lot otherwise
    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    for (int frame = 0; !WindowShouldClose(); frame++) {
        if (frame % frames == 0 || env->terminals[0] != 0.0f) {
            breakout_act(env, policy);
        }
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            c_keys(env);        // yours instead of what was decided for agent 0
        }
        c_step(env);
        c_render(env);
    }

    puffernet_free(policy);
    c_close(env);
    CloseWindow();
    breakout_free(env);
    return 0;
}
