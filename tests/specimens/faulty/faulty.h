/* faulty.h -- an environment that goes wrong on demand, in every way that we know of.
 *
 * The game: guess the sign of what you see. Action 1 where observations[0] > 0, else 0: reward 1.
 * [env] fault says what goes wrong, `at` on which tick of an env's life, `victim` in which env
 * (the seed it was given; 0 = all of them, so that env 0 is first).
 */
#pragma once
#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "raylib.h"

#define OBS_SIZE 4
#define ACT_SIZES {2}

enum Fault {                    // tests/test_isolation.py reads these names and numbers
    NO_FAULT = 0,
    SEGFAULT = 1,
    ASSERTION = 2,
    EXIT_0 = 3,
    EXIT_3 = 4,
    QUICK_EXIT_7 = 5,
    LOOP_IN_STEP = 6,
    LOOP_IN_RESET = 7,
    LOOP_IN_INIT = 8,
    LOOP_IN_CLOSE = 9,
    DIVIDE_BY_ZERO = 10,
    RAISE_SIGTERM = 11,
    RAISE_SIGKILL = 12,
    RAISE_SIGINT = 13,
    CLOSE_DESCRIPTORS = 14,
    CHANGE_DIRECTORY = 15,
    FORK = 16,
    FORK_AND_WAIT = 17,         // the copy never comes back
    INSTALL_HANDLERS = 18,
    PRINT_MEGABYTES = 19,
    HUGE_ALLOCATION = 20,
    NAN_OBSERVATION = 21,
    NAN_REWARD = 22,
    HUGE_REWARD = 23,
    NAN_LOG = 24,
    SEGFAULT_IN_CLOSE = 25,
    SEGFAULT_IN_INIT = 26,
    EXIT_IN_RESET = 27,
    STACK_OVERFLOW = 28,
    PRINT_THEN_DIE = 29,
    SLEEP_IN_STEP = 30,         // slow, but not hung
    PRINT_NO_NEWLINE = 31,
};

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Faulty {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    int fault, at;
    unsigned int victim;
    int agents;                 // of one env; 0 = 1
    int mortal;                 // agents whose episodes end; the others play for ever
    int length;                 // ticks of an episode; 0 = no endings at all
    int nap;                    // milliseconds that SLEEP_IN_STEP sleeps

    unsigned int seed;
    int life, tick;             // steps since init, and of this episode
    float sum;                  // rewards of agent 0 in this episode
} Faulty;

static volatile int zero = 0;
static int* volatile nowhere = (int*)8;

static void spin(void) { for (;;) zero = 0; }

static int overflow(int depth) {
    volatile char frame[4096];
    frame[depth % 4096] = (char)depth;
    return overflow(depth + 1) + frame[0];
}

static int strikes(Faulty* env, int fault) {
    return env->fault == fault && (!env->victim || env->victim == env->seed);
}

void init(Faulty* env) {
    env->seed = env->rng;
    env->num_agents = env->agents > 0 ? env->agents : 1;
    if (strikes(env, LOOP_IN_INIT)) spin();
    if (strikes(env, SEGFAULT_IN_INIT)) *nowhere = 1;
}

static void observe(Faulty* env) {
    for (int a = 0; a < env->num_agents; a++)
        for (int i = 0; i < OBS_SIZE; i++) {
            env->rng = env->rng * 1664525u + 1013904223u;
            env->observations[a * OBS_SIZE + i] = (float)(env->rng >> 8) / 8388608.0f - 1.0f;
        }
}

void c_reset(Faulty* env) {
    if (strikes(env, LOOP_IN_RESET)) spin();
    if (strikes(env, EXIT_IN_RESET)) exit(5);
    env->tick = 0;
    env->sum = 0;
    observe(env);
}

static void on_signal(int number) { (void)number; }

// What happens once, on tick `at`
static void strike(Faulty* env) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGCHLD, SIGUSR1, SIGALRM};
    char line[1024];
    switch (env->fault) {
        case SEGFAULT: *nowhere = 1; break;
        case ASSERTION: assert(!"the ball left the table"); break;
        case EXIT_0: exit(0);
        case EXIT_3: exit(3);
        case QUICK_EXIT_7: _exit(7);
        case LOOP_IN_STEP: spin(); break;
        case DIVIDE_BY_ZERO: zero = 100 / zero; break;
        case RAISE_SIGTERM: raise(SIGTERM); break;
        case RAISE_SIGKILL: raise(SIGKILL); break;
        case RAISE_SIGINT: raise(SIGINT); break;
        case CLOSE_DESCRIPTORS:
            for (int fd = 0; fd < 1024; fd++) close(fd);
            break;
        case CHANGE_DIRECTORY: if (chdir("/")) abort(); break;
        case FORK: fork(); break;
        case FORK_AND_WAIT: if (fork() == 0) for (;;) pause(); break;
        case INSTALL_HANDLERS:
            for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                signal(numbers[i], on_signal);
            raise(SIGINT);
            raise(SIGTERM);
            break;
        case PRINT_MEGABYTES:
            memset(line, 'x', sizeof(line) - 2);
            line[sizeof(line) - 2] = '\n';
            line[sizeof(line) - 1] = 0;
            for (int i = 0; i < 256; i++) {
                fputs(line, stdout);
                fputs(line, stderr);
            }
            break;
        case HUGE_ALLOCATION: ((volatile char*)malloc((size_t)1 << 60))[0] = 1; break;
        case STACK_OVERFLOW: zero = overflow(0); break;
        case PRINT_THEN_DIE: printf("last words on tick %d\n", env->life); *nowhere = 1; break;
        case PRINT_NO_NEWLINE: printf("half a line"); exit(9);
        default: break;
    }
}

void c_step(Faulty* env) {
    env->life++;
    env->tick++;
    int mine = !env->victim || env->victim == env->seed;
    if (mine && env->life % (env->at > 0 ? env->at : 1) == 0) {
        strike(env);
        if (env->fault == SLEEP_IN_STEP) usleep((useconds_t)env->nap * 1000);
    }
    int over = env->length > 0 && env->tick >= env->length;
    for (int a = 0; a < env->num_agents; a++) {
        float good = (env->actions[a] > 0.5f) == (env->observations[a * OBS_SIZE] > 0) ? 1.0f : 0;
        env->rewards[a] = good;
        env->terminals[a] = over && (env->mortal == 0 || a < env->mortal) ? 1.0f : 0.0f;
        if (a == 0) env->sum += good;
    }
    if (mine && env->life >= env->at) {
        if (env->fault == NAN_REWARD) env->rewards[0] = NAN;
        if (env->fault == HUGE_REWARD) env->rewards[0] = env->life % 2 ? 3e38f : -3e38f;
    }
    if (over) {
        env->log.perf += env->fault == NAN_LOG ? NAN : env->sum / (float)env->tick;
        env->log.score += env->sum;
        env->log.episode_return += env->sum;
        env->log.episode_length += (float)env->tick;
        env->log.n += 1;
        env->tick = 0;
        env->sum = 0;
    }
    observe(env);
    if (mine && env->life >= env->at && env->fault == NAN_OBSERVATION)
        env->observations[2] = NAN;
}

void c_render(Faulty* env) { (void)env; }

void c_close(Faulty* env) {
    if (strikes(env, LOOP_IN_CLOSE)) spin();
    if (strikes(env, SEGFAULT_IN_CLOSE)) *nowhere = 1;
}
