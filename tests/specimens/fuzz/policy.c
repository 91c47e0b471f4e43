// policy.c -- bytes that may be a policy -> puffernet.h loads and plays them, or says why not
//
//     policy FILE COUNT       COUNT changed copies of FILE; prints "N read, M refused"
//
// With -DLIBFUZZER it has no main: libFuzzer changes the bytes. Three of four inputs get a checksum
// that is right, so that what stands behind it is reached.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "puffernet.h"

enum { AGENTS = 2, TICKS = 2, OBS = 25, WIDTH = 5, MOST = 1 << 16 };

// Loads the bytes as a file; 1 if it plays
static int try_policy(const unsigned char* bytes, size_t size) {
    static FILE* file;
    static char path[64];
    if (!file) {
        file = tmpfile();
        if (!file) abort();
        snprintf(path, sizeof path, "/dev/fd/%d", fileno(file));
    }
    rewind(file);
    if (ftruncate(fileno(file), 0) || fwrite(bytes, 1, size, file) != size || fflush(file)) abort();
    rewind(file);
    int sizes[1] = {WIDTH};
    PufferNet* net = puffernet_load(path, AGENTS, OBS, sizes, 1);
    if (!net) return 0;
    float observations[AGENTS * OBS] = {0}, actions[AGENTS], terminals[AGENTS] = {0};
    unsigned char small[AGENTS * OBS] = {0};
    for (int tick = 0; tick < TICKS; tick++) {
        if (net->bytes) puffernet_act(net, small, actions, terminals);
        else puffernet_act(net, observations, actions, terminals);
        for (int agent = 0; agent < AGENTS; agent++)
            if (!(actions[agent] >= 0 && actions[agent] < WIDTH)) abort();
    }
    puffernet_free(net);
    return 1;
}

static void seal(unsigned char* bytes, size_t size) {
    if (size < 16) return;
    uint32_t crc = puffernet_crc(bytes, size - 16);
    memcpy(bytes + size - 16, &crc, 4);
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > MOST) return 0;
    unsigned char bytes[MOST];
    memcpy(bytes, data, size);
    if (size && data[0] % 4) seal(bytes, size);
    try_policy(bytes, size);
    return 0;
}
#else
static uint64_t state = 1;

static uint32_t draw(uint32_t below) {      // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 2685821657736338717u) >> 33) % below;
}

// tail: bytes of the trailer, where most changes are
static size_t change(unsigned char* bytes, size_t size, uint32_t tail) {
    static const uint32_t words[] = {0, 1, 2, 7, 0x7fffffff, 0x80000000u, 0xffffffffu, 1u << 24};
    size_t trailer = size > tail ? size - tail : 0;
    for (int changes = 1 + (int)draw(4); changes > 0; changes--) {
        size_t at = draw(2) ? trailer + draw(tail) : draw((uint32_t)size + 1);
        if (at >= size) at = size - 1;
        switch (draw(5)) {
        case 0: bytes[at] ^= (unsigned char)(1u << draw(8)); break;
        case 1: bytes[at] = (unsigned char)draw(256); break;
        case 2:
            at &= ~(size_t)3;
            if (at + 4 <= size) memcpy(bytes + at, &words[draw(8)], 4);
            break;
        case 3:
            if (draw(8) == 0) size = 1 + draw((uint32_t)size);
            break;
        default: {
            size_t count = 1 + draw(64);
            if (draw(8) == 0 && size + count < MOST) {
                memmove(bytes + at + count, bytes + at, size - at);
                size += count;
            }
        }
        }
        trailer = size > tail ? size - tail : 0;
    }
    return size;
}

int main(int argc, char** argv) {
    static unsigned char seed[MOST], bytes[2 * MOST];
    FILE* file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    size_t whole = file ? fread(seed, 1, MOST / 2, file) : 0;
    if (whole < 16) return 2;
    fclose(file);
    uint32_t tail = puffernet_word(seed + whole - 12);
    if (!freopen("/dev/null", "w", stderr)) return 2;       // what it refuses, it says there
    long read = 0, count = atol(argv[2]);
    for (long input = 0; input < count; input++) {
        memcpy(bytes, seed, whole);
        size_t size = input ? change(bytes, whole, tail) : whole;
        if (draw(4)) seal(bytes, size);
        read += try_policy(bytes, size);
    }
    printf("%ld read, %ld refused\n", read, count - read);
    return 0;
}
#endif
