// Two players take one to three sticks from a heap in turn; who takes the last one wins. Whoever
// waits has one legal action, to pass; an illegal action is counted in log.illegal.
#pragma once
#include <string.h>

#include "raylib.h"

enum { OBS_HEAP, OBS_TURN, OBS_COUNT };     // [0, 1]; 1 for the player whose turn it is
#define OBS_SIZE OBS_COUNT

enum { ACT_PASS, ACT_ONE, ACT_TWO, ACT_THREE, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

#define SEATS 2
#define MOST  15

typedef struct Log {
    float perf;                     // games that the first seat won
    float score;
    float illegal;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Sticks {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;
    int num_agents;
    unsigned int rng;
    int heap, turn, tick;
} Sticks;

static void observe(Sticks* env) {
    for (int seat = 0; seat < SEATS; seat++) {
        env->observations[seat * OBS_SIZE + OBS_HEAP] = (float)env->heap / MOST;
        env->observations[seat * OBS_SIZE + OBS_TURN] = seat == env->turn;
        unsigned char* mask = env->action_mask + seat * ACT_COUNT;
        mask[ACT_PASS] = seat != env->turn;
        for (int take = ACT_ONE; take <= ACT_THREE; take++)
            mask[take] = seat == env->turn && take <= env->heap;
    }
}

void init(Sticks* env) { env->num_agents = SEATS; }

void c_reset(Sticks* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    env->heap = 8 + (int)(env->rng >> 8) % (MOST - 7);
    env->turn = 0;
    env->tick = 0;
    observe(env);
}

static void end(Sticks* env, int winner) {
    for (int seat = 0; seat < SEATS; seat++) {
        env->rewards[seat] = seat == winner ? 1.0f : -1.0f;
        env->terminals[seat] = 1;
    }
    env->log.perf += winner == 0;
    env->log.score += env->rewards[0];
    env->log.episode_return += env->rewards[0];
    env->log.episode_length += (float)env->tick;
    env->log.n += 1;
    c_reset(env);
}

void c_step(Sticks* env) {
    memset(env->rewards, 0, SEATS * sizeof(float));
    memset(env->terminals, 0, SEATS * sizeof(float));
    env->tick++;
    for (int seat = 0; seat < SEATS; seat++)
        env->log.illegal += !env->action_mask[seat * ACT_COUNT + (int)env->actions[seat]];
    env->heap -= (int)env->actions[env->turn];
    if (env->heap <= 0) {
        end(env, env->turn);
        return;
    }
    env->turn = 1 - env->turn;
    observe(env);
}

void c_render(Sticks* env) {
    if (!IsWindowReady()) {
        InitWindow(40 * MOST, 120, "sticks");
        SetTargetFPS(20);
    }
    BeginDrawing();
    ClearBackground(env->turn ? DARKBLUE : DARKGREEN);
    for (int i = 0; i < env->heap; i++) DrawRectangle(40 * i + 15, 20, 10, 80, (Color){255, 190, 60, 255});
    EndDrawing();
}

void c_close(Sticks* env) { (void)env; }
