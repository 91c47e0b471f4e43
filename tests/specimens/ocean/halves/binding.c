#include "halves.h"
#define OBS_SIZE 3
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T PrecisionTensor

#define Env Halves
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = (int)dict_get(kwargs, "num_agents")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
