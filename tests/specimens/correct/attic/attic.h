// Sort boxes in an attic. Memory of every kind, all of it freed: from init, lazily from c_step,
// grown by realloc up to what the game needs, and anew on each reset after the old was freed.
#pragma once
#include <stdlib.h>
#include <string.h>

#define OBS_SIZE 6
#define ACT_SIZES {4}

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Attic {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int boxes;              // of each episode
    int* weight;            // (boxes), from init
    int* shelf;             // (capacity) what was put up, in order; grows while it is needed
    int capacity;
    char* label;            // of this episode, from c_reset
    int* tally;             // (4), from the first c_step
    int up, at, tick;
    float paid;
} Attic;

static int roll(Attic* a, int sides) {
    a->rng = a->rng * 1664525u + 1013904223u;
    return (int)((a->rng >> 16) % (unsigned int)sides);
}

void init(Attic* a) { a->weight = (int*)calloc((size_t)a->boxes, sizeof(int)); }

static void look(Attic* a) {
    a->observations[0] = (float)a->weight[a->at] / 10.0f;
    a->observations[1] = a->up ? (float)a->shelf[a->up - 1] / 10.0f : 0.0f;
    a->observations[2] = (float)a->up / (float)a->boxes;
    a->observations[3] = (float)a->at / (float)a->boxes;
    a->observations[4] = (float)a->tick / 64.0f;
    a->observations[5] = (float)(a->label[0] - 'a') / 26.0f;
}

void c_reset(Attic* a) {
    const char text[2] = {(char)('a' + roll(a, 26)), 0};
    // puffer: allow(PUF110) a word on each reset
    free(a->label);
    a->label = strdup(text);
    for (int i = 0; i < a->boxes; i++) a->weight[i] = 1 + roll(a, 10);
    a->up = a->at = a->tick = 0;
    a->paid = 0.0f;
    look(a);
}

static void put_up(Attic* a, int weight) {
    if (a->up == a->capacity) {
        a->capacity = a->capacity ? 2 * a->capacity : 4;
        a->shelf = (int*)realloc(a->shelf, (size_t)a->capacity * sizeof(int));
    }
    a->shelf[a->up++] = weight;
}

void c_step(Attic* a) {
    if (!a->tally) a->tally = (int*)calloc(4, sizeof(int));
    int action = (int)a->actions[0];
    a->tally[action]++;
    a->rewards[0] = 0.0f;
    a->terminals[0] = 0.0f;
    a->tick++;
    if (action == 0) {                      // up with it: heavy boxes belong below
        int weight = a->weight[a->at];
        a->rewards[0] = a->up == 0 || weight <= a->shelf[a->up - 1] ? 0.2f : -0.2f;
        put_up(a, weight);
        a->weight[a->at] = 1 + roll(a, 10);
    } else if (action == 1 && a->up > 0) {  // down with the last one
        a->up--;
        a->rewards[0] = -0.1f;
    } else if (action == 2) {
        a->at = (a->at + 1) % a->boxes;
    } else {
        a->at = roll(a, a->boxes);
    }
    a->paid += a->rewards[0];
    if (a->up == a->boxes || a->tick >= 64) {
        a->terminals[0] = 1.0f;
        a->log.perf += (float)a->up / (float)a->boxes;
        a->log.score += (float)a->up;
        a->log.episode_return += a->paid;
        a->log.episode_length += (float)a->tick;
        a->log.n += 1.0f;
        c_reset(a);
        return;
    }
    look(a);
}

void c_render(Attic* a) { (void)a; }

void c_close(Attic* a) {
    free(a->weight);
    free(a->shelf);
    free(a->label);
    free(a->tally);
}
