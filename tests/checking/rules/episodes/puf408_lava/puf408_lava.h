// expect: PUF408
// Cross a field of lava to its right edge. Fault: an episode may begin on the lava.
#pragma once
#define OBS_SIZE (SIDE * SIDE)
#define ACT_SIZES {4}
#define SIDE 6
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Lava {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int hot[SIDE * SIDE];
    int x, y, tick;
} Lava;

static int draw(Lava* l, int below) {
    l->rng = l->rng * 1664525u + 1013904223u;
    return (int)((l->rng >> 16) % (unsigned int)below);
}

static void look(Lava* l) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        l->observations[i] = l->hot[i] ? -1.0f : 0.0f;
    }
    l->observations[SIDE * l->y + l->x] = 1.0f;
}

void c_reset(Lava* l) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        l->hot[i] = draw(l, 6) == 0;
    }
    l->x = 0;
    l->y = draw(l, SIDE);
    l->tick = 0;
    look(l);
}

static void finish(Lava* l, float reward) {
    l->rewards[0] = reward;
    l->terminals[0] = 1.0f;
    l->log.perf += reward > 0.0f ? 1.0f : 0.0f;
    l->log.score += reward;
    l->log.episode_return += reward;
    l->log.episode_length += (float)l->tick;
    l->log.n += 1.0f;
    c_reset(l);
}

void c_step(Lava* l) {
    static const int dx[4] = {0, 1, 0, -1}, dy[4] = {-1, 0, 1, 0};
    int action = (int)l->actions[0], x = l->x + dx[action], y = l->y + dy[action];
    l->rewards[0] = 0.0f;
    l->terminals[0] = 0.0f;
    l->tick++;
    if (l->hot[SIDE * l->y + l->x] || l->tick >= 40) {
        finish(l, -1.0f);
        return;
    }
    if (x == SIDE) {
        finish(l, 1.0f);
        return;
    }
    l->x = x < 0 ? 0 : x;
    l->y = y < 0 ? 0 : y >= SIDE ? SIDE - 1 : y;
    look(l);
}

void c_render(Lava* l) { (void)l; }
void c_close(Lava* l) { (void)l; }
