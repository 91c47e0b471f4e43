#include "warren.h"
#define OBS_SIZE 2
#define NUM_ATNS 1
#define ACT_SIZES {2}
#define OBS_TENSOR_T ByteTensor
#define MY_VEC_INIT
#define MY_VEC_CLOSE

#define Env Warren
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    env->num_agents = dict_get(kwargs, "pairs")->value ? 2 : 1;
}

// One rabbit and two rabbits take turns while agents are left
Env* my_vec_init(int* num_envs_out, int* buffer_env_starts, int* buffer_env_counts,
                 Dict* vec_kwargs, Dict* env_kwargs) {
    int total_agents = dict_get(vec_kwargs, "total_agents")->value;
    int num_buffers = dict_get(vec_kwargs, "num_buffers")->value;
    int agents_per_buffer = total_agents / num_buffers;
    Burrow* burrows = (Burrow*)calloc(BURROWS, sizeof(Burrow));
    for (int b = 0; b < BURROWS; b++) dig(&burrows[b]);

    Env* envs = (Env*)calloc(total_agents, sizeof(Env));
    int num_envs = 0;
    for (int buffer = 0; buffer < num_buffers; buffer++) {
        buffer_env_starts[buffer] = num_envs;
        int left = agents_per_buffer;
        while (left > 0) {
            Env* env = &envs[num_envs];
            srand(num_envs);
            env->rng = num_envs;
            my_init(env, env_kwargs);
            if (num_envs % 2 == 0 || left == 1) env->num_agents = 1;
            env->burrows = burrows;
            left -= env->num_agents;
            num_envs++;
        }
        buffer_env_counts[buffer] = num_envs - buffer_env_starts[buffer];
    }
    *num_envs_out = num_envs;
    return envs;
}

void my_vec_close(Env* envs) {
    free(envs[0].burrows);
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
