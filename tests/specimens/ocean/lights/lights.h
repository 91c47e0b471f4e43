// Switch all lamps off. Idiom: the observations are the board, and there is no other copy.
#include <string.h>
#include "raylib.h"

#define SIDE 5

typedef struct Log Log;
struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
};

typedef struct Lights Lights;
struct Lights {
    Log log;
    char* observations;         // SIDE x SIDE lamps, read back on the next step
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick;
    float scramble;
};

static unsigned int draw(Lights* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return env->rng >> 8;
}

static int press(Lights* env, int cell) {
    const int row = cell / SIDE, col = cell % SIDE;
    const int near[5][2] = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    int lit = 0;
    for (int k = 0; k < 5; k++) {
        int r = row + near[k][0], c = col + near[k][1];
        if (r < 0 || c < 0 || r >= SIDE || c >= SIDE) continue;
        env->observations[r * SIDE + c] ^= 1;
    }
    for (int i = 0; i < SIDE * SIDE; i++) lit += env->observations[i];
    return lit;
}

void c_reset(Lights* env) {
    memset(env->observations, 0, SIDE * SIDE);
    env->tick = 0;
    for (int i = 0; i < (int)env->scramble; i++) press(env, (int)(draw(env) % (SIDE * SIDE)));
}

void c_step(Lights* env) {
    int lit = press(env, (int)env->actions[0]);
    env->tick++;
    env->rewards[0] = -0.01f;
    env->terminals[0] = 0;
    if (lit == 0 || env->tick == 60) {
        env->rewards[0] = lit == 0 ? 1.0f : -1.0f;
        env->terminals[0] = 1;
        env->log.perf += lit == 0;
        env->log.score += env->rewards[0];
        env->log.episode_return += env->rewards[0] - 0.01f * (env->tick - 1);
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
    }
}

void c_render(Lights* env) {
    if (!IsWindowReady()) InitWindow(64 * SIDE, 64 * SIDE, "lights");
    BeginDrawing();
    for (int i = 0; i < SIDE * SIDE; i++) {
        DrawRectangle(64 * (i % SIDE), 64 * (i / SIDE), 62, 62,
                      env->observations[i] ? YELLOW : BLACK);
    }
    EndDrawing();
}

void c_close(Lights* env) {
    if (IsWindowReady()) CloseWindow();
}
