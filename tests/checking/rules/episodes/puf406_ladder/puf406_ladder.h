// expect: PUF406
/* Climb a ladder while it shakes. Falling off ends the episode; so does running out of time,
   but there the terminal was forgotten. */
#pragma once
#include <string.h>
#define MAX_RUNGS 16
#define OBS_SIZE (MAX_RUNGS + 1)
#define ACT_SIZES {3}

struct Log { float perf, score, episode_return, episode_length, n; };
typedef struct Log Log;

typedef struct {
    Log log;
    unsigned char *observations;
    float *actions, *rewards, *terminals;
    int num_agents;
    unsigned int rng;
    int rungs;
    int at, grip, tick;
    float ret;
} Ladder;

void init(Ladder *l)
{
    if (l->rungs > MAX_RUNGS) l->rungs = MAX_RUNGS;
}

static void look(Ladder *l)
{
    memset(l->observations, 0, OBS_SIZE);
    l->observations[l->at] = 1;
    l->observations[MAX_RUNGS] = (unsigned char)l->grip;
}

void c_reset(Ladder *l)
{
    l->rng = l->rng * 1103515245u + 12345u;
    l->at = (int)((l->rng >> 16) % 3u);
    l->grip = 4;
    l->tick = 0;
    l->ret = 0;
    look(l);
}

static void finish(Ladder *l, int won)
{
    l->log.perf += won;
    l->log.score += won;
    l->log.episode_return += l->ret;
    l->log.episode_length += l->tick;
    l->log.n += 1;
    c_reset(l);
}

void c_step(Ladder *l)
{
    int move = (int)l->actions[0];
    l->rewards[0] = 0;
    l->terminals[0] = 0;
    l->tick++;
    l->rng = l->rng * 1103515245u + 12345u;
    if ((l->rng >> 16) % 4u == 0) l->grip--;
    if (move == 0 && l->grip < 4) l->grip++;
    if (move == 1 && l->at < l->rungs) l->at++;
    if (move == 2 && l->at > 0) l->at--;
    if (l->grip <= 0) {
        l->rewards[0] = -1;
        l->ret -= 1;
        l->terminals[0] = 1;
        finish(l, 0);
    } else if (l->at == l->rungs) {
        l->rewards[0] = 1;
        l->ret += 1;
        l->terminals[0] = 1;
        finish(l, 1);
    } else if (l->tick == 40) {
        finish(l, 0);
    } else {
        look(l);
    }
}

void c_render(Ladder *l) { (void)l; }
void c_close(Ladder *l) { (void)l; }
