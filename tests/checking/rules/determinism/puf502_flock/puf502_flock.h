// expect: PUF502
// Ducks fly to a pond. Fault: their places are drawn from a copy of the generator that is never
// stored back, so that all ducks of a flock start at the same place.
#pragma once
#define DUCKS 4
#define OBS_SIZE 2
#define ACT_SIZES {3, 3}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Duck { float x, y, paid; int tick; } Duck;

typedef struct Flock {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Duck ducks[DUCKS];
} Flock;

static float draw(unsigned int* rng) {
    *rng = *rng * 1664525u + 1013904223u;
    return (float)(*rng >> 8) / 16777216.0f;
}

static void place(Flock* f, Duck* duck) {
    unsigned int rng = f->rng;
    duck->x = draw(&rng);
    duck->y = draw(&rng);
    duck->paid = 0.0f;
    duck->tick = 0;
}

static void look(Flock* f) {
    for (int i = 0; i < DUCKS; i++) {
        f->observations[2 * i] = f->ducks[i].x;
        f->observations[2 * i + 1] = f->ducks[i].y;
    }
}

void init(Flock* f) { f->num_agents = DUCKS; }

void c_reset(Flock* f) {
    for (int i = 0; i < DUCKS; i++) place(f, &f->ducks[i]);
    look(f);
}

void c_step(Flock* f) {
    for (int i = 0; i < DUCKS; i++) {
        Duck* duck = &f->ducks[i];
        float gust = 0.02f * (draw(&f->rng) - 0.5f);
        duck->x += 0.05f * (f->actions[2 * i] - 1.0f) + gust;
        duck->y += 0.05f * (f->actions[2 * i + 1] - 1.0f) - gust;
        duck->tick++;
        float dx = duck->x - 0.5f, dy = duck->y - 0.5f, far = dx * dx + dy * dy;
        int home = far < 0.01f, lost = far > 1.0f || duck->tick == 80;
        f->rewards[i] = home ? 1.0f : 0.0f;
        f->terminals[i] = home || lost ? 1.0f : 0.0f;
        duck->paid += f->rewards[i];
        if (home || lost) {
            f->log.perf += home ? 1.0f : 0.0f;
            f->log.score += duck->paid;
            f->log.episode_return += duck->paid;
            f->log.episode_length += (float)duck->tick;
            f->log.n += 1.0f;
            place(f, duck);
        }
    }
    look(f);
}

void c_render(Flock* f) { (void)f; }
void c_close(Flock* f) { (void)f; }
