// Sticks in a window: 1, 2 and 3 take so many.
#include "sticks.h"
#include "build/sticks_config.h"

#include <time.h>

static void c_keys(Sticks* env) {
    env->actions[0] = -1;           // no key yet
    for (int take = ACT_ONE; take <= ACT_THREE; take++)
        if (IsKeyDown(KEY_ZERO + take)) env->actions[0] = (float)take;
}

int main(int argc, char** argv) {
    Sticks game = {0};
    Sticks* env = &game;
    env->rng = (unsigned int)time(NULL);
    sticks_configure(env);
    init(env);
    sticks_allocate(env);
    PufferNet* policy = sticks_policy(env, argc, argv);
    c_reset(env);
    c_render(env);
    while (!WindowShouldClose()) {
        sticks_act(env, policy);
        if (IsKeyDown(KEY_LEFT_SHIFT)) c_keys(env);
        if (env->actions[0] >= 0) c_step(env);
        c_render(env);
    }
    puffernet_free(policy);
    sticks_free(env);
    return 0;
}
