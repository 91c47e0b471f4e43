// expect: PUF702 (--learn)
/* Signals: each driver faces a traffic light and has to do what it says. Green is the most
 * frequent, so there is something to be had by always driving on; but a driver's row shows the
 * light of the next driver, for the rows were filled with an index that is one ahead.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#define COLOURS 3
#define OBS_SIZE 4              // one-hot light, how late it is
#define ACT_SIZES {3}
#define DRIVERS 4
enum { DRIVE, SLOW, STOP };

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Signals {
    Log log;
    float* observations;        // (DRIVERS, OBS_SIZE)
    float* actions;             // (DRIVERS)
    float* rewards;             // (DRIVERS)
    float* terminals;           // (DRIVERS)
    int num_agents;
    unsigned int rng;
    int light[DRIVERS];
    float score;
    int tick;
} Signals;

void init(Signals* env) { env->num_agents = DRIVERS; }

static void switch_lights(Signals* env) {
    for (int i = 0; i < DRIVERS; i++) {
        env->rng = env->rng * 747796405u + 2891336453u;
        unsigned int word = ((env->rng >> ((env->rng >> 28) + 4)) ^ env->rng) * 277803737u;
        unsigned int draw = ((word >> 22) ^ word) % 10;
        env->light[i] = draw < 6 ? DRIVE : draw < 8 ? SLOW : STOP;
    }
}

static void look(Signals* env) {
    for (int i = 0; i < DRIVERS; i++) {
        float* row = env->observations + i * OBS_SIZE;
        int seen = env->light[(i + 1) % DRIVERS];
        for (int c = 0; c < COLOURS; c++) row[c] = seen == c ? 1.0f : 0.0f;
        row[COLOURS] = (float)env->tick / 50.0f;
    }
}

void c_reset(Signals* env) {
    env->tick = 0;
    env->score = 0.0f;
    switch_lights(env);
    look(env);
}

void c_step(Signals* env) {
    env->tick++;
    for (int i = 0; i < DRIVERS; i++) {
        int right = (int)env->actions[i] == env->light[i];
        env->rewards[i] = right ? 0.2f : -0.1f;
        env->terminals[i] = env->tick == 50;
        env->score += env->rewards[i] / DRIVERS;
    }
    if (env->tick == 50) {
        env->log.perf += (env->score + 5.0f) / 15.0f;
        env->log.score += env->score;
        env->log.episode_return += env->score;
        env->log.episode_length += 50.0f;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    switch_lights(env);
    look(env);
}

void c_render(Signals* env) { (void)env; }
void c_close(Signals* env) { (void)env; }
#endif
