#include "clinic.h"
#define OBS_SIZE OBS_COUNT
#define NUM_ATNS 2
#define ACT_SIZES {4, 3}
#define OBS_TENSOR_T FloatTensor
#define MY_ACTION_MASK 7

#define Env Clinic
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->shift = dict_get(kwargs, "shift")->value;
    env->max_lost = dict_get(kwargs, "max_lost")->value;
    env->load = dict_get(kwargs, "load")->value;
    env->rush = dict_get(kwargs, "rush")->value;
    env->late_discount = dict_get(kwargs, "late_discount")->value;
    env->lost_cost = dict_get(kwargs, "lost_cost")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "lost", log->lost);
    dict_set(out, "wait", log->wait);
}
