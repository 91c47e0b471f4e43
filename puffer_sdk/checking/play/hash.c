/* hash.c -- random numbers without a state, and hashes of bytes. */
#include "harness.h"
#include <string.h>

uint64_t mix(uint64_t x) {    // a 64-bit finaliser: every bit of x reaches every bit
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// Four words at a time, which do not wait for one another: crowds have rows of megabytes
static size_t hash_quads(uint64_t lanes[4], const unsigned char* bytes, size_t size) {
    size_t done = 0;
    for (; done + 32 <= size; done += 32) {
        uint64_t words[4];
        memcpy(words, bytes + done, 32);
        for (int k = 0; k < 4; k++) {
            lanes[k] = (lanes[k] ^ words[k]) * 0x9FB21C651E98DF25u;
            lanes[k] ^= lanes[k] >> 32;
        }
    }
    return done;
}

uint64_t hash_bytes(uint64_t hash, const void* data, size_t size) {
    enum { LONG = 256 };
    const unsigned char* bytes = data;
    if (size >= LONG) {
        uint64_t lanes[4] = {hash, hash + 1, hash + 2, hash + 3};
        size_t done = hash_quads(lanes, bytes, size);
        bytes += done;
        size -= done;
        hash = mix(lanes[0] ^ mix(lanes[1] ^ mix(lanes[2] ^ mix(lanes[3]))));
    }
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9FB21C651E98DF25u;
        hash ^= hash >> 32;
    }
    for (; size > 0; size--, bytes++) {
        hash = (hash ^ *bytes) * 0x9FB21C651E98DF25u;
    }
    return hash ^ (hash >> 29);
}
