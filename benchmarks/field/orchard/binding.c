#include "orchard.h"
#define OBS_SIZE 84
#define NUM_ATNS 1
#define ACT_SIZES {6}
#define OBS_TENSOR_T ByteTensor

#define Env Orchard
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = dict_get(kwargs, "num_agents")->value;
    env->width = dict_get(kwargs, "width")->value;
    env->height = dict_get(kwargs, "height")->value;
    env->groves = dict_get(kwargs, "groves")->value;
    env->horizon = dict_get(kwargs, "horizon")->value;
    env->freeze = dict_get(kwargs, "freeze")->value;
    env->regrow = dict_get(kwargs, "regrow")->value;
    env->spark = dict_get(kwargs, "spark")->value;
    env->zap_cost = dict_get(kwargs, "zap_cost")->value;
    if (env->num_agents < 1) env->num_agents = 1;
    if (env->num_agents > MAX_PICKERS) env->num_agents = MAX_PICKERS;
    if (env->width < 8) env->width = 8;
    if (env->height < 8) env->height = 8;
    if (env->groves < 1) env->groves = 1;
    if (env->horizon < 1) env->horizon = 1;
    if (env->freeze < 0) env->freeze = 0;
    if (env->freeze > 255) env->freeze = 255;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "fairness", log->fairness);
    dict_set(out, "zaps", log->zaps);
    dict_set(out, "stock", log->stock);
}
