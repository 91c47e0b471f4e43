// Moves bytes about: memcpy, memset and memmove at every offset from a word, of every small size, of
// types that lie at 1, 2, 4 and 8. An observation is a sum over all that was written.
#pragma once
#include <stdlib.h>
#include <string.h>

#define OBS_SIZE  13
#define ACT_SIZES {2}
#define ROOM      96
#define FAR       1000

typedef struct Log {
    float score;
    float n;
} Log;

typedef struct Crate {      // 8 bytes and their half, so that its size ends between lines
    double weight;
    short marks[3];
    float price;
} Crate;

typedef struct Mover {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick;
    unsigned char from[ROOM], to[ROOM];
    short shorts[ROOM];
    float floats[ROOM];
    Crate crates[5];
    float* pile;            // [FAR]
} Mover;

static unsigned int sum_of(const void* bytes, size_t size) {
    const unsigned char* at = bytes;
    unsigned int sum = 5381;
    for (size_t i = 0; i < size; i++) sum = sum * 33 + at[i];
    return sum;
}

static void fill(Mover* env) {
    for (int i = 0; i < ROOM; i++) {
        env->from[i] = (unsigned char)rand();
        env->shorts[i] = (short)rand();
        env->floats[i] = (float)(rand() % 1000);
    }
}

static void look(Mover* env) {
    unsigned int sums[OBS_SIZE] = {0};
    fill(env);
    for (int size = 0; size <= 37; size++) {        // every offset of both, every size
        int out = env->tick % 8, in = env->tick / 8 % 8;
        memset(env->to, size, sizeof env->to);
        memcpy(env->to + out, env->from + in, (size_t)size);
        sums[0] += sum_of(env->to, sizeof env->to);
        memset(env->to + out, in - size, (size_t)size);
        sums[1] += sum_of(env->to, sizeof env->to);
        memmove(env->from + out, env->from + in, (size_t)size);
        sums[2] += sum_of(env->from, sizeof env->from);
    }
    void* anything = env->to;
    memcpy(anything, env->floats, (size_t)(env->tick % ROOM));
    sums[3] = sum_of(anything, ROOM);
    memcpy(env->shorts + 1, env->shorts + ROOM / 2, (size_t)(env->tick % 40) * sizeof(short));
    memset(env->shorts + 3, 7, (size_t)(env->tick % 9));
    sums[4] = sum_of(env->shorts, sizeof env->shorts);
    memcpy(env->floats, env->floats + ROOM / 2, (size_t)(env->tick % 47) * sizeof(float));
    memset(env->floats + 9, 0, (size_t)(env->tick % 31) * sizeof(float) + 2);
    sums[5] = sum_of(env->floats, sizeof env->floats);
    Crate crate, *crates = env->crates;
    memset(&crate, 0xa5, sizeof crate);
    crate = (Crate){.weight = env->tick, .marks = {1, 2}, .price = 0.5f};
    memcpy(&crates[env->tick % 5], &crate, sizeof crate.weight + sizeof crate.marks);
    memcpy(&crates[1].price, &env->floats[3], sizeof(float));
    memmove(crates + 1, crates, (size_t)(env->tick % 5) * sizeof *crates);
    for (int i = 0; i < 5; i++) sums[6] += sum_of(&crates[i].weight, 14) + sum_of(&crates[i].price, 4);
    memset(env->pile, 0, FAR * sizeof *env->pile);
    memcpy(env->pile + env->tick % 700, env->floats, sizeof env->floats);
    sums[7] = sum_of(env->pile, FAR * sizeof *env->pile);
    unsigned int bits, more[4];
    float given = 0.1f * env->tick;
    memcpy(&bits, &given, sizeof bits);
    memcpy(more, env->floats + 8, sizeof more);
    sums[8] = bits + more[3];
    const char* text = "moved by words";
    char said[24];
    memcpy(said, text + env->tick % 5, strlen(text + env->tick % 5) + 1);
    sums[9] = sum_of(said, strlen(said));
    env->pile = realloc(env->pile, (size_t)(FAR + env->tick % 9) * sizeof *env->pile);
    sums[10] = sum_of(env->pile, FAR * sizeof *env->pile);
    float* fresh = calloc((size_t)(3 + env->tick % 4), sizeof *fresh);
    sums[11] = sum_of(fresh, (size_t)(3 + env->tick % 4) * sizeof *fresh);
    free(fresh);
    memcpy(env->observations, sums, OBS_SIZE);      // a row of bytes lies at any address
    for (int i = 0; i < OBS_SIZE; i++) env->observations[i] ^= (unsigned char)(sums[i] ^ sums[i] >> 9);
}

void c_reset(Mover* env) {
    env->tick = 0;
    memset(env->crates, 0, sizeof env->crates);
    look(env);
}

void c_step(Mover* env) {
    env->rewards[0] = (float)(env->observations[3] % 2) - 0.5f;
    env->tick++;
    if (env->tick == 200) {
        env->terminals[0] = 1;
        env->log.score += env->rewards[0];
        env->log.n += 1;
        c_reset(env);
        return;
    }
    look(env);
}

void init(Mover* env) { env->pile = calloc(FAR, sizeof *env->pile); }
void c_render(Mover* env) { (void)env; }
void c_close(Mover* env) { free(env->pile); }
