// Generated from slow.h by puffer-sdk. Do not edit: it is written anew by each build.
// To take it over by hand (an Ocean binding.c), see docs/reference/contract.md.
#include "slow.h"

#define Env Slow
#define OBS_TENSOR_T FloatTensor
#define PUFFER_APPLY puffer_apply
#include "vecenv.h"

// What was read from the header when this was generated still holds
PUFFER_ASSERT(sizeof(*((Env*)0)->actions) == sizeof(float), "actions are not floats");
PUFFER_ASSERT(sizeof(*((Env*)0)->rewards) == sizeof(float), "rewards are not floats");
PUFFER_ASSERT(sizeof(*((Env*)0)->terminals) == sizeof(float), "terminals are not floats");
PUFFER_ASSERT(sizeof(Log) == 5 * sizeof(float), "Log changed its fields");
PUFFER_ASSERT(puffer_num_atns == 1, "ACT_SIZES changed its heads");

// [env] keys to the struct fields of the same name
static void puffer_apply(Env* env, Dict* kwargs) {
    DictItem* item;
    (void)env; (void)kwargs; (void)item;
    if ((item = dict_get_unsafe(kwargs, "num_agents"))) env->num_agents = (int)item->value;
    if ((item = dict_get_unsafe(kwargs, "micros"))) env->micros = (int)item->value;
}

void my_init(Env* env, Dict* kwargs) {
    puffer_apply(env, kwargs);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
