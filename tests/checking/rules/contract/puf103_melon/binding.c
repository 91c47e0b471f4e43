#include "puf103_melon.h"
#define OBS_SIZE 16
#define NUM_ATNS 1
#define ACT_SIZES {3}
#define OBS_TENSOR_T ByteTensor
#define Env Melon
#include "vecenv.h"

void my_init(Env* env, Dict* kwargs) {
    (void)kwargs;
    env->num_agents = 1;
}

void my_log(Log* log, Dict* out) { dict_set(out, "perf", log->perf); }
