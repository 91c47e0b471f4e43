// expect: PUF101
// A ferry crosses a river and drifts. Fault: the drawing function is called render, not c_render.
#pragma once
#define OBS_SIZE 2
#define ACT_SIZES {3}

typedef struct Log { float score, episode_return, episode_length, n; } Log;

typedef struct Ferry {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    int num_agents;
    unsigned int rng;
    float x, current;
    int tick;
} Ferry;

static void look(Ferry* f) { f->observations[0] = f->x; f->observations[1] = f->current; }

void c_reset(Ferry* f) {
    f->rng = f->rng * 1664525u + 1013904223u;
    f->x = 0;
    f->current = (float)(f->rng >> 16) / 65536.0f - 0.5f;
    f->tick = 0;
    look(f);
}

void c_step(Ferry* f) {
    f->x += 0.1f * (f->actions[0] - 1.0f) + 0.05f * f->current;
    f->tick++;
    int done = f->x > 1 || f->x < -1 || f->tick >= 60;
    f->rewards[0] = f->x > 1;
    f->terminals[0] = (float)done;
    if (done) {
        f->log.score += f->rewards[0];
        f->log.episode_return += f->rewards[0];
        f->log.episode_length += (float)f->tick;
        f->log.n += 1;
        c_reset(f);
    } else {
        look(f);
    }
}

void render(Ferry* f) { (void)f; }
void c_close(Ferry* f) { (void)f; }
