/* snake.c -- snake in a window: watch a crowd, or be snake 0, the red one.
 *
 *     hold LEFT SHIFT     you are the red snake; let go, and the policy is
 *     arrows or WASD      turn; with neither, it goes straight on
 *
 *     puffer-sdk build --local    a program to debug: stops at the line of the first bad access
 *     puffer-sdk build --fast     an optimized program: build/snake-fast
 *     puffer-sdk build --web      a page to send to anybody: build/web/index.html
 *
 * All three play the policy of the newest run, and at random before there is one. After any of
 * them, or a plain `puffer-sdk build`, an installed raylib will do as well:
 *
 *     cc -O2 snake.c -o build/snake -lraylib -lm && build/snake
 */
#include "snake.h"
#include "build/snake_config.h"     // made from snake.ini

#include <time.h>

// Snake 0's action, from the keyboard. `puffer-sdk play` calls this as well
static void c_keys(Snake* env) {
    static int way = ACT_UP;    // snakes do not stop: what was pressed last still holds
    if (IsKeyDown(KEY_UP)    || IsKeyDown(KEY_W)) way = ACT_UP;
    if (IsKeyDown(KEY_DOWN)  || IsKeyDown(KEY_S)) way = ACT_DOWN;
    if (IsKeyDown(KEY_LEFT)  || IsKeyDown(KEY_A)) way = ACT_LEFT;
    if (IsKeyDown(KEY_RIGHT) || IsKeyDown(KEY_D)) way = ACT_RIGHT;
    env->actions[0] = (float)way;
}

int main(int argc, char** argv) {
    Snake game = {0};
    Snake* env = &game;
    env->rng = (unsigned int)time(NULL);        // another game each time, unlike in training
    snake_configure(env);     // the settings of snake.ini
    init(env);
    snake_allocate(env);      // the arrays that a trainer would own
    PufferNet* policy = snake_policy(env, argc, argv);    // NULL: there is none yet

    SetTraceLogLevel(LOG_WARNING);      // raylib logs a lot otherwise
    c_reset(env);
    c_render(env);              // opens the window, without which there are no keys
    while (!WindowShouldClose()) {
        snake_act(env, policy);
        if (IsKeyDown(KEY_LEFT_SHIFT)) {
            c_keys(env);        // yours instead of what was decided for agent 0
        }
        c_step(env);
        c_render(env);
    }

    puffernet_free(policy);
    c_close(env);
    CloseWindow();
    snake_free(env);
    return 0;
}
