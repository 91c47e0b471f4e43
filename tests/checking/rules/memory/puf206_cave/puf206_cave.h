// expect: PUF110 PUF206
// Dig for gems in a cave of w x h tiles. Fault: each c_reset allocates a new map and drops the old
// one; c_close frees the last.
#pragma once
#include <stdlib.h>
#include <string.h>

#define OBS_SIZE (env->w * env->h)
#define ACT_SIZES {4}
enum { FREE_TILE, ROCK, GEM, DIGGER };

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Cave {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int w, h;
    unsigned char* map;     // (h, w), from init to c_close
    int x, y, found, tick;
} Cave;

static unsigned int draw(Cave* cave, int below) {
    cave->rng = cave->rng * 1103515245u + 12345u;
    return (cave->rng >> 16) % (unsigned int)below;
}

static void show(Cave* cave) {
    memcpy(cave->observations, cave->map, (size_t)(cave->w * cave->h));
    cave->observations[cave->y * cave->w + cave->x] = DIGGER;
}

void c_reset(Cave* cave) {
    int tiles = cave->w * cave->h;
    cave->map = (unsigned char*)malloc((size_t)tiles);
    memset(cave->map, ROCK, (size_t)tiles);
    for (int gems = 3; gems > 0; gems--) cave->map[draw(cave, tiles)] = GEM;
    cave->x = (int)draw(cave, cave->w);
    cave->y = (int)draw(cave, cave->h);
    cave->map[cave->y * cave->w + cave->x] = FREE_TILE;
    cave->found = cave->tick = 0;
    show(cave);
}

void c_step(Cave* cave) {
    static const int dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
    int a = (int)cave->actions[0];
    int x = cave->x + dx[a], y = cave->y + dy[a];
    cave->rewards[0] = 0.0f;
    cave->terminals[0] = 0.0f;
    cave->tick++;
    if (x >= 0 && x < cave->w && y >= 0 && y < cave->h) {
        cave->x = x;
        cave->y = y;
        unsigned char* tile = &cave->map[y * cave->w + x];
        if (*tile == GEM) {
            cave->rewards[0] = 1.0f;
            cave->found++;
        }
        *tile = FREE_TILE;
    }
    if (cave->found == 2 || cave->tick >= 150) {
        cave->terminals[0] = 1.0f;
        cave->log.perf += cave->found == 2;
        cave->log.score += (float)cave->found;
        cave->log.episode_return += (float)cave->found;
        cave->log.episode_length += (float)cave->tick;
        cave->log.n += 1.0f;
        c_reset(cave);
        return;
    }
    show(cave);
}

void c_render(Cave* cave) { (void)cave; }
void c_close(Cave* cave) { free(cave->map); }
