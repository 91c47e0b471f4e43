#include "own_seeds.h"
#define OBS_SIZE 1
#define NUM_ATNS 1
#define ACT_SIZES {4}
#define OBS_TENSOR_T ByteTensor
#define MY_VEC_INIT
#define Env OwnSeeds
#include "vecenv.h"

Env* my_vec_init(int* num_envs, int* starts, int* counts, Dict* vec_kwargs, Dict* env_kwargs) {
    (void)env_kwargs;
    int agents = (int)dict_get(vec_kwargs, "total_agents")->value;
    int buffers = (int)dict_get(vec_kwargs, "num_buffers")->value;
    Env* envs = calloc((size_t)agents, sizeof(Env));
    for (int i = 0; i < agents; i++) {
        envs[i].num_agents = 1;
        SEED(&envs[i], (unsigned)i);
    }
    for (int b = 0; b < buffers; b++) {
        starts[b] = b * (agents / buffers);
        counts[b] = agents / buffers;
    }
    *num_envs = agents;
    return envs;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "score", log->score);
    dict_set(out, "episode_length", log->episode_length);
}
