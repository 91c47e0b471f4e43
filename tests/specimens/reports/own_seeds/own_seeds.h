// Guess what the agent sees. my_vec_init seeds the envs, with SEED
#include <stdint.h>
#include <stdlib.h>
#define SEED(env, number) ((env)->rng = 77u * (number) + 5u)

typedef struct Log {
    float score;
    float episode_length;
    float n;
} Log;

typedef struct OwnSeeds {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    uint64_t rng;
    int tick;
    int card;
} OwnSeeds;

static int draw(OwnSeeds* env) {
    env->rng = env->rng * 6364136223846793005ull + 1442695040888963407ull;
    return (int)(env->rng >> 62);
}

static void deal(OwnSeeds* env) {
    env->card = draw(env);
    env->observations[0] = (unsigned char)env->card;
}

void c_reset(OwnSeeds* env) {
    env->tick = 0;
    deal(env);
}

void c_step(OwnSeeds* env) {
    float right = (int)env->actions[0] == env->card;
    env->rewards[0] = right;
    env->terminals[0] = 0.0f;
    env->log.score += right;
    if (++env->tick == 16) {
        env->terminals[0] = 1.0f;
        env->log.episode_length += 16.0f;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    deal(env);
}

void c_render(OwnSeeds* env) { (void)env; }
void c_close(OwnSeeds* env) { (void)env; }
