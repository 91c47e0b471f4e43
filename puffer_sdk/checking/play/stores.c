/* stores.c -- which instructions store to which elements of the observations.
 *
 * The library is compiled with -fsanitize=thread, whose calls before each access end up in
 * threads.c: the return address is the instruction's own. An instruction that stores to the same
 * elements on all steps writes numbers that have a place of their own; one that does not sets what
 * happens to be there: a cell of a board, a class of a one-hot, a slot that is filled. memset()
 * writes no values: it clears.
 */
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 512, MOST_ELEMENTS = 1 << 14, RANGES = 64 };

typedef struct Place {
    const void* pc;
    bool varies, valued;
    int64_t row, step;     // whose elements `now` holds; -1: none yet
    unsigned char* now;    // (bits) elements of this row on this step
    unsigned char* any;    // of all
    unsigned char* one;    // of one step
} Place;

bool storing;

static struct {
    const char *low, *high;    // the rows of all envs
    size_t row, each, bits;    // bytes of a row and of an element; of a set of elements
    Place places[PLACES];
    int count;
    bool overfull;
    const void* at;    // a store that is about to be made
    Place* by;
} seen;

void stores_open(const Batch* b) {
    size_t D = (size_t)desc.obs_size;
    storing = D <= MOST_ELEMENTS;
    seen.row = row_bytes(OBSERVATIONS);
    seen.each = seen.row / D;
    seen.bits = (D + 7) / 8;
    seen.low = b->rows[0].observations;
    seen.high = seen.low + seen.row * (size_t)b->agents;
}

static Place* find_place(const void* pc) {
    for (size_t k = 0, i = mix((uint64_t)(uintptr_t)pc) % PLACES; k < PLACES; k++) {
        Place* p = &seen.places[(i + k) % PLACES];
        if (p->pc == pc) {
            return p;
        }
        if (!p->pc && seen.count < PLACES / 2) {
            seen.count++;
            *p = (Place){pc,  false, false, -1, -1, calloc(1, seen.bits), calloc(1, seen.bits),
                         NULL};
            return p;
        }
        if (!p->pc) {
            break;
        }
    }
    seen.overfull = true;
    return NULL;
}

static void close_step(Place* p) {    // the set of one row and step is whole
    if (p->row < 0) {
        return;
    }
    if (!p->one) {
        p->one = malloc(seen.bits);
        memcpy(p->one, p->now, seen.bits);
    }
    p->varies |= memcmp(p->one, p->now, seen.bits) != 0;
    memset(p->now, 0, seen.bits);
    p->row = -1;
}

static bool is_zero(const char* at) {
    float value = (float)*(const unsigned char*)at;
    if (seen.each == 4) {
        memcpy(&value, at, 4);
    }
    return value == 0.0f;
}

void stores_settle(void) {    // what was stored is there now
    if (seen.by) {
        seen.by->valued |= !is_zero(seen.at);
        seen.by = NULL;
    }
}

static Place* add(const char* at, size_t size, const void* pc) {
    if (at < seen.low || at + size > seen.high) {
        return NULL;
    }
    Place* p = find_place(pc);
    size_t offset = (size_t)(at - seen.low);
    int64_t row = (int64_t)(offset / seen.row);
    if (p && (p->row != row || p->step != watch.step)) {
        close_step(p);
        p->row = row;
        p->step = watch.step;
    }
    for (size_t i = 0; p && i < size; i += seen.each) {
        size_t element = (offset + i) % seen.row / seen.each;
        p->now[element / 8] |= (unsigned char)(1 << element % 8);
        p->any[element / 8] |= (unsigned char)(1 << element % 8);
    }
    return p;
}

void note_store(const void* at, size_t size, const void* pc) {
    stores_settle();
    seen.by = add(at, size, pc);
    seen.at = at;
}

void note_copied(const void* at, size_t size, const void* pc) {
    stores_settle();
    Place* p = add(at, size, pc);
    for (size_t i = 0; p && i < size; i += seen.each) {
        p->valued |= !is_zero((const char*)at + i);
    }
}

static void report_place(const Place* p) {
    char text[RANGES * 24] = "";
    size_t used = 0;
    int D = desc.obs_size, ranges = 0;
    for (int i = 0; i < D; i++) {
        int first = i;
        while (i < D && p->any[i / 8] >> i % 8 & 1) {
            i++;
        }
        if (i == first) {
            continue;
        }
        int last = i - 1;
        if (++ranges == RANGES) {    // too many: all of the rest
            last = i = D - 1;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s[%d, %d]", used ? ", " : "",
                                 first, last);
    }
    fact(store, .varies = p->varies, .valued = p->valued, .elements = text);
}

void stores_close(void) {
    stores_settle();
    for (int i = 0; i < PLACES; i++) {
        Place* p = &seen.places[i];
        if (p->pc) {
            close_step(p);
            if (storing && !seen.overfull) {
                report_place(p);
            }
            free(p->now);
            free(p->any);
            free(p->one);
        }
    }
    if (storing && !seen.overfull) {
        fact(stored);
    }
    storing = false;
}
