// expect: PUF116
// Climb stairs on stilts, against the wind. Fault: what a step costs is a field that neither the ini
// nor any line sets, so it is 0.
#pragma once
#define OBS_SIZE 2
#define ACT_SIZES {3}           // down, stay, up

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Stilts {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int height, stair, on_top, tick;
    float step_cost;
    float wind, paid;
} Stilts;

static float draw(Stilts* s) {
    s->rng = s->rng * 1664525u + 1013904223u;
    return (float)(s->rng >> 8) / 16777216.0f;
}

static void look(Stilts* s) {
    s->observations[0] = (float)s->stair / (float)s->height;
    s->observations[1] = s->wind;
}

void init(Stilts* s) { s->height = 5; }

void c_reset(Stilts* s) {
    s->stair = (int)(draw(s) * 3.0f);
    s->on_top = s->tick = 0;
    s->paid = 0.0f;
    s->wind = draw(s);
    look(s);
}

void c_step(Stilts* s) {
    int step = (int)s->actions[0] - 1;
    if (step > 0 && s->wind > 0.7f) step = -1;
    s->stair += step;
    s->stair = s->stair < 0 ? 0 : s->stair > s->height ? s->height : s->stair;
    s->wind = draw(s);
    s->tick++;
    s->on_top += s->stair == s->height;
    s->rewards[0] = (s->stair == s->height ? 0.5f : 0.0f) - s->step_cost;
    s->paid += s->rewards[0];
    int over = s->on_top == 5 || s->tick == 80;
    s->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        s->log.perf += 0.2f * (float)s->on_top;
        s->log.score += s->paid;
        s->log.episode_return += s->paid;
        s->log.episode_length += (float)s->tick;
        s->log.n += 1.0f;
        c_reset(s);
        return;
    }
    look(s);
}

void c_render(Stilts* s) { (void)s; }
void c_close(Stilts* s) { (void)s; }
