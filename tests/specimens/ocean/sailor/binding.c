#ifndef SAILOR_BINDING
#define SAILOR_BINDING
#include "sailor_draw.h"
#define OBS_SIZE 4
#define NUM_ATNS 1
#define ACT_SIZES {1}
#define OBS_TENSOR_T FloatTensor

#define Env Sailor
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->gusts = dict_get(kwargs, "gusts")->value;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
#endif
