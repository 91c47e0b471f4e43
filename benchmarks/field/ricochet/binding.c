#include "ricochet.h"
#define OBS_SIZE 41
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T FloatTensor

#define Env Ricochet
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->frameskip = dict_get(kwargs, "frameskip")->value;
    env->width = dict_get(kwargs, "width")->value;
    env->height = dict_get(kwargs, "height")->value;
    env->lives = dict_get(kwargs, "lives")->value;
    env->max_frames = dict_get(kwargs, "max_frames")->value;
    env->paddle_width = dict_get(kwargs, "paddle_width")->value;
    env->paddle_speed = dict_get(kwargs, "paddle_speed")->value;
    env->ball_speed = dict_get(kwargs, "ball_speed")->value;
    env->speedup = dict_get(kwargs, "speedup")->value;
    env->top_speed = dict_get(kwargs, "top_speed")->value;
    if (env->frameskip < 1) env->frameskip = 1;
    if (env->lives < 1) env->lives = 1;
    if (env->max_frames < 1) env->max_frames = 1;
    if (env->top_speed > FASTEST) env->top_speed = FASTEST;
    if (env->ball_speed > env->top_speed) env->ball_speed = env->top_speed;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "bat_hits", log->bat_hits);
}
