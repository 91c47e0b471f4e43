/* fresh.c -- an episode after play, and the same one (same seed, same actions) in a new env: are
 * they the same, and if not, which fields of the env make the difference?
 *
 * Each round forks a process that stays before the resets. Where the episodes differ it looks for
 * the smallest set of words that, given the values they have in the new env, take the difference
 * away: what c_reset reads and does not set. A field that c_reset sets from those is none of them.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 6, EPISODE = 96, MOST_WORDS = 8, MOST_TRIES = 400 };
enum { SEARCHED = 32 };    // times the steps of the experiment: what all tries may take

typedef struct Search {    // on a page that all forks share
    int env;
    int64_t first, after;    // step of the round's reset; steps from there to the difference
    bool differs;            // answer of the last try
    bool known;    // the words below make the difference; without any, no word of the state does
    int count;
    StatePlace words[MOST_WORDS];
} Search;

static Search* search;

// A generator of the author's own goes on from episode to episode: that is no leak
static void copy_generators(const Batch* from, Batch* to, int env) {
    const char* text = options.generators;
    while (text && *text) {
        size_t offset, bytes;
        if (sscanf(text, "%zu:%zu", &offset, &bytes) != 2 || offset + bytes > layout.size) {
            return;
        }
        memcpy(env_struct(to, env) + offset, env_struct(from, env) + offset, bytes);
        text = strchr(text, ',');
        text += text != NULL;
    }
}

// An array, or -1. Rows that have an agent in one of the two only differ in `alive`
static int first_difference(const Batch* a, const Batch* b, int env, int* row) {
    for (int array = 0; array < NUM_ARRAYS; array++) {
        size_t bytes = row_bytes(array);
        const char* x = array_of(&a->rows[env], array);
        const char* y = array_of(&b->rows[env], array);
        for (int i = 0; array != ACTIONS && bytes > 0 && i < a->count[env]; i++) {
            if (is_told(a, array, env, i) && is_told(b, array, env, i)
                && memcmp(x + bytes * (size_t)i, y + bytes * (size_t)i, bytes) != 0) {
                *row = i;
                return array;
            }
        }
    }
    return -1;
}

static void report_difference(const Batch* a, const Batch* b, int env, int array, int row,
                              int64_t step) {
    bool is_byte = array == MASK || array == ALIVE
                   || (array == OBSERVATIONS && desc.obs_dtype == PUFFER_U8);
    bool is_int = array == OBSERVATIONS && desc.obs_dtype == PUFFER_I32;
    size_t width = is_byte ? 1 : 4, each = row_bytes(array) / width, i = each * (size_t)row;
    const char* x = array_of(&a->rows[env], array);
    const char* y = array_of(&b->rows[env], array);
    while (memcmp(x + width * i, y + width * i, width) == 0) {
        i++;
    }
    char values[2][32];
    for (int k = 0; k < 2; k++) {
        const char* at = (k ? y : x) + width * i;
        double value = is_byte  ? *(const unsigned char*)at
                       : is_int ? (double)*(const int32_t*)at
                                : (double)*(const float*)at;
        snprintf(values[k], sizeof values[k], "%g", value);
    }
    fact(not_fresh, .env = env, .array = array_names[array], .agent = (int64_t)(i / each),
         .element = (int64_t)(i % each), .after = step, .step = watch.step, .played = values[0],
         .fresh = values[1]);
}

//------------------------------------------------------------------------------------
// The smallest set of words that makes the difference
//------------------------------------------------------------------------------------
typedef struct Pair {    // an env that was played and a new one, both before their c_reset
    Batch *played, *fresh;
    const State* state;
    uint32_t *old, *new;    // their words
    size_t* candidates;     // words that differ and are no pointers
    int count;
    int left;    // tries
} Pair;

static uint32_t* address_of(const Batch* b, int env, StatePlace place) {
    char* at = env_struct(b, env);
    if (place.pointer >= 0) {
        memcpy(&at, at + place.pointer, sizeof at);
    }
    return (uint32_t*)(void*)(at + place.offset);
}

// Plays both envs from their resets to the step of the difference: is it there?
static bool differs(Batch* a, Batch* b) {
    int env = search->env, row;
    batch_reset(a, -1);
    batch_reset(b, -1);
    for (int64_t k = 1; k <= search->after; k++) {
        watch.step = search->first + k;
        batch_act(a, -1, watch.step);
        copy_actions(a, b);
        batch_step(a, -1, 0);
        batch_step(b, -1, 0);
        if (first_difference(a, b, env, &row) >= 0) {
            return true;
        }
    }
    return first_difference(a, b, env, &row) >= 0;
}

// Whether the difference is gone once the candidates that are kept[] have their new values. Where
// the env does not survive them it is not, and search->differs is as it was
static bool heals(Pair* pair, const bool* kept) {
    bool good = false;
    if (pair->left == 0) {
        return false;
    }
    pair->left--;
    if (in_fork(&good)) {
        for (int i = 0; i < pair->count; i++) {
            size_t word = pair->candidates[i];
            if (kept[i]) {
                *address_of(pair->played, search->env,
                            state_place(pair->state, word)) = pair->new[word];
            }
        }
        search->differs = differs(pair->played, pair->fresh);
        _exit(0);
    }
    return good && !search->differs;
}

// Leaves out candidates in halves, quarters, ... as long as those that are left still heal
static void shrink(Pair* pair, bool* kept) {
    for (int size = (pair->count + 1) / 2; size > 0; size = size > 1 ? (size + 1) / 2 : 0) {
        for (int from = 0; from < pair->count; from += size) {
            bool without[pair->count];
            memcpy(without, kept, sizeof without);
            int dropped = 0;
            for (int i = from; i < from + size && i < pair->count; i++) {
                dropped += without[i];
                without[i] = false;
            }
            if (dropped > 0 && heals(pair, without)) {
                memcpy(kept, without, sizeof without);
            }
        }
    }
}

static void find_cause(Pair* pair) {
    state_read(pair->state, pair->played, search->env, pair->old);
    state_read(pair->state, pair->fresh, search->env, pair->new);
    size_t* words = calloc(pair->state->words, sizeof *words);
    for (size_t w = 0; w < pair->state->words; w++) {
        uint32_t high = (w | 1) < pair->state->struct_words ? pair->old[w | 1] : 0;
        bool is_pointer = high >> 4 == 0x555 || high >> 4 == 0x7ff;    // addresses are not random
        if (pair->old[w] != pair->new[w] && !is_pointer
            && (w >= pair->state->struct_words || is_state(w))) {
            words[pair->count++] = w;
        }
    }
    pair->candidates = words;
    bool kept[pair->count + 1];
    memset(kept, true, sizeof kept);
    if (!heals(pair, kept)) {
        search->known = search->differs;
        return;
    }
    shrink(pair, kept);
    search->known = pair->left > 0;
    for (int i = 0; i < pair->count && search->count < MOST_WORDS; i++) {
        if (kept[i]) {
            search->words[search->count++] = state_place(pair->state, words[i]);
        }
    }
}

// A process that stays at this moment. It looks for the cause once it can read from the pipe
static pid_t stay(Batch* a, Batch* b, const State* states, int* wake) {
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child != 0) {
        close(ends[0]);
        *wake = ends[1];
        return child;
    }
    close(ends[1]);
    char byte;
    if (read(ends[0], &byte, 1) == 1) {
        silence_facts();
        start_watchdog();
        const State* state = &states[search->env];
        int64_t most = SEARCHED * options.steps / (search->after + 2);
        Pair pair = {.played = a,
                     .fresh = b,
                     .state = state,
                     .old = calloc(state->words, 4),
                     .new = calloc(state->words, 4),
                     .left = most < MOST_TRIES ? (int)most : MOST_TRIES};
        find_cause(&pair);
    }
    _exit(0);
}

static void report_cause(pid_t child, int wake, int env, int64_t first, int64_t after) {
    search->env = env;
    search->first = first;
    search->after = after;
    if (child > 0 && write(wake, "?", 1) == 1) {
        wait_for(child);
    }
    char text[1024] = "";
    size_t used = 0;
    for (int i = 0; search->known && i < search->count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s[%d, %d]", used ? ", " : "",
                                 search->words[i].pointer, search->words[i].offset);
    }
    fact(old_words, .words = text, .known = search->known);
}

// By numbers of steps without a common divisor: whose turn it is may follow from their sum
static void make_old(Batch* a, int64_t* t, int round) {
    batch_play(a, t, (options.steps >> (ROUNDS - 1 - round)) + round);
}

static void seed_alike(Batch* a, Batch* b, int round) {
    for (int e = 0; e < a->envs; e++) {
        size_t agents = (size_t)a->count[e];
        memset(a->rows[e].observations, 0, row_bytes(OBSERVATIONS) * agents);
        memset(a->rows[e].rewards, 0, row_bytes(REWARDS) * agents);    // one may be shown
        uint32_t seed = (uint32_t)mix((uint64_t)(round * a->envs + e));
        batch_seed(a, e, seed);
        batch_seed(b, e, seed);
        copy_generators(a, b, e);
    }
}

typedef struct Apart {    // where two batches differ first
    int env, row, array;
    int64_t after;
} Apart;

// Both are reset and play on from t. False: they do not differ
static bool play_episode(Batch* a, Batch* b, int64_t t, Apart* apart) {
    batch_reset(a, -1);
    batch_reset(b, -1);
    for (int64_t k = 0; k <= EPISODE; k++) {
        if (k > 0) {
            watch.step = t + k;
            batch_act(a, -1, t + k);
            copy_actions(a, b);
            batch_step(a, -1, 0);
            batch_step(b, -1, 0);
        }
        for (int e = 0; e < a->envs; e++) {
            int row, array = first_difference(a, b, e, &row);
            if (array >= 0) {
                *apart = (Apart){e, row, array, k};
                return true;
            }
        }
    }
    return false;
}

// The same with forks for the new batches, which share an env's tables: what the cause of a
// difference is cannot be found out there
static bool are_alike_as_forks(void) {
    bool good = false;
    if (in_fork(&good)) {
        Batch a = batch_open(PACKED), b[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            b[round] = batch_twin(&a);
        }
        batch_reset(&a, -1);
        int64_t t = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Apart apart;
            make_old(&a, &t, round);
            seed_alike(&a, &b[round], round);
            if (play_episode(&a, &b[round], t, &apart)) {
                _exit(1);
            }
            t += EPISODE;
        }
        _exit(0);
    }
    return good;
}

void experiment_fresh(void) {
    if (options.twins && are_alike_as_forks()) {
        return;
    }
    Batch a = batch_open(PACKED);
    batch_reset(&a, -1);
    State* states = calloc((size_t)a.envs, sizeof *states);
    for (int e = 0; e < a.envs; e++) {
        states[e] = state_open(&a, e);
    }
    search = shared(sizeof *search);
    int64_t t = 0;
    for (int round = 0; round < ROUNDS; round++) {
        make_old(&a, &t, round);
        Batch b = batch_open(PACKED);
        seed_alike(&a, &b, round);
        int wake = -1;
        pid_t child = stay(&a, &b, states, &wake);
        Apart apart;
        if (play_episode(&a, &b, t, &apart)) {
            report_difference(&a, &b, apart.env, apart.array, apart.row, apart.after);
            report_cause(child, wake, apart.env, t, apart.after);
            finish();
        }
        close(wake);    // the other process ends
        if (child > 0) {
            wait_for(child);
        }
        t += EPISODE;    // b stays: a binding may share tables between all its envs
    }
    batch_close(&a);
}
