#include "balloon.h"
#define OBS_SIZE OBS_COUNT
#define NUM_ATNS 2
#define ACT_SIZES {1, 2}
#define OBS_TENSOR_T FloatTensor

#define Env Balloon
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->max_ticks = dict_get(kwargs, "max_ticks")->value;
    env->gust = dict_get(kwargs, "gust")->value;
    env->burn_rate = dict_get(kwargs, "burn_rate")->value;
    env->radius = dict_get(kwargs, "radius")->value;
    env->crash_speed = dict_get(kwargs, "crash_speed")->value;
    env->progress_reward = dict_get(kwargs, "progress_reward")->value;
    env->crash_cost = dict_get(kwargs, "crash_cost")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "landed", log->landed);
    dict_set(out, "fuel_left", log->fuel_left);
}
