// expect: PUF115
// Say again what was heard two ticks ago. Fault: before any of its functions is called, it reads the
// machine's name, looks for the network, and takes Ctrl-C.
#pragma once
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OBS_SIZE 4
#define ACT_SIZES {4}

typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;

typedef struct Parrot {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int heard[3];       // now, and one and two ticks ago
    int tick, right;
} Parrot;

static void ignore(int number) { (void)number; }

static const char name_file[] = "/etc/hostname";

__attribute__((constructor)) static void begin(void) {
    FILE* file = fopen(name_file, "r");
    if (file) fclose(file);
    int line = socket(AF_INET, SOCK_DGRAM, 0);
    if (line >= 0) close(line);
    signal(SIGINT, ignore);
}

static int hear(Parrot* parrot) {
    parrot->rng = parrot->rng * 1664525u + 1013904223u;
    return (int)(parrot->rng >> 30);
}

static void observe(Parrot* parrot) {
    for (int i = 0; i < 4; i++) parrot->observations[i] = parrot->heard[0] == i ? 1.0f : 0.0f;
}

void c_reset(Parrot* parrot) {
    for (int i = 0; i < 3; i++) parrot->heard[i] = hear(parrot);
    parrot->tick = parrot->right = 0;
    observe(parrot);
}

void c_step(Parrot* parrot) {
    int right = (int)parrot->actions[0] == parrot->heard[2];
    parrot->rewards[0] = right ? 1.0f : 0.0f;
    parrot->terminals[0] = 0.0f;
    parrot->right += right;
    parrot->heard[2] = parrot->heard[1];
    parrot->heard[1] = parrot->heard[0];
    parrot->heard[0] = hear(parrot);
    if (++parrot->tick == 12) {
        parrot->terminals[0] = 1.0f;
        parrot->log.perf += (float)parrot->right / 12.0f;
        parrot->log.score += (float)parrot->right;
        parrot->log.episode_return += (float)parrot->right;
        parrot->log.episode_length += 12.0f;
        parrot->log.n += 1.0f;
        c_reset(parrot);
        return;
    }
    observe(parrot);
}

void c_render(Parrot* parrot) { (void)parrot; }
void c_close(Parrot* parrot) { (void)parrot; }
