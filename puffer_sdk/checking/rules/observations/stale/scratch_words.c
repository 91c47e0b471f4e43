/* scratch_words.c -- is a word of the state one that c_reset sets, or scratch of a step? */
#include "harness.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char* place_at(const Batch* b, StatePlace place) {    // of env 0
    char* base = env_struct(b, 0);
    if (place.pointer >= 0) {
        memcpy(&base, base + place.pointer, sizeof base);
    }
    return base + place.offset;
}

bool reset_sets(Batch* b, const State* s, size_t word) {
    enum { TRIES = 4 };    // it may draw the same bits
    StatePlace place = state_place(s, word);
    int* kept = shared(sizeof *kept);
    bool good = true;
    for (int k = 0; k < TRIES && good && *kept == k; k++) {
        if (in_fork(&good)) {
            uint32_t other, now;
            memcpy(&other, place_at(b, place), sizeof other);
            other ^= 1u;
            memcpy(place_at(b, place), &other, sizeof other);
            batch_seed(b, 0, (uint32_t)mix((uint64_t)k + 277));
            batch_reset(b, 0);
            memcpy(&now, place_at(b, place), sizeof now);
            *kept += now == other;
            _exit(0);
        }
    }
    bool all = *kept == TRIES;
    munmap(kept, sizeof *kept);
    return !all;
}
