#include "bistro.h"
#define OBS_SIZE 96
#define NUM_ATNS 1
#define ACT_SIZES {6}
#define OBS_TENSOR_T ByteTensor

#define Env Bistro
#include "vecenv.h"

#define MAX_BYTE 255         // what is left of these is observed as a byte
#define MAX_TICKS 100000

static int number(Dict* kwargs, const char* key, int most) {
    double value = dict_get(kwargs, key)->value;
    return value < 1 ? 1 : value > most ? most : (int)value;
}

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = number(kwargs, "num_cooks", MAX_COOKS);
    env->arrival = number(kwargs, "arrival", MAX_TICKS);
    env->patience = number(kwargs, "patience", MAX_TICKS);
    env->cook_time = number(kwargs, "cook_time", MAX_TICKS);
    env->burn_time = number(kwargs, "burn_time", MAX_TICKS);
    env->max_left = number(kwargs, "max_left", MAX_BYTE);
    env->quota = number(kwargs, "quota", MAX_BYTE);
    env->shift = number(kwargs, "shift", MAX_TICKS);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "left", log->left);
}
