#include "museum.h"
#define OBS_SIZE 9
#define NUM_ATNS 2
#define ACT_SIZES {5, 2}
#define OBS_TENSOR_T ByteTensor
#define Env Museum
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->max_steps = (int)dict_get(kwargs, "max_steps")->value * (int)dict_get(kwargs, "minutes")->value;
    museum_open(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
