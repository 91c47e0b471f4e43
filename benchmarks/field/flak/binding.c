#include "flak.h"
#define OBS_SIZE 40
#define NUM_ATNS 1
#define ACT_SIZES {4}
#define OBS_TENSOR_T FloatTensor

#define Env Flak
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->shift = dict_get(kwargs, "shift")->value;
    env->reload = dict_get(kwargs, "reload")->value;
    env->rebuild = dict_get(kwargs, "rebuild")->value;
    env->bomb_rate = dict_get(kwargs, "bomb_rate")->value;
    env->gun_speed = dict_get(kwargs, "gun_speed")->value;
    env->wind = dict_get(kwargs, "wind")->value;
    env->hit_reward = dict_get(kwargs, "hit_reward")->value;
    env->house_penalty = dict_get(kwargs, "house_penalty")->value;
    if (env->shift < 1) env->shift = 1;
    if (env->reload < 1) env->reload = 1;
    if (env->rebuild < 1) env->rebuild = 1;
    if (env->wind < 0.0f) env->wind = 0.0f;
    if (env->wind > MAX_WIND) env->wind = MAX_WIND;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "accuracy", log->accuracy);
    dict_set(out, "houses", log->houses);
}
