// Two of three numbers of a cell are written only where somebody stands, and never cleared.
#include <stdlib.h>
#define AGENTS 8
#define SIDE 12
#define VIEW 5
#define OBS_SIZE (VIEW * VIEW * 3)
#define ACT_SIZES {5}
typedef struct Log { float score; float episode_return; float episode_length; float n; } Log;
typedef struct Ghosts {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int x[AGENTS], y[AGENTS];
    signed char who[SIDE][SIDE];
    int tick;
    float total[AGENTS];
} Ghosts;

void init(Ghosts* env) { env->num_agents = AGENTS; }

static void observe(Ghosts* env) {
    for (int a = 0; a < AGENTS; a++) {
        unsigned char* cell = env->observations + a * OBS_SIZE;
        for (int r = -VIEW / 2; r <= VIEW / 2; r++)
            for (int c = -VIEW / 2; c <= VIEW / 2; c++, cell += 3) {
                int y = (env->y[a] + r + SIDE) % SIDE, x = (env->x[a] + c + SIDE) % SIDE;
                cell[0] = (x + y) % 4;
                int other = env->who[y][x];
                if (other >= 0) {
                    cell[1] = 1;
                    cell[2] = other % 8;
                }
            }
    }
}
void c_reset(Ghosts* env) {
    env->tick = 0;
    for (int i = 0; i < SIDE * SIDE; i++) env->who[i / SIDE][i % SIDE] = -1;
    for (int a = 0; a < AGENTS; a++) {
        do {
            env->x[a] = rand_r(&env->rng) % SIDE;
            env->y[a] = rand_r(&env->rng) % SIDE;
        } while (env->who[env->y[a]][env->x[a]] >= 0);
        env->who[env->y[a]][env->x[a]] = a;
        env->total[a] = 0.0f;
    }
    observe(env);
}
void c_step(Ghosts* env) {
    static const int dx[5] = {0, 1, -1, 0, 0}, dy[5] = {0, 0, 0, 1, -1};
    env->tick++;
    for (int a = 0; a < AGENTS; a++) {
        env->terminals[a] = 0.0f;
        int move = (int)env->actions[a];
        int x = (env->x[a] + dx[move] + SIDE) % SIDE, y = (env->y[a] + dy[move] + SIDE) % SIDE;
        if (env->who[y][x] < 0) {
            env->who[env->y[a]][env->x[a]] = -1;
            env->x[a] = x;
            env->y[a] = y;
            env->who[y][x] = a;
        }
        env->rewards[a] = (env->x[a] + env->y[a]) % 4 == 0 ? 0.1f : 0.0f;
        env->total[a] += env->rewards[a];
    }
    if (env->tick == 128) {
        for (int a = 0; a < AGENTS; a++) {
            env->terminals[a] = 1.0f;
            env->log.score += env->total[a];
            env->log.episode_return += env->total[a];
            env->log.episode_length += 128.0f;
            env->log.n += 1.0f;
        }
        c_reset(env);
        return;
    }
    observe(env);
}
void c_render(Ghosts* env) { (void)env; }
void c_close(Ghosts* env) { (void)env; }
