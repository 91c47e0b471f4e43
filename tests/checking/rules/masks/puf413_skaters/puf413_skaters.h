// expect: PUF413
// Two skaters on a narrow lane look for a glove. A mask forbids leaving the lane, and the place
// where the other one stands. Now and then a gust blows both to the other half. Fault: the masks
// are written before it.
#pragma once

enum { OBS_MINE, OBS_OTHER, OBS_GLOVE, OBS_COUNT };     // [0, 1] of the lane
#define OBS_SIZE OBS_COUNT

enum { ACT_LEFT, ACT_STAY, ACT_RIGHT, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

#define LANE 8

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Skaters {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;     // out [2, ACT_COUNT]  1 where the action is legal
    int num_agents;
    unsigned int rng;
    int at[2], glove, tick;
    float sum[2];
} Skaters;

static int below(unsigned int* rng, int n) {
    *rng = *rng * 1664525u + 1013904223u;
    return (int)(*rng >> 8) % n;
}

void init(Skaters* env) { env->num_agents = 2; }

static int is_free(Skaters* env, int place) {
    return place >= 0 && place < LANE && place != env->at[0] && place != env->at[1];
}

static void allow(Skaters* env) {
    for (int i = 0; i < 2; i++) {
        unsigned char* mask = env->action_mask + i * ACT_COUNT;
        mask[ACT_LEFT] = is_free(env, env->at[i] - 1);
        mask[ACT_STAY] = 1;
        mask[ACT_RIGHT] = is_free(env, env->at[i] + 1);
    }
}

static void blow(Skaters* env) {
    for (int i = 0; i < 2; i++) env->at[i] = (env->at[i] + LANE / 2) % LANE;
}

static void observe(Skaters* env) {
    for (int i = 0; i < 2; i++) {
        float* row = env->observations + i * OBS_SIZE;
        row[OBS_MINE] = (float)env->at[i] / (LANE - 1);
        row[OBS_OTHER] = (float)env->at[1 - i] / (LANE - 1);
        row[OBS_GLOVE] = (float)env->glove / (LANE - 1);
    }
}

void c_reset(Skaters* env) {
    env->tick = 0;
    env->glove = below(&env->rng, LANE);
    env->at[0] = below(&env->rng, LANE);
    env->at[1] = (env->at[0] + 1 + below(&env->rng, LANE - 1)) % LANE;
    env->sum[0] = env->sum[1] = 0;
    allow(env);
    observe(env);
}

void c_step(Skaters* env) {
    env->tick++;
    int over = env->tick >= 24 + below(&env->rng, 8);
    for (int i = 0; i < 2; i++) {
        int way = (int)env->actions[i] - ACT_STAY, allowed = is_free(env, env->at[i] + way);
        if (allowed) env->at[i] += way;
        env->rewards[i] = way != 0 && !allowed ? -0.1f : 0;
        if (env->at[i] == env->glove) {
            env->rewards[i] += 0.2f;
            env->glove = below(&env->rng, LANE);
        }
        env->sum[i] += env->rewards[i];
        env->terminals[i] = (float)over;
    }
    if (over) {
        for (int i = 0; i < 2; i++) {
            env->log.perf += env->sum[i] > 0 ? (env->sum[i] < 4 ? env->sum[i] / 4 : 1) : 0;
            env->log.score += env->sum[i];
            env->log.episode_return += env->sum[i];
            env->log.episode_length += (float)env->tick;
            env->log.n += 1;
        }
        c_reset(env);
        return;
    }
    allow(env);
    if (below(&env->rng, 4) == 0) blow(env);
    observe(env);
}

void c_render(Skaters* env) { (void)env; }

void c_close(Skaters* env) { (void)env; }
