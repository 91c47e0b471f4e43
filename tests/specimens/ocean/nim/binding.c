#include "nim.h"
#define OBS_SIZE 2
#define NUM_ATNS 2
#define ACT_SIZES {2, 3}
#define OBS_TENSOR_T FloatTensor
#define MY_ACTION_MASK 5

#define Env Nim
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->most = dict_get(kwargs, "most")->value;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_length", log->episode_length);
}
