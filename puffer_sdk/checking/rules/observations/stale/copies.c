/* copies.c -- things on a board that stay where they were when they move on.
 *
 * A number that moves is set in one cell on the step that clears it in another. Where it is set in a
 * cell that such moves use, one usual way from where it was set last, and stays there as well, the
 * board shows a thing twice. Whether the old one is ever cleared within the episode is counted.
 */
#include "harness.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 24, KINDS = 16 * PARTS + 1, MAX_ROW = 4096, WAYS = 8, LONG = 16, OFTEN = 3 };

typedef struct Kind {                // one number, over all rows
    int64_t moves, kept, cleared;    // copies that the episode's end cleared, or a step
    int64_t beyond;                  // ways that do not fit into `way`
    int64_t step;                    // of the first copy that was kept
    int env, agent, element, origin;
    struct {
        int by;
        int64_t count;
    } way[WAYS];
} Kind;

typedef struct Row {        // of one agent
    unsigned short* was;    // (D) kinds, one step ago
    int* last;              // (KINDS) cell that was set last, -1 = none
    int64_t* since;         // (D) step on which the copy was left, 0 = none
    int* to;                // (D) where its thing went
} Row;

// 1 to 16 in steps of 1/24, which halves, thirds, quarters and eighths are; 0 = nothing of interest
static unsigned short kind_of(const Batch* b, int env, size_t cell) {
    if (desc.obs_dtype == PUFFER_U8) {
        return ((const unsigned char*)b->rows[env].observations)[cell];
    }
    float value = PARTS * ((const float*)b->rows[env].observations)[cell];
    bool is_kind = value > 0.5f && value < KINDS && fabsf(value - roundf(value)) < 1e-3f;
    return is_kind ? (unsigned short)roundf(value) : 0;
}

static bool is_usual(const Kind* kind, int by) {
    for (int i = 0; i < WAYS && kind->way[i].count > 0; i++) {
        if (kind->way[i].by == by) {
            return kind->way[i].count >= OFTEN;
        }
    }
    return false;
}

static void note_way(Kind* kind, int by) {
    int i = 0;
    while (i < WAYS && kind->way[i].count > 0 && kind->way[i].by != by) {
        i++;
    }
    if (i < WAYS) {
        kind->way[i].by = by;
        kind->way[i].count++;
    } else {
        kind->beyond++;
    }
}

typedef struct Watch {
    Kind* kinds;         // (KINDS)
    int64_t* vacated;    // (D) moves that left this cell
    int *set, *gone;     // (KINDS) cells of this step: set to the number; not that any more
    int *to, *from;      // the last of them
} Watch;

static void keep(Kind* kind, Row* row, int cell, int env, int agent) {
    if (watch.step - row->since[cell] >= LONG && kind->kept++ == 0) {
        kind->step = row->since[cell];
        kind->env = env;
        kind->agent = agent;
        kind->element = row->to[cell];
        kind->origin = cell;
    }
    row->since[cell] = 0;
}

static void look_at_row(const Batch* b, Watch* w, Row* row, int env, int agent, bool ended) {
    size_t D = (size_t)desc.obs_size;
    memset(w->set, 0, KINDS * sizeof *w->set);
    memset(w->gone, 0, KINDS * sizeof *w->gone);
    for (int c = 0; c < desc.obs_size; c++) {
        unsigned short now = kind_of(b, env, D * (size_t)agent + (size_t)c), was = row->was[c];
        row->was[c] = now;
        if (ended && row->since[c] > 0) {
            keep(&w->kinds[was], row, c, env, agent);
        } else if (now != was) {
            w->set[now]++;
            w->to[now] = c;
            w->gone[was]++;
            w->from[was] = c;
            w->kinds[was].cleared += row->since[c] > 0;
            row->since[c] = 0;
        }
    }
    for (int k = 1; k < KINDS; k++) {
        Kind* kind = &w->kinds[k];
        int last = row->last[k], to = w->to[k];
        if (ended) {
            row->last[k] = -1;
        } else if (w->set[k] == 1) {
            if (w->gone[k] == 1) {
                kind->moves++;
                w->vacated[w->from[k]]++;
                note_way(kind, to - w->from[k]);
            } else if (w->gone[k] == 0 && last >= 0 && row->was[last] == k && row->since[last] == 0
                       && w->vacated[to] >= OFTEN && is_usual(kind, to - last)) {
                row->since[last] = watch.step;
                row->to[last] = to;
            }
            row->last[k] = to;
        } else if (w->set[k] > 1) {
            row->last[k] = -1;
        }
    }
}

void experiment_copies(void) {
    Batch b = batch_open(PACKED);
    size_t D = (size_t)desc.obs_size;
    Watch w = {calloc(KINDS, sizeof *w.kinds), calloc(D, sizeof *w.vacated),
               calloc(KINDS, sizeof *w.set),   calloc(KINDS, sizeof *w.gone),
               calloc(KINDS, sizeof *w.to),    calloc(KINDS, sizeof *w.from)};
    Row* rows = calloc((size_t)b.agents, sizeof *rows);
    for (int i = 0; i < b.agents; i++) {
        rows[i] = (Row){calloc(D, sizeof *rows->was), malloc(KINDS * sizeof *rows->last),
                        calloc(D, sizeof *rows->since), calloc(D, sizeof *rows->to)};
        memset(rows[i].last, 0xFF, KINDS * sizeof *rows->last);
    }
    batch_reset(&b, -1);
    for (int64_t t = 1; D <= MAX_ROW && t <= options.steps; t++) {
        watch.step = t;
        batch_act(&b, -1, t);
        batch_step(&b, -1, 0);
        for (int e = 0; e < b.envs; e++) {
            bool any = any_ended(&b, e);
            for (int i = 0; i < b.count[e]; i++) {
                look_at_row(&b, &w, &rows[b.first[e] + i], e, i, any || !has_agent(&b, e, i));
            }
        }
    }
    for (int k = 1; k < KINDS; k++) {
        const Kind* kind = &w.kinds[k];
        if (kind->kept > 0) {
            float value = desc.obs_dtype == PUFFER_U8 ? (float)k : (float)k / PARTS;
            fact(copy, .value = value, .moves = kind->moves, .kept = kind->kept,
                 .cleared = kind->cleared, .step = kind->step, .env = kind->env,
                 .agent = kind->agent, .element = kind->element, .origin = kind->origin);
        }
    }
    fact(copied, .steps = options.steps * b.envs);
    batch_close(&b);
}
