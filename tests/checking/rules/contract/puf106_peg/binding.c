#include "puf106_peg.h"
#define OBS_SIZE 4
#define NUM_ATNS 1
#define ACT_SIZES {2}
#define OBS_TENSOR_T ByteTensor
#define Env Peg
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->length = dict_get(kwargs, "length")->value;
    env->gaps = dict_get(kwargs, "gaps")->value;
    peg_init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
