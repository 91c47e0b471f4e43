// expect: PUF422
// Keep a ball in the air. A show is three balls. Fault: each drop writes an entry, with the catches
// and the beats of the whole show so far.
#pragma once
#define OBS_SIZE 3
#define ACT_SIZES {3}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Juggler {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int balls, beats, caught, high, ball, hand;
} Juggler;

static int lot(Juggler* j, int n) {
    j->rng = j->rng * 1664525u + 1013904223u;
    return (int)((j->rng >> 16) % (unsigned)n);
}

static void toss(Juggler* j) {
    j->high = 2 + lot(j, 3);
    j->ball = lot(j, 5);
}

static void watch(Juggler* j) {
    j->observations[0] = (float)j->high / 4.0f;
    j->observations[1] = (float)j->ball / 4.0f;
    j->observations[2] = (float)j->hand / 4.0f;
}

void c_reset(Juggler* j) {
    j->balls = 3;
    j->beats = 0;
    j->caught = 0;
    j->hand = lot(j, 5);
    toss(j);
    watch(j);
}

void c_step(Juggler* j) {
    j->rewards[0] = 0.0f;
    j->terminals[0] = 0.0f;
    j->beats++;
    j->hand += (int)j->actions[0] - 1;
    j->hand = j->hand < 0 ? 0 : j->hand > 4 ? 4 : j->hand;
    if (--j->high == 0) {
        if (j->hand == j->ball) {
            j->rewards[0] = 1.0f;
            j->caught++;
        } else {
            j->balls--;
            j->log.perf += j->caught > 20 ? 1.0f : (float)j->caught / 20.0f;
            j->log.score += (float)j->caught;
            j->log.episode_return += (float)j->caught;
            j->log.episode_length += (float)j->beats;
            j->log.n += 1.0f;
        }
        toss(j);
        if (j->balls == 0) {
            j->terminals[0] = 1.0f;
            c_reset(j);
        }
    }
    watch(j);
}

void c_render(Juggler* j) { (void)j; }
void c_close(Juggler* j) { (void)j; }
