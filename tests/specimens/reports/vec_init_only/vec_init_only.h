// my_vec_init makes all envs: nobody calls my_init, which reads a key that the ini lacks.
#include <stdint.h>
#include <stdlib.h>
typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;
typedef struct VecInitOnly {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick, hidden;
} VecInitOnly;
static int draw(VecInitOnly* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (int)(env->rng >> 30);
}
void c_reset(VecInitOnly* env) {
    env->tick = 0;
    env->hidden = draw(env);
    env->observations[0] = (unsigned char)env->hidden;
}
void c_step(VecInitOnly* env) {
    env->rewards[0] = env->actions[0] == (float)env->hidden ? 1.0f : 0.0f;
    env->terminals[0] = 0.0f;
    env->log.score += env->rewards[0];
    if (++env->tick == 16) {
        env->terminals[0] = 1.0f;
        env->log.episode_length += 16.0f;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    env->hidden = draw(env);
    env->observations[0] = (unsigned char)env->hidden;
}
void c_render(VecInitOnly* env) { (void)env; }
void c_close(VecInitOnly* env) { (void)env; }
