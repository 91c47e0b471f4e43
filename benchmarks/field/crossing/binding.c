#include "crossing.h"
#define OBS_SIZE 91
#define NUM_ATNS 1
#define ACT_SIZES {5}
#define OBS_TENSOR_T ByteTensor

#define Env Crossing
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->max_ticks = dict_get(kwargs, "max_ticks")->value;
    env->max_lives = dict_get(kwargs, "max_lives")->value;
    env->traffic = dict_get(kwargs, "traffic")->value;
    if (env->max_ticks < 1) env->max_ticks = 1;
    if (env->max_lives < 1) env->max_lives = 1;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "n", log->n);
}
