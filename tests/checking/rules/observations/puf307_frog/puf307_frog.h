// expect: PUF307
// A frog hops up the rows of a road. Fault: the rows it has come are subtracted the wrong way round,
// so that 1, 2, 3 are seen as 255, 254, 253.
#pragma once
#define ROWS 8
#define OBS_SIZE 2
#define ACT_SIZES {3}           // stay, up, down

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Frog {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int row, gap, tick;
} Frog;

static int draw(Frog* f) {
    f->rng = f->rng * 1664525u + 1013904223u;
    return (int)(f->rng >> 29);
}

static void look(Frog* f) {
    f->observations[0] = (unsigned char)(f->row - ROWS);
    f->observations[1] = (unsigned char)f->gap;
}

void c_reset(Frog* f) {
    f->row = ROWS;
    f->gap = draw(f);
    f->tick = 0;
    look(f);
}

void c_step(Frog* f) {
    int action = (int)f->actions[0];
    f->row += action == 2 ? f->row < ROWS : -(action == 1);
    f->tick++;
    int hit = f->row < ROWS && f->gap == 0, home = !hit && f->row == 0;
    int over = hit || home || f->tick == 60;
    f->gap = draw(f);
    f->rewards[0] = home ? 1.0f : hit ? -1.0f : 0.0f;
    f->terminals[0] = over ? 1.0f : 0.0f;
    if (over) {
        f->log.perf += home ? 1.0f : 0.0f;
        f->log.score += f->rewards[0];
        f->log.episode_return += f->rewards[0];
        f->log.episode_length += (float)f->tick;
        f->log.n += 1.0f;
        c_reset(f);
        return;
    }
    look(f);
}

void c_render(Frog* f) { (void)f; }
void c_close(Frog* f) { (void)f; }
