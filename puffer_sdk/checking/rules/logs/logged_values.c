/* logged_values.c -- what each field of Log was in the entries of a long run.
 *
 * Where a field adds up a field of the struct (options.fed), it is also counted how often that one
 * was something but 0 before the step that made the entry.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "run.h"

enum { MAX_FED = 256, MAX_COLUMNS = 64 };

typedef struct Fed {    // a number of the struct that goes into a column
    int column;         // floats from the start of Log
    size_t at, size;    // bytes of the struct
} Fed;

struct Logged {
    Fed fed[MAX_FED];
    int count;
    uint64_t* moved;    // (E) a bit for each column: after the last step, all that it takes were
                        // something but 0
    int64_t entries, before[MAX_COLUMNS];
    double low[MAX_COLUMNS], high[MAX_COLUMNS];
};

static bool is_zero(const char* at, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (at[i]) {
            return false;
        }
    }
    return true;
}

void logged_step(Logged* l, const Batch* b, int env) {
    uint64_t some = 0, zero = 0;
    for (const Fed* f = l->fed; f < l->fed + l->count; f++) {
        some |= (uint64_t)1 << f->column;
        if (is_zero(env_struct(b, env) + f->at, f->size)) {
            zero |= (uint64_t)1 << f->column;
        }
    }
    l->moved[env] = some & ~zero;
}

Logged* logged_open(const Batch* b) {
    Logged* l = calloc(1, sizeof *l);
    l->moved = calloc((size_t)b->envs, sizeof *l->moved);
    const char* text = options.fed ? options.fed : "";
    int used = 0;
    Fed f;
    while (l->count < MAX_FED
           && sscanf(text, "%d:%zu:%zu%n", &f.column, &f.at, &f.size, &used) == 3) {
        if (f.column >= 0 && f.column < MAX_COLUMNS && f.at + f.size <= layout.size) {
            l->fed[l->count++] = f;
        }
        text += used + (text[used] == ',');
    }
    for (int i = 0; i < MAX_COLUMNS; i++) {
        l->low[i] = INFINITY;
        l->high[i] = -INFINITY;
    }
    for (int e = 0; e < b->envs; e++) {
        logged_step(l, b, e);
    }
    return l;
}

void logged_entry(Logged* l, int env, const float* log, size_t count, float n) {
    l->entries++;
    for (size_t i = 0; i < count && i < MAX_COLUMNS; i++) {
        double mean = log[i] / n;
        l->low[i] = mean < l->low[i] ? mean : l->low[i];
        l->high[i] = mean > l->high[i] ? mean : l->high[i];
        l->before[i] += (int64_t)(l->moved[env] >> i & 1);
    }
}

void logged_close(Logged* l) {
    size_t count = layout.log_size / sizeof(float);
    for (size_t i = 0; l->entries > 0 && i < count && i < MAX_COLUMNS; i++) {
        if (isfinite(l->low[i]) && isfinite(l->high[i])) {
            fact(logged, .element = (int64_t)i, .entries = l->entries, .low = l->low[i],
                 .high = l->high[i], .before = l->before[i]);
        }
    }
    free(l->moved);
    free(l);
}
