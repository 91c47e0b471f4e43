// expect: PUF413
// A ladder with a bell on one rung: climb to it and ring it. A mask forbids stepping off the ends,
// and ringing where there is no bell. Fault: the bytes of up and down are exchanged.
#pragma once

enum { OBS_RUNG, OBS_BELL, OBS_COUNT };     // both [0, 1] of the ladder
#define OBS_SIZE OBS_COUNT

enum { ACT_UP, ACT_DOWN, ACT_RING, ACT_COUNT };
#define ACT_SIZES {ACT_COUNT}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Steeple {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    unsigned char* action_mask;     // out [ACT_COUNT]  1 where the action is legal
    int num_agents;
    unsigned int rng;
    int rungs;                      // [3, 100]
    int rung, bell, tick, way;
} Steeple;

static int below(unsigned int* rng, int n) {
    *rng = *rng * 1664525u + 1013904223u;
    return (int)(*rng >> 8) % n;
}

static void observe(Steeple* env) {
    float top = (float)(env->rungs - 1);
    env->observations[OBS_RUNG] = (float)env->rung / top;
    env->observations[OBS_BELL] = (float)env->bell / top;
    env->action_mask[ACT_UP] = env->rung > 0;
    env->action_mask[ACT_DOWN] = env->rung < env->rungs - 1;
    env->action_mask[ACT_RING] = env->rung == env->bell;
}

void c_reset(Steeple* env) {
    env->tick = 0;
    env->rung = below(&env->rng, env->rungs);
    env->bell = (env->rung + 1 + below(&env->rng, env->rungs - 1)) % env->rungs;
    env->way = env->bell > env->rung ? env->bell - env->rung : env->rung - env->bell;
    observe(env);
}

void c_step(Steeple* env) {
    int action = (int)env->actions[0];
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    env->tick++;
    if (action == ACT_UP && env->rung < env->rungs - 1) env->rung++;
    if (action == ACT_DOWN && env->rung > 0) env->rung--;
    int rang = action == ACT_RING && env->rung == env->bell;
    if (rang || env->tick >= 20 * env->rungs) {
        env->rewards[0] = (float)rang;
        env->terminals[0] = 1;
        env->log.perf += rang ? (float)(env->way + 1) / (float)env->tick : 0;
        env->log.score += (float)rang;
        env->log.episode_return += (float)rang;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    observe(env);
}

void c_render(Steeple* env) { (void)env; }

void c_close(Steeple* env) { (void)env; }
