#include "pawnrush.h"
#define OBS_SIZE 38
#define NUM_ATNS 1
#define ACT_SIZES {109}
#define OBS_TENSOR_T ByteTensor
#define MY_ACTION_MASK 109

#define Env Pawnrush
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = SEATS;
    env->opening = dict_get(kwargs, "opening")->value;
    env->capture_reward = dict_get(kwargs, "capture_reward")->value;
    env->move_cost = dict_get(kwargs, "move_cost")->value;
    env->forfeit_cost = dict_get(kwargs, "forfeit_cost")->value;
    init(env);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
    dict_set(out, "starter_wins", log->starter_wins);
    dict_set(out, "forfeits", log->forfeits);
}
