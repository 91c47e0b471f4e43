#include "puf109_geyser.h"
#define OBS_SIZE 4
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T FloatTensor
#define Env Geyser
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = TOURISTS;
    srand(env->rng + (unsigned int)dict_get(kwargs, "seed")->value);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
