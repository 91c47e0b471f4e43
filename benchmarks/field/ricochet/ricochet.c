// Ricochet in a window. Hold SHIFT to play with the arrows (or A and D); let go, and it plays at random.
//
//     cc -O2 ricochet.c -o ricochet -lraylib -lm && ./ricochet
#include <time.h>
#include "ricochet.h"

int main() {
    Ricochet env = {
        .frameskip = 1,             // puffer: allow(PUF107) one sees and steers every frame
        .width = 200,
        .height = 200,
        .lives = 3,
        .max_frames = 12000,
        .paddle_width = 40,
        .paddle_speed = 3,
        .ball_speed = 2.5,
        .speedup = 0.15,
        .top_speed = 6,
    };
    env.rng = (unsigned int)time(NULL);
    unsigned int dice = env.rng + 1;
    allocate(&env);

    c_reset(&env);
    c_render(&env);
    while (!WindowShouldClose()) {
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            env.actions[0] = NOOP;
            if (IsKeyDown(KEY_LEFT) || IsKeyDown(KEY_A)) env.actions[0] = LEFT;
            if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) env.actions[0] = RIGHT;
        } else if (env.frame % 8 == 0) {
            env.actions[0] = rand_r(&dice) % 3;
        }
        c_step(&env);
        c_render(&env);
    }
    free_allocated(&env);
    return 0;
}
