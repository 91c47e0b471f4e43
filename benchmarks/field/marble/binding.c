#include "marble.h"
#define OBS_SIZE 19
#define NUM_ATNS 2
#define ACT_SIZES {1, 1}
#define OBS_TENSOR_T FloatTensor

#define Env Marble
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->frame_skip = dict_get(kwargs, "frame_skip")->value;
    env->limit = dict_get(kwargs, "limit")->value;
    env->goal = dict_get(kwargs, "goal")->value;
    env->pit_radius = dict_get(kwargs, "pit_radius")->value;
    env->gravity = dict_get(kwargs, "gravity")->value;
    env->drag = dict_get(kwargs, "drag")->value;
    env->gem_reward = dict_get(kwargs, "gem_reward")->value;
    env->fall_penalty = dict_get(kwargs, "fall_penalty")->value;
    env->progress_reward = dict_get(kwargs, "progress_reward")->value;
    if (env->frame_skip < 1) env->frame_skip = 1;
    if (env->limit < 1) env->limit = 1;
    if (env->goal < 1) env->goal = 1;
    if (env->pit_radius < 0.0f) env->pit_radius = 0.0f;
    if (env->pit_radius > 40.0f) env->pit_radius = 40.0f;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "pits", log->pits);
    dict_set(out, "rims", log->rims);
}
