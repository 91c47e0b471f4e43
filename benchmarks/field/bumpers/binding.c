#include "bumpers.h"
#define OBS_SIZE 24
#define NUM_ATNS 1
#define ACT_SIZES {6}
#define OBS_TENSOR_T FloatTensor

#define Env Bumpers
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = dict_get(kwargs, "num_agents")->value;
    env->round = dict_get(kwargs, "round")->value;
    env->respawn = dict_get(kwargs, "respawn")->value;
    env->grudge = dict_get(kwargs, "grudge")->value;
    env->engine = dict_get(kwargs, "engine")->value;
    env->drag = dict_get(kwargs, "drag")->value;
    env->shrink = dict_get(kwargs, "shrink")->value;
    env->push_reward = dict_get(kwargs, "push_reward")->value;
    env->fall_penalty = dict_get(kwargs, "fall_penalty")->value;
    env->stay_reward = dict_get(kwargs, "stay_reward")->value;
    if (env->num_agents < 2) env->num_agents = 2;
    if (env->num_agents > MAX_DISCS) env->num_agents = MAX_DISCS;
    if (env->round < 4) env->round = 4;
    if (env->respawn < 1) env->respawn = 1;
    if (env->grudge < 1) env->grudge = 1;
    if (env->shrink < 0.0f) env->shrink = 0.0f;
    if (env->shrink > 0.5f) env->shrink = 0.5f;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "fell", log->fell);
    dict_set(out, "boosts", log->boosts);
}
