#include "convoy.h"
#define OBS_SIZE 3
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T ByteTensor
#define MY_ACTION_MASK 3
#define MY_VEC_INIT
#define MY_VEC_CLOSE
#define Env Convoy
#include "vecenv.h"

static unsigned char* roads;

Env* my_vec_init(int* num_envs_out, int* buffer_env_starts, int* buffer_env_counts,
                 Dict* vec_kwargs, Dict* env_kwargs) {
    int total = dict_get(vec_kwargs, "total_agents")->value;
    int buffers = dict_get(vec_kwargs, "num_buffers")->value;
    int size = dict_get(env_kwargs, "smallest")->value;
    if (!roads) {
        roads = malloc(ROADS);
        for (int i = 0; i < ROADS; i++) roads[i] = i % 5 == 4 ? 3 : i % 3;
    }
    Env* envs = calloc(total, sizeof(Env));
    int count = 0;
    for (int b = 0; b < buffers; b++) {
        int left = total / buffers;
        buffer_env_starts[b] = count;
        while (left > 0) {
            Env* env = &envs[count];
            int agents = size + count % 3;
            env->num_agents = agents < left ? agents : left;
            env->rng = count;
            env->roads = roads;
            convoy_init(env);
            left -= env->num_agents;
            count++;
        }
        buffer_env_counts[b] = count - buffer_env_starts[b];
    }
    *num_envs_out = count;
    return envs;
}

void my_vec_close(Env* envs) {
    (void)envs;
    free(roads);
    roads = NULL;
}

void my_init(Env* env, Dict* kwargs) { (void)env; (void)kwargs; }

void my_log(Log* log, Dict* out) {
    dict_set(out, "score", log->score);
    dict_set(out, "episode_return", log->episode_return);
    dict_set(out, "episode_length", log->episode_length);
}
