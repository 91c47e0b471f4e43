#include "anthill.h"
#define OBS_SIZE 80
#define NUM_ATNS 2
#define ACT_SIZES {4, 2}
#define OBS_TENSOR_T FloatTensor

#define Env Anthill
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = dict_get(kwargs, "num_agents")->value;
    env->width = dict_get(kwargs, "width")->value;
    env->height = dict_get(kwargs, "height")->value;
    env->heaps = dict_get(kwargs, "heaps")->value;
    env->heap_size = dict_get(kwargs, "heap_size")->value;
    env->stamina = dict_get(kwargs, "stamina")->value;
    env->max_age = dict_get(kwargs, "max_age")->value;
    env->trail_keep = dict_get(kwargs, "trail_keep")->value;
    env->pickup_reward = dict_get(kwargs, "pickup_reward")->value;
    env->deliver_reward = dict_get(kwargs, "deliver_reward")->value;
    env->starve_cost = dict_get(kwargs, "starve_cost")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "brought_home", log->brought_home);
    dict_set(out, "starved", log->starved);
}
