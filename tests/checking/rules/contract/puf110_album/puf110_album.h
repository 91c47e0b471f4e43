// expect: PUF110
// Sort cards into an album of a size that differs from episode to episode. Fault: each episode
// throws the old album away and allocates another.
#pragma once
#include <stdlib.h>
#define LARGEST 12
#define OBS_SIZE 4
#define ACT_SIZES {3}       // left, right, put the card here
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Page { int card; } Page;

typedef struct Album {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int pages, at, card, put, tick;
    float total;
    Page* page;
} Album;

static void album_view(Album* a) {
    a->observations[0] = (float)a->at / LARGEST;
    a->observations[1] = (float)a->card / LARGEST;
    a->observations[2] = (float)a->pages / LARGEST;
    a->observations[3] = a->page[a->at].card ? 1.0f : 0.0f;
}

static void album_deal(Album* a) {
    a->rng = a->rng * 1664525u + 1013904223u;
    a->card = (int)((a->rng >> 16) % (unsigned int)a->pages);
}

void c_reset(Album* a) {
    a->rng = a->rng * 1664525u + 1013904223u;
    a->pages = 4 + (int)((a->rng >> 16) % (LARGEST - 3));
    free(a->page);
    a->page = (Page*)calloc((size_t)a->pages, sizeof(Page));
    a->at = a->put = a->tick = 0;
    a->total = 0.0f;
    album_deal(a);
    album_view(a);
}

void c_step(Album* a) {
    a->rewards[0] = 0.0f;
    a->terminals[0] = 0.0f;
    a->tick++;
    if (a->actions[0] == 0.0f && a->at > 0) a->at--;
    if (a->actions[0] == 1.0f && a->at < a->pages - 1) a->at++;
    if (a->actions[0] == 2.0f) {
        int right = a->at == a->card && !a->page[a->at].card;
        a->rewards[0] = right ? 0.5f : -0.1f;
        a->put += right;
        if (right) a->page[a->at].card = 1;
        album_deal(a);
    }
    a->total += a->rewards[0];
    if (a->put * 2 >= a->pages || a->tick == 100) {
        a->terminals[0] = 1.0f;
        a->log.perf += a->put * 2 >= a->pages ? 1.0f : 0.0f;
        a->log.score += (float)a->put;
        a->log.episode_return += a->total;
        a->log.episode_length += (float)a->tick;
        a->log.n += 1.0f;
        c_reset(a);
        return;
    }
    album_view(a);
}

void c_render(Album* a) { (void)a; }
void c_close(Album* a) { free(a->page); }
