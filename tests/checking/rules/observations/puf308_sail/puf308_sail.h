// expect: PUF308
// Climb a mast in a gusty wind. Fault: the line that shows the gust is a copy of the one before it, and
// shows the wind again.
#pragma once

enum { OBS_HEIGHT, OBS_WIND, OBS_GUST, OBS_COUNT };
#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {3}           // down, stay, up

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Sail {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int height, stair, on_top, tick;
    float wind, gust, paid;
} Sail;

static float draw(Sail* s) {
    s->rng = s->rng * 1664525u + 1013904223u;
    return (float)(s->rng >> 8) / 16777216.0f;
}

static void look(Sail* s) {
    s->observations[OBS_HEIGHT] = (float)s->stair / (float)s->height;
    s->observations[OBS_WIND] = s->wind;
    s->observations[OBS_GUST] = 0.5f * s->wind;
}

void init(Sail* s) { s->height = 5; }

void c_reset(Sail* s) {
    s->stair = (int)(draw(s) * 3.0f);
    s->on_top = s->tick = 0;
    s->paid = 0.0f;
    s->wind = draw(s);
    s->gust = draw(s);
    look(s);
}

void c_step(Sail* s) {
    int step = (int)s->actions[0] - 1;
    if (step > 0 && s->wind + s->gust > 1.4f) step = -1;
    s->stair += step;
    s->stair = s->stair < 0 ? 0 : s->stair > s->height ? s->height : s->stair;
    s->wind = draw(s);
    s->gust = draw(s);
    s->tick++;
    s->on_top += s->stair == s->height;
    s->rewards[0] = s->stair == s->height ? 0.5f : 0.0f;
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

void c_render(Sail* s) { (void)s; }
void c_close(Sail* s) { (void)s; }
