#include "drum.h"
#define OBS_SIZE 2
#define NUM_ATNS 1
#define ACT_SIZES {DRUMS}
#define OBS_TENSOR_T ByteTensor

#define Env Drum
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    (void)kwargs;
    env->num_agents = 1;
    init(env);
}

void my_log(Log* log, Dict* out) {
    const char* names[DRUMS] = {"kick", "snare", "tom", "hat"};
    for (int d = 0; d < DRUMS; d++) dict_set(out, names[d], log->hits[d]);
    dict_set(out, "perf", log->perf);
    dict_set(out, "episode_length", log->episode_length);
}
