#include "mole.h"
#define OBS_SIZE 7
#define NUM_ATNS 1
#define ACT_SIZES {6}
#define OBS_TENSOR_T FloatTensor

#define Env Mole
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->patience = dict_get(kwargs, "patience")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
