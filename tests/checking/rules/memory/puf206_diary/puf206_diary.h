// expect: PUF110 PUF206
// Guess tomorrow's weather. Fault: every finished episode is kept in a list that nothing reads, and
// that is freed when the env is closed, not before.
#pragma once
#include <stdlib.h>

#define OBS_SIZE 4
#define ACT_SIZES {3}

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Page {
    struct Page* next;
    int right, days;
} Page;

typedef struct Diary {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    Page* pages;
    int weather[2];
    int right, days;
} Diary;

static int dice(Diary* d, int sides) {
    d->rng = d->rng * 22695477u + 1u;
    return (int)((d->rng >> 16) % (unsigned int)sides);
}

static void look(Diary* d) {
    d->observations[0] = (float)d->weather[0] - 1.0f;
    d->observations[1] = (float)d->weather[1] - 1.0f;
    d->observations[2] = (float)d->right / 20.0f;
    d->observations[3] = (float)d->days / 60.0f;
}

static void keep(Diary* d) {
    Page* page = (Page*)malloc(sizeof(Page));
    page->next = d->pages;
    page->right = d->right;
    page->days = d->days;
    d->pages = page;
}

void c_reset(Diary* d) {
    keep(d);
    d->weather[0] = dice(d, 3);
    d->weather[1] = dice(d, 3);
    d->right = d->days = 0;
    look(d);
}

void c_step(Diary* d) {
    int guess = (int)d->actions[0];
    int next = dice(d, 4) == 0 ? dice(d, 3) : d->weather[0];
    int hit = guess == next;
    d->rewards[0] = hit ? 1.0f : 0.0f;
    d->terminals[0] = 0.0f;
    d->weather[1] = d->weather[0];
    d->weather[0] = next;
    d->right += hit;
    d->days++;
    if (d->right == 20 || d->days == 60) {
        d->terminals[0] = 1.0f;
        d->log.perf += d->right / 20.0f;
        d->log.score += (float)d->right;
        d->log.episode_return += (float)d->right;
        d->log.episode_length += (float)d->days;
        d->log.n += 1.0f;
        c_reset(d);
        return;
    }
    look(d);
}

void c_render(Diary* d) { (void)d; }

void c_close(Diary* d) {
    while (d->pages) {
        Page* page = d->pages;
        d->pages = page->next;
        free(page);
    }
}
