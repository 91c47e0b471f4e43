#include "fresco.h"
#define OBS_SIZE 55
#define NUM_ATNS 1
#define ACT_SIZES {6}
#define OBS_TENSOR_T ByteTensor
#define MY_ACTION_MASK 6

#define Env Fresco
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->team_size = dict_get(kwargs, "team_size")->value;
    env->width = dict_get(kwargs, "width")->value;
    env->height = dict_get(kwargs, "height")->value;
    env->pillars = dict_get(kwargs, "pillars")->value;
    env->horizon = dict_get(kwargs, "horizon")->value;
    env->max_load = dict_get(kwargs, "max_load")->value;
    env->majority = dict_get(kwargs, "majority")->value;
    env->tile_reward = dict_get(kwargs, "tile_reward")->value;
    env->team_reward = dict_get(kwargs, "team_reward")->value;
    if (env->team_size < 1) env->team_size = 1;
    if (env->team_size > MAX_TEAM) env->team_size = MAX_TEAM;
    if (env->width < 8) env->width = 8;
    if (env->width > 64) env->width = 64;
    if (env->height < 6) env->height = 6;
    if (env->height > 64) env->height = 64;
    if (env->pillars < 0) env->pillars = 0;
    if (env->pillars > env->width * env->height / 8) env->pillars = env->width * env->height / 8;
    if (env->horizon < 4) env->horizon = 4;
    if (env->max_load < SPLASH_COST) env->max_load = SPLASH_COST;
    if (env->max_load > 200) env->max_load = 200;
    env->num_agents = 2 * env->team_size;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "stolen", log->stolen);
    dict_set(out, "splashes", log->splashes);
    dict_set(out, "draws", log->draws);
}
