/* drips.c -- drips in a window: the trained policy plays, or you do.
 *
 *     hold LEFT SHIFT     you decide; let go, and the policy does
 *     left, right         carry the bucket
 */
#include "drips.h"
#include "build/drips_config.h"     // made from drips.ini, so that nothing is said twice

#include <time.h>

// The action, from the keyboard. `puffer-sdk play` calls this as well
static void c_keys(Drips* env) {
    int action = ACT_STAY;
    if (IsKeyDown(KEY_LEFT)) action = ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT)) action = ACT_RIGHT;
    env->actions[0] = (float)action;
}

int main(int argc, char** argv) {
    Drips game = {0};
    Drips* env = &game;
    env->rng = (unsigned int)time(NULL);        // another storm each time, unlike in training
    drips_configure(env);                       // the settings of drips.ini
    drips_allocate(env);                        // the arrays that a trainer would own
    PufferNet* policy = drips_policy(env, argc, argv);      // NULL: there is none yet

    SetTraceLogLevel(LOG_WARNING);
    c_reset(env);
    c_render(env);                              // opens the window
    while (!WindowShouldClose()) {
        drips_act(env, policy);
        if (IsKeyDown(KEY_LEFT_SHIFT)) c_keys(env);
        c_step(env);
        c_render(env);
    }

    puffernet_free(policy);
    c_close(env);
    CloseWindow();
    drips_free(env);
    return 0;
}
