#include "rain.h"
#define OBS_SIZE (WIDTH * HEIGHT)
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T ByteTensor
#define MY_VEC_STEP_RANGE rain_step_range

#define Env Rain
#include "vecenv.h"

void rain_step_range(StaticVec* vec, int env_start, int env_count, int num_workers) {
    Env* envs = (Env*)vec->envs;
    (void)num_workers;
    for (int e = env_start; e < env_start + env_count; e++) {
        c_step(&envs[e]);
        if (rand() % 2) envs[e].observations[rand() % WIDTH] = 1;
    }
}

void my_init(Env* env, Dict* kwargs) {
    (void)kwargs;
    env->num_agents = 1;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "score", log->score);
    dict_set(out, "episode_length", log->episode_length);
}
