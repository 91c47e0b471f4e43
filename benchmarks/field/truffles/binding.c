#include "truffles.h"
#define OBS_SIZE 71
#define NUM_ATNS 1
#define ACT_SIZES {6}
#define OBS_TENSOR_T ByteTensor

#define Env Truffles
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = PIGS;
    env->truffles = dict_get(kwargs, "truffles")->value;
    env->trees = dict_get(kwargs, "trees")->value;
    env->horizon = dict_get(kwargs, "horizon")->value;
    env->stamina = dict_get(kwargs, "stamina")->value;
    env->dig_effort = dict_get(kwargs, "dig_effort")->value;
    env->dig_cost = dict_get(kwargs, "dig_cost")->value;
    env->envy = dict_get(kwargs, "envy")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "empty_holes", log->empty_holes);
    dict_set(out, "lead", log->lead);
}
