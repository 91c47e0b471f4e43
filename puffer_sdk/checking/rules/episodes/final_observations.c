/* final_observations.c -- what an env that fills final_observations leaves there when it cuts an episode off.
 *
 * Its row should hold what the agent saw last. One that is written after c_reset holds the first
 * observation of the next episode instead; one that is not written holds what lay there. Where a
 * part was written, that part is compared.
 */
#include "harness.h"
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED_BYTE = 0xA5 };

typedef struct Cuts {    // truncations, and what was found in the row of each
    int64_t count, blank, moved, next, step, blank_step;
    int env, agent, blank_env, blank_agent;
    char* first;               // (bytes of a row) the observation before the first cut
    bool *written, *varies;    // (bytes) over the cuts that wrote any of them
} Cuts;

static void note_bytes(Cuts* c, const char* last, const char* before) {
    size_t bytes = row_bytes(OBSERVATIONS);
    if (c->count - c->blank == 1) {
        memcpy(c->first, before, bytes);
    }
    for (size_t i = 0; i < bytes; i++) {
        c->written[i] = c->written[i] || (unsigned char)last[i] != UNTOUCHED_BYTE;
        c->varies[i] = c->varies[i] || before[i] != c->first[i];
    }
}

// Elements of which no byte was ever written, although they change from cut to cut
static int64_t count_left(const Cuts* c, int64_t* first, int64_t* last) {
    size_t width = row_bytes(OBSERVATIONS) / (size_t)desc.obs_size;
    int64_t left = 0;
    for (size_t element = 0; element < (size_t)desc.obs_size; element++) {
        bool written = false, varies = false;
        for (size_t i = element * width; i < (element + 1) * width; i++) {
            written = written || c->written[i];
            varies = varies || c->varies[i];
        }
        if (!written && varies) {
            *first = left++ ? *first : (int64_t)element;
            *last = (int64_t)element;
        }
    }
    return left;
}

// In the elements that were written
static bool are_equal(const char* last, const char* a, const char* b) {
    size_t bytes = row_bytes(OBSERVATIONS), width = bytes / (size_t)desc.obs_size;
    for (size_t at = 0; at < bytes; at += width) {
        bool written = false;
        for (size_t i = at; i < at + width; i++) {
            written = written || (unsigned char)last[i] != UNTOUCHED_BYTE;
        }
        if (written && memcmp(a + at, b + at, width) != 0) {
            return false;
        }
    }
    return true;
}

static void note_cut(Cuts* c, const char* last, const char* before, const char* after, int env,
                     int agent, int64_t t) {
    size_t bytes = row_bytes(OBSERVATIONS), i = 0;
    c->count++;
    while (i < bytes && (unsigned char)last[i] == UNTOUCHED_BYTE) {
        i++;
    }
    if (i == bytes) {
        if (c->blank++ == 0) {
            c->blank_step = t;
            c->blank_env = env;
            c->blank_agent = agent;
        }
        return;
    }
    note_bytes(c, last, before);
    c->moved += !are_equal(last, before, after);
    bool is_next = are_equal(last, last, after) && !are_equal(last, last, before);
    if (is_next && c->next++ == 0) {
        c->step = t;
        c->env = env;
        c->agent = agent;
    }
}

void experiment_finals(void) {
    Batch b = batch_open(PACKED);
    size_t bytes = row_bytes(OBSERVATIONS);
    char* last = calloc((size_t)b.agents, bytes);
    char* before = calloc((size_t)b.agents, bytes);
    unsigned char* has_final = calloc((size_t)b.agents, 1);
    for (int e = 0; e < b.envs; e++) {
        b.rows[e].final_observations = last + bytes * (size_t)b.first[e];
        b.rows[e].has_final = has_final + b.first[e];
        api->bind(b.vec, e, &b.rows[e]);
    }
    loan_add("final_observations", last, bytes * (size_t)b.agents);
    batch_reset(&b, -1);
    Cuts cuts = {.first = calloc(bytes, 1),
                 .written = calloc(bytes, sizeof(bool)),
                 .varies = calloc(bytes, sizeof(bool))};
    for (int64_t t = 1; t <= options.steps; t++) {
        watch.step = t;
        memset(last, UNTOUCHED_BYTE, bytes * (size_t)b.agents);
        for (int e = 0; e < b.envs; e++) {
            memcpy(before + bytes * (size_t)b.first[e], b.rows[e].observations,
                   bytes * (size_t)b.count[e]);
        }
        batch_act(&b, -1, t);
        batch_step(&b, -1, 0);
        for (int e = 0; e < b.envs; e++) {
            for (int i = 0; i < b.count[e]; i++) {
                size_t at = bytes * (size_t)(b.first[e] + i);
                if (had_agent(&b, e, i) && b.rows[e].truncations[i] != 0.0f) {
                    const char* after = (const char*)b.rows[e].observations + bytes * (size_t)i;
                    note_cut(&cuts, last + at, before + at, after, e, i, t);
                }
            }
        }
    }
    int64_t first = 0, final = 0, left = count_left(&cuts, &first, &final);
    fact(finals, .cuts = cuts.count, .blank = cuts.blank, .blank_step = cuts.blank_step,
         .blank_env = cuts.blank_env, .blank_agent = cuts.blank_agent, .moved = cuts.moved,
         .next = cuts.next, .step = cuts.step, .env = cuts.env, .agent = cuts.agent, .left = left,
         .left_first = first, .left_last = final);
    batch_close(&b);
    loan_remove(last);
    free(cuts.first);
    free(cuts.written);
    free(cuts.varies);
    free(has_final);
    free(before);
    free(last);
}
