#include "lift.h"
#define OBS_SIZE 43
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T FloatTensor

#define Env Lift
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = dict_get(kwargs, "num_cars")->value;
    env->capacity = dict_get(kwargs, "capacity")->value;
    env->quota = dict_get(kwargs, "quota")->value;
    env->patience = dict_get(kwargs, "patience")->value;
    env->arrival = dict_get(kwargs, "arrival")->value;
    if (env->num_agents > MAX_CARS) env->num_agents = MAX_CARS;
    if (env->num_agents < 1) env->num_agents = 1;
    if (env->capacity < 1) env->capacity = 1;
    if (env->quota < 1) env->quota = 1;
    if (env->patience < 1) env->patience = 1;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "abandoned", log->abandoned);
}
