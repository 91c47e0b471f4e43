// expect: PUF422
// Fish from a small boat until the weather turns. Fault: the catch is not set to zero when a new
// day begins, so that returns grow from day to day and look like learning.
#pragma once
#define SPOTS 5
#define OBS_SIZE (2 * SPOTS)
#define ACT_SIZES {SPOTS}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Fisher {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float fish[SPOTS];
    float caught;
    int at, hour, storm;
} Fisher;

static float luck(Fisher* f) {
    f->rng = f->rng * 1664525u + 1013904223u;
    return (float)(f->rng >> 8) / 16777216.0f;
}

static void look(Fisher* f) {
    for (int i = 0; i < SPOTS; i++) {
        f->observations[i] = f->fish[i];
        f->observations[SPOTS + i] = i == f->at ? 1.0f : 0.0f;
    }
}

void c_reset(Fisher* f) {
    for (int i = 0; i < SPOTS; i++) f->fish[i] = luck(f);
    f->at = 0;
    f->hour = 0;
    f->storm = 10 + (int)(20.0f * luck(f));
    look(f);
}

void c_step(Fisher* f) {
    int to = (int)f->actions[0];
    f->rewards[0] = 0.0f;
    f->terminals[0] = 0.0f;
    if (to == f->at) {
        float got = 0.5f * f->fish[to];
        f->fish[to] -= got;
        f->rewards[0] = got;
        f->caught += got;
    }
    f->at = to;
    f->hour++;
    if (f->hour >= f->storm) {
        f->terminals[0] = 1.0f;
        f->log.perf += f->fish[f->at] < 0.1f ? 1.0f : 0.0f;
        f->log.score += f->caught;
        f->log.episode_return += f->caught;
        f->log.episode_length += (float)f->hour;
        f->log.n += 1.0f;
        c_reset(f);
        return;
    }
    look(f);
}

void c_render(Fisher* f) { (void)f; }
void c_close(Fisher* f) { (void)f; }
