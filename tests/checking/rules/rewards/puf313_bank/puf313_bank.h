// expect: PUF313
// Rob as many safes of a bank as you dare before the guard comes. Fault: rewards are dollars.
#pragma once
#define SAFES 8
#define OBS_SIZE (SAFES + 1)
#define ACT_SIZES {SAFES + 1}
typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Bank {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int dollars[SAFES];
    int loot, alarm, tick;
} Bank;

static unsigned int bits(Bank* b) {
    b->rng = b->rng * 1103515245u + 12345u;
    return b->rng >> 16;
}

static void see(Bank* b) {
    for (int i = 0; i < SAFES; i++) b->observations[i] = (float)b->dollars[i] / 100.0f;
    b->observations[SAFES] = (float)b->alarm / 10.0f;
}

void c_reset(Bank* b) {
    for (int i = 0; i < SAFES; i++) b->dollars[i] = 10 + (int)(bits(b) % 91);
    b->loot = b->alarm = b->tick = 0;
    see(b);
}

void c_step(Bank* b) {
    int a = (int)b->actions[0];
    b->rewards[0] = 0.0f;
    b->terminals[0] = 0.0f;
    b->tick++;
    int leave = a == SAFES, caught = 0;
    if (!leave) {
        b->rewards[0] = (float)b->dollars[a];
        b->loot += b->dollars[a];
        b->dollars[a] = 0;
        b->alarm += (int)(bits(b) % 3);
        caught = b->alarm >= 10;
        if (caught) b->rewards[0] -= (float)b->loot;
    }
    if (leave || caught) {
        float total = caught ? 0.0f : (float)b->loot;
        b->terminals[0] = 1.0f;
        b->log.perf += total / (100.0f * SAFES);
        b->log.score += total;
        b->log.episode_return += total;
        b->log.episode_length += (float)b->tick;
        b->log.n += 1.0f;
        c_reset(b);
        return;
    }
    see(b);
}

void c_render(Bank* b) { (void)b; }
void c_close(Bank* b) { (void)b; }
