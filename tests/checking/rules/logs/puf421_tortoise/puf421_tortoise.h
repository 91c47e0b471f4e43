// expect: PUF421
// A tortoise crosses a road. Fault: everything is summed for the log but the number of episodes.
#pragma once
#define LANES 6
#define OBS_SIZE (LANES + 1)
#define ACT_SIZES {2}

typedef struct Log { float perf; float episode_return; float episode_length; float n; } Log;

typedef struct Tortoise {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    unsigned char car[LANES];       // ticks until one passes
    int lane, tick;
} Tortoise;

static unsigned char gap(Tortoise* t) {
    t->rng = t->rng * 22695477u + 1u;
    return (unsigned char)(2 + (t->rng >> 28));
}

static void look(Tortoise* t) {
    for (int i = 0; i < LANES; i++) t->observations[i] = t->car[i];
    t->observations[LANES] = (unsigned char)t->lane;
}

void c_reset(Tortoise* t) {
    for (int i = 0; i < LANES; i++) t->car[i] = gap(t);
    t->lane = -1;
    t->tick = 0;
    t->lane = 0;
    look(t);
}

static void end(Tortoise* t, float reward) {
    t->rewards[0] = reward;
    t->terminals[0] = 1.0f;
    t->log.perf += reward > 0.0f;
    t->log.episode_return += reward;
    t->log.episode_length += (float)t->tick;
    c_reset(t);
}

void c_step(Tortoise* t) {
    t->rewards[0] = t->terminals[0] = 0.0f;
    t->tick++;
    t->lane += t->actions[0] == 1.0f;
    for (int i = 0; i < LANES; i++) {
        if (--t->car[i] > 0) continue;
        if (i == t->lane) {
            end(t, -1.0f);
            return;
        }
        t->car[i] = gap(t);
    }
    if (t->lane == LANES) {
        end(t, 1.0f);
        return;
    }
    look(t);
}

void c_render(Tortoise* t) { (void)t; }
void c_close(Tortoise* t) { (void)t; }
