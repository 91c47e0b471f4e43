/* columns.c -- numbers that the struct keeps: how log entries are made, and which words are random.
 *
 * columns: before each step every float of one twin's Log is set far above all that a game logs,
 * and of the other's far below. An entry that adds to a column leaves both where they are; a
 * maximum leaves the first, a minimum the second; an assignment none.
 *
 * words: a random generator's state is a word of which each change turns over half of its bits,
 * and that seldom comes to a value again.
 */
#include "harness.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTED = 1024 };    // entries from which log.n goes on

static const float far_off = 1e12f;

static float* log_of(const Batch* b, int env) { return (float*)(env_struct(b, env) + layout.log); }

static void fill_log(const Batch* b, int env, float value) {
    size_t n = (layout.log_n - layout.log) / 4;
    for (size_t i = 0; i < layout.log_size / 4; i++) {
        log_of(b, env)[i] = i == n ? COUNTED : value;
    }
}

void experiment_columns(void) {
    Batch x = batch_open(PACKED), y = batch_twin(&x);
    size_t columns = layout.log_size / 4, n = (layout.log_n - layout.log) / 4;
    int64_t *above = calloc(columns, 8), *below = calloc(columns, 8), *zero = calloc(columns, 8),
            *odd = calloc(columns, 8);
    int64_t entries = 0;
    batch_reset(&x, -1);
    batch_reset(&y, -1);
    for (int64_t t = 1; t <= options.steps; t++) {
        for (int e = 0; e < x.envs; e++) {
            fill_log(&x, e, far_off);
            fill_log(&y, e, -far_off);
        }
        watch.step = t;
        batch_act(&x, -1, t);
        copy_actions(&x, &y);
        batch_step(&x, -1, 0);
        batch_step(&y, -1, 0);
        for (int e = 0; e < x.envs; e++) {
            const float *high = log_of(&x, e), *low = log_of(&y, e);
            bool same = high[n] == low[n] && high[n] > COUNTED;
            entries += same;
            for (size_t i = 0; same && i < columns; i++) {
                above[i] += high[i] > far_off / 2 && isfinite(high[i]);
                below[i] += low[i] < -far_off / 2 && isfinite(low[i]);
                odd[i] += !isfinite(high[i]) || !isfinite(low[i]);
                zero[i] += high[i] == 0.0f && low[i] == 0.0f;
            }
        }
    }
    for (size_t i = 0; i < columns; i++) {
        if (i != n) {
            fact(column, .element = i, .entries = entries, .above = above[i], .below = below[i],
                 .zero = zero[i], .odd = odd[i]);
        }
    }
    batch_close(&x);
    batch_close(&y);
}

//------------------------------------------------------------------------------------
// words: samples of env 0's struct
//------------------------------------------------------------------------------------
enum { SAMPLES = 64, MOST_WORDS = 2048, FEW = 3, NARROW = 15 };

static uint32_t* samples;    // (SAMPLES, words)
static int taken;

static size_t num_words(void) {
    size_t words = layout.size / 4;
    return words < MOST_WORDS ? words : MOST_WORDS;
}

void words_sample(const Batch* b) {
    size_t words = num_words();
    samples = samples ? samples : calloc(SAMPLES * words + 1, 4);
    if (taken < SAMPLES) {
        memcpy(samples + (size_t)taken++ * words, env_struct(b, 0), 4 * words);
    }
}

static bool came_before(size_t word, int sample) {
    size_t words = num_words();
    for (int i = 0; i < sample - 1; i++) {
        if (samples[(size_t)i * words + word] == samples[(size_t)sample * words + word]) {
            return true;
        }
    }
    return false;
}

void words_report(void) {
    size_t words = num_words();
    for (size_t w = 0; w < words; w++) {
        int moves = 0, flips = 0, again = 0;
        uint32_t bits = 0;
        for (int i = 1; i < taken; i++) {
            uint32_t change = samples[(size_t)(i - 1) * words + w] ^ samples[(size_t)i * words + w];
            moves += change != 0;
            flips += __builtin_popcount(change);
            bits |= change;
        }
        int wide = __builtin_popcount(bits);
        if (!is_state(w) || moves < FEW || wide < NARROW) {
            continue;
        }
        for (int i = 1; i < taken; i++) {
            again += samples[(size_t)(i - 1) * words + w] != samples[(size_t)i * words + w]
                     && came_before(w, i);
        }
        fact(word, .at = 4 * w, .moves = moves, .flips = flips, .bits = wide, .again = again);
    }
    free(samples);
}
