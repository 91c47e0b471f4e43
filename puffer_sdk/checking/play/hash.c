/* hash.c -- random numbers without a state, and hashes of bytes. */
#include "harness.h"
#include <string.h>

uint64_t mix(uint64_t x) {    // a 64-bit finaliser: every bit of x reaches every bit
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint64_t hash_bytes(uint64_t hash, const void* data, size_t size) {
    const unsigned char* bytes = data;
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
