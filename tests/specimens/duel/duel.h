// duel.h -- two fighters on a ring of places shoot at where the other will be. Idiom: two teams,
// and a scripted player that stands still and shoots at level 1 where the other is.
#include <stdlib.h>
#include <string.h>
#include "raylib.h"
// puffer: teams 2 x 1

#define OBS_SIZE 6
#define ACT_SIZES {3, 8}

typedef struct {
    float perf;
    float episode_length;
    float n;
} Log;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int at[2];
    int lives[2];
    int tick;
} Duel;

static void look(Duel* env) {
    for (int i = 0; i < 2; i++) {
        float* o = env->observations + i * OBS_SIZE;
        o[0] = env->at[i] / 8.0f;
        o[1] = env->at[1 - i] / 8.0f;
        o[2] = ((env->at[1 - i] - env->at[i] + 8) % 8) / 8.0f;
        o[3] = env->lives[i] / 3.0f;
        o[4] = env->lives[1 - i] / 3.0f;
        o[5] = env->tick / 60.0f;
    }
}

void init(Duel* env) { env->num_agents = 2; }

void c_reset(Duel* env) {
    env->tick = 0;
    for (int i = 0; i < 2; i++) {
        env->at[i] = rand_r(&env->rng) % 8;
        env->lives[i] = 3;
    }
    look(env);
}

void c_bot(Duel* env, int agent, int level) {
    env->actions[2 * agent] = 1;
    int aim = level ? (env->at[1 - agent] - env->at[agent] + 8) % 8 : 0;
    env->actions[2 * agent + 1] = (float)aim;
}

void c_step(Duel* env) {
    int hit[2] = {0, 0};
    for (int i = 0; i < 2; i++) env->at[i] = (env->at[i] + (int)env->actions[2 * i] - 1 + 8) % 8;
    for (int i = 0; i < 2; i++)
        hit[i] = (env->at[i] + (int)env->actions[2 * i + 1]) % 8 == env->at[1 - i];
    env->tick++;
    for (int i = 0; i < 2; i++) {
        env->lives[1 - i] -= hit[i];
        env->rewards[i] = (float)(hit[i] - hit[1 - i]);
        env->terminals[i] = 0;
    }
    if (env->lives[0] <= 0 || env->lives[1] <= 0 || env->tick >= 60) {
        env->terminals[0] = env->terminals[1] = 1;
        env->log.perf += env->lives[0] > env->lives[1];
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
        return;
    }
    look(env);
}

void c_render(Duel* env) {
    if (!IsWindowReady()) InitWindow(320, 80, "duel");
    BeginDrawing();
    ClearBackground((Color){16, 24, 32, 255});
    for (int i = 0; i < 2; i++)
        DrawCircle(20 + 40 * env->at[i], 24 + 32 * i, 6.0f + 3 * env->lives[i], i ? RED : GREEN);
    EndDrawing();
}
void c_close(Duel* env) { (void)env; if (IsWindowReady()) CloseWindow(); }
