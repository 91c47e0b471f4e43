#include "lights.h"
#define OBS_SIZE 25
#define NUM_ATNS 1
#define ACT_SIZES {25}
#define OBS_TENSOR_T ByteTensor

#define Env Lights
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    DictItem* scramble = dict_get_unsafe(kwargs, "scramble");
    env->num_agents = 1;
    env->scramble = scramble ? scramble->value : 3;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "n", log->n);
}
