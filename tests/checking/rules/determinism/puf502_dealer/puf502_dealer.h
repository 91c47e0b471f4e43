// expect: PUF502
// Guess whether the next card is higher. Fault: draw takes the generator's state by value, so that
// it never moves on, and every deal of an env holds the same cards.
#pragma once
#define CARDS 12
#define OBS_SIZE 2
#define ACT_SIZES {2}           // lower, higher

typedef struct Log { float perf; float score; float episode_return; float episode_length; float n; } Log;

typedef struct Dealer {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int cards[CARDS];
    int at, right;
} Dealer;

static int draw(unsigned int state, int which) {
    state += 0x9E3779B9u * (unsigned int)which;
    state = (state ^ (state >> 16)) * 0x21F0AAADu;
    return (int)((state ^ (state >> 15)) % 13u);
}

static void look(Dealer* d) {
    d->observations[0] = (float)d->cards[d->at] / 12.0f;
    d->observations[1] = (float)d->at / CARDS;
}

void c_reset(Dealer* d) {
    for (int i = 0; i < CARDS; i++) d->cards[i] = draw(d->rng, i);
    d->at = d->right = 0;
    look(d);
}

void c_step(Dealer* d) {
    int higher = d->cards[d->at + 1] > d->cards[d->at], hit = (int)d->actions[0] == higher;
    d->at++;
    d->right += hit;
    d->rewards[0] = hit ? 0.1f : 0.0f;
    d->terminals[0] = 0.0f;
    if (!hit || d->at == CARDS - 1) {
        d->terminals[0] = 1.0f;
        d->log.perf += (float)d->right / (CARDS - 1);
        d->log.score += (float)d->right;
        d->log.episode_return += 0.1f * (float)d->right;
        d->log.episode_length += (float)d->at;
        d->log.n += 1.0f;
        c_reset(d);
        return;
    }
    look(d);
}

void c_render(Dealer* d) { (void)d; }
void c_close(Dealer* d) { (void)d; }
