// expect: PUF111
// Guess a number by halves: higher, lower, or say that it is the one in the middle. Fault: a
// line for each finished round, left over from the first day.
#pragma once
#include <stdio.h>

#define OBS_SIZE 3
#define ACT_SIZES {3}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Quiz {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int low, high, secret, tick;
} Quiz;

static void ask(Quiz* q) {
    q->observations[0] = (float)q->low / 64.0f;
    q->observations[1] = (float)q->high / 64.0f;
    q->observations[2] = (float)(q->secret > (q->low + q->high) / 2)
                       - (float)(q->secret < (q->low + q->high) / 2);
}

static void report(const Quiz* q, int right) {
    const char* how = right ? "right" : "wrong";
#ifdef QUIZ_LOUD
    fprintf(stderr, "the secret was %d\n", q->secret);
#endif
    printf("%s after %d\n", how, q->tick);
}

void c_reset(Quiz* q) {
    q->rng = q->rng * 134775813u + 1u;
    q->secret = (int)(q->rng >> 26);
    q->low = 0;
    q->high = 64;
    q->tick = 0;
    ask(q);
}

void c_step(Quiz* q) {
    int middle = (q->low + q->high) / 2;
    q->rewards[0] = -0.01f;
    q->terminals[0] = 0.0f;
    q->tick++;
    if (q->actions[0] == 0.0f) q->low = middle;
    if (q->actions[0] == 1.0f) q->high = middle;
    if (q->actions[0] == 2.0f || q->high - q->low < 1 || q->tick == 20) {
        int right = q->actions[0] == 2.0f && q->secret == middle;
        q->rewards[0] = right ? 1.0f : -1.0f;
        q->terminals[0] = 1.0f;
        q->log.perf += (float)right;
        q->log.score += (float)right;
        q->log.episode_return += q->rewards[0] - 0.01f * (float)(q->tick - 1);
        q->log.episode_length += (float)q->tick;
        q->log.n += 1.0f;
        report(q, right);
        c_reset(q);
        return;
    }
    ask(q);
}

void c_render(Quiz* q) { (void)q; }
void c_close(Quiz* q) { (void)q; }
