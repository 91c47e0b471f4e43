#include "relics.h"
#define OBS_SIZE 1
#define NUM_ATNS 1
#define ACT_SIZES {1}
#define OBS_TENSOR_T FloatTensor
#define MY_SHARED
#define MY_SHARED_CLOSE
#define MY_GET
#define MY_PUT

#define Env Relics
#include "vecenv.h"

Dict* my_shared(void* env, Dict* kwargs) {
    (void)env;
    return kwargs;
}

void my_shared_close(Env* env) {
    (void)env;
}

int my_get(void* env, Dict* out) {
    dict_set(out, "depth", ((Env*)env)->depth);
    return 0;
}

int my_put(void* env, Dict* kwargs) {
    ((Env*)env)->depth = dict_get(kwargs, "depth")->value;
    return 0;
}

void my_init(Env* env, Dict* kwargs) {
    (void)kwargs;
    env->num_agents = 1;
}

void my_log(Log* log, Dict* out) {
    dict_set(out, "perf", log->perf);
    dict_set(out, "episode_length", log->episode_length);
}
