#include "gopher.h"
#define OBS_SIZE 2
#define NUM_ATNS 1
#define ACT_SIZES {7}
#define OBS_TENSOR_T ByteTensor

#define Env Gopher
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->holes = dict_get(kwargs, "holes")->value;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
}
