#include "perms.h"
#define OBS_SIZE 1
#define NUM_ATNS 1
#define ACT_SIZES {1}
#define OBS_TENSOR_T FloatTensor
#define MY_USES_PERM
#define MY_USES_TAGS

#define Env Perms
#include "vecenv.h"

void my_setup_perm(StaticVec* vec, Env* env, int first) {
    for (int i = 0; i < env->num_agents; i++) {
        int row = vec->agent_perm ? vec->agent_perm[first + i] : first + i;
        env->diggers[i].sees = (float*)vec->observations + row * OBS_SIZE;
        env->diggers[i].digs = vec->actions + row * NUM_ATNS;
        env->diggers[i].reward = vec->rewards + row;
        env->diggers[i].over = vec->terminals + row;
    }
}

void my_init(Env* env, Dict* kwargs) {
    (void)kwargs;
    env->num_agents = 2;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "episode_length", log->episode_length);
}
