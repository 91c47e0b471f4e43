#include "couriers.h"
#define OBS_SIZE 3
#define NUM_ATNS 2
#define ACT_SIZES {3, 2}
#define OBS_TENSOR_T FloatTensor

#define Env Couriers
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = dict_get(kwargs, "num_agents")->value;
    env->street = dict_get(kwargs, "street")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
