#include "pegs.h"
#define OBS_SIZE 41
#define NUM_ATNS 1
#define ACT_SIZES {8}
#define OBS_TENSOR_T ByteTensor
#define MY_ACTION_MASK 8

#define Env Pegs
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = dict_get(kwargs, "num_agents")->value;
    env->pegs = dict_get(kwargs, "pegs")->value;
    env->patience = dict_get(kwargs, "patience")->value;
    env->jump_reward = dict_get(kwargs, "jump_reward")->value;
    env->win_reward = dict_get(kwargs, "win_reward")->value;
    env->stuck_cost = dict_get(kwargs, "stuck_cost")->value;
    if (env->num_agents < 1) env->num_agents = 1;
    if (env->num_agents > MAX_PLAYERS) env->num_agents = MAX_PLAYERS;
    if (env->pegs < 2) env->pegs = 2;
    if (env->pegs > MAX_PEGS) env->pegs = MAX_PEGS;
    if (env->patience < 2) env->patience = 2;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "stuck", log->stuck);
    dict_set(out, "late", log->late);
}
