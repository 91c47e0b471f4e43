#include "ants.h"
#define OBS_SIZE 3
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T FloatTensor
#define MY_VEC_STEP ants_vec_step

#define Env Ants
#include "vecenv.h"

// Every ant smells how many ants its neighbour in the array just passed
void ants_vec_step(StaticVec* vec) {
    Env* envs = (Env*)vec->envs;
    for (int i = 0; i < vec->total_agents; i++) vec->rewards[i] = 0;
    for (int e = 0; e < vec->size; e++) c_step(&envs[e]);
    for (int e = 0; e < vec->size; e++) {
        Env* next = &envs[(e + 1) % vec->size];
        envs[e].observations[2] *= envs[e].decay;
        envs[e].observations[2] += next->place == envs[e].place;
    }
}

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    env->decay = dict_get(kwargs, "decay")->value;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
