/* memory.c -- what the environment allocates and frees, and what it does to its actions.
 *
 * Env libraries are linked with --wrap=malloc, --wrap=free and so on, so that their calls come
 * here first. A free of a buffer that is not the env's is written down and not carried out.
 * Live blocks are counted in `memory` alone, by site: the stack that allocated them.
 */
#define _GNU_SOURCE
#include "harness.h"
#include <execinfo.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

//------------------------------------------------------------------------------------
// Memory that is lent to the env: its rows, and the struct itself
//------------------------------------------------------------------------------------
typedef struct Loan { const char *name, *start, *end; } Loan;

enum { MAX_LOANS = 512, MAX_TOLD = 8 };
static Loan loans[MAX_LOANS];
static int num_loans;

void loan_add(const char* name, const void* start, size_t bytes) {
    if (num_loans < MAX_LOANS) {
        loans[num_loans++] = (Loan){name, start, (const char*)start + bytes};
    }
}

void loan_remove(const void* start) {
    for (int i = 0; i < num_loans; i++) {
        if (loans[i].start == start) {
            loans[i--] = loans[--num_loans];
        }
    }
}

// True if this memory is lent, which is written down once for each line that frees it
static bool is_lent(const void* at, const char* call, const void* caller) {
    static const void* told[MAX_TOLD];
    static int num_told;
    const Loan* loan = NULL;
    for (int i = 0; at && !loan && i < num_loans; i++) {
        if ((const char*)at >= loans[i].start && (const char*)at < loans[i].end) {
            loan = &loans[i];
        }
    }
    if (!loan || watch.phase == PUFFER_IDLE) {      // idle: vecenv.h frees the structs
        return false;
    }
    for (int i = 0; i < num_told; i++) {
        if (told[i] == caller) {
            return true;
        }
    }
    if (num_told < MAX_TOLD) {
        char extra[96];
        told[num_told++] = caller;
        snprintf(extra, sizeof extra, ", \"array\": \"%s\", \"call\": \"%s\"", loan->name, call);
        report("shared-free", extra);
    }
    return true;
}

//------------------------------------------------------------------------------------
// Live blocks, by the stack that allocated them
//------------------------------------------------------------------------------------
enum { MAX_SITES = 256, DEPTH = 16, SLOTS = 1 << 17, MARKS = 4, ROUNDS = 4 };

typedef struct Site {
    uint64_t hash;                  // of the stack
    void* stack[DEPTH];
    int depth, phase, env;          // of the first block
    int64_t step;
    int64_t live, bytes;            // now
    int64_t at_mark[MARKS], bytes_at_mark[MARKS];   // after R/8, R/4, R/2, R resets
    int64_t after[ROUNDS], bytes_after[ROUNDS];     // envs were created, played and destroyed
} Site;

typedef struct Block { void* at; size_t size; int site; } Block;

static bool counting, overfull;
static Site sites[MAX_SITES];
static int num_sites, num_blocks;
static Block* blocks;               // [SLOTS] open addressing; at == &gone where one was removed
static char gone;

static size_t slot_of(const void* at) { return mix((uint64_t)(uintptr_t)at) & (SLOTS - 1); }

static int find_site(void) {
    void* stack[DEPTH];
    int depth = backtrace(stack, DEPTH);
    uint64_t hash = hash_bytes((uint64_t)watch.phase, stack, sizeof *stack * (size_t)depth);
    for (int i = 0; i < num_sites; i++) {
        if (sites[i].hash == hash) {
            return i;
        }
    }
    if (num_sites == MAX_SITES) {
        return -1;
    }
    Site* s = &sites[num_sites];
    *s = (Site){.hash = hash, .depth = depth, .phase = watch.phase, .env = (int)watch.env,
                .step = watch.step};
    memcpy(s->stack, stack, sizeof stack);
    return num_sites++;
}

static void* remember(void* at, size_t size) {
    int site = counting && at && watch.phase != PUFFER_IDLE ? find_site() : -1;
    if (site < 0) {
        return at;
    }
    if (num_blocks > SLOTS / 2) {
        overfull = true;
        return at;
    }
    size_t i = slot_of(at);
    while (blocks[i].at && blocks[i].at != &gone) {
        i = (i + 1) & (SLOTS - 1);
    }
    num_blocks += blocks[i].at == NULL;         // a slot that was emptied stays in the count
    blocks[i] = (Block){at, size, site};
    sites[site].live++;
    sites[site].bytes += (int64_t)size;
    return at;
}

static void forget(const void* at) {
    if (!counting || !at) {
        return;
    }
    for (size_t i = slot_of(at); blocks[i].at; i = (i + 1) & (SLOTS - 1)) {
        if (blocks[i].at == at) {
            sites[blocks[i].site].live--;
            sites[blocks[i].site].bytes -= (int64_t)blocks[i].size;
            blocks[i].at = &gone;
            return;
        }
    }
}

//------------------------------------------------------------------------------------
// What the env calls in place of the C library
//------------------------------------------------------------------------------------
#define CALLER __builtin_return_address(0)

void* __wrap_malloc(size_t size) { return remember(malloc(size), size); }
void* __wrap_calloc(size_t n, size_t size) { return remember(calloc(n, size), n * size); }
char* __wrap_strdup(const char* text) { return remember(strdup(text), strlen(text) + 1); }

char* __wrap_strndup(const char* text, size_t most) {
    return remember(strndup(text, most), strnlen(text, most) + 1);
}

void* __wrap_aligned_alloc(size_t align, size_t size) {
    return remember(aligned_alloc(align, size), size);
}

void* __wrap_memalign(size_t align, size_t size) {
    return remember(memalign(align, size), size);
}

int __wrap_posix_memalign(void** out, size_t align, size_t size) {
    int status = posix_memalign(out, align, size);
    if (status == 0) {
        remember(*out, size);
    }
    return status;
}

void __wrap_free(void* at) {
    if (!is_lent(at, "free", CALLER)) {
        forget(at);
        free(at);
    }
}

static void* resize(void* at, size_t size, const void* caller) {
    if (is_lent(at, "realloc", caller)) {       // the env gets what it asked for, the block stays
        return calloc(1, size ? size : 1);
    }
    forget(at);
    return remember(realloc(at, size), size);
}

void* __wrap_realloc(void* at, size_t size) { return resize(at, size, CALLER); }

void* __wrap_reallocarray(void* at, size_t n, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? NULL : resize(at, bytes, CALLER);
}

int __wrap_vasprintf(char** out, const char* format, va_list list) {
    int size = vasprintf(out, format, list);
    if (size >= 0) {
        remember(*out, (size_t)size + 1);
    }
    return size;
}

int __wrap_asprintf(char** out, const char* format, ...) {
    va_list list;
    va_start(list, format);
    int size = __wrap_vasprintf(out, format, list);
    va_end(list);
    return size;
}

//------------------------------------------------------------------------------------
// memory: create, reset, step and destroy several times; what stays, and what grows
//------------------------------------------------------------------------------------
static void play(Batch* b, int resets, int64_t steps) {
    int64_t t = 0;
    for (int r = 1; r <= resets; r++) {
        watch.step = t;
        batch_reset(b, -1);
        for (int k = 0; k < MARKS; k++) {
            for (int i = 0; resets >= 8 && r == resets >> (MARKS - 1 - k) && i < num_sites; i++) {
                sites[i].at_mark[k] = sites[i].live;
                sites[i].bytes_at_mark[k] = sites[i].bytes;
            }
        }
        for (int k = 0; k < 8; k++) {
            watch.step = ++t;
            batch_act(b, -1, t);
            batch_step(b, -1, 0);
        }
    }
    while (steps-- > 0) {
        watch.step = ++t;
        batch_act(b, -1, t);
        batch_step(b, -1, 0);
    }
}

// As much again with twice as many resets, and so on: it will never be enough
static bool is_linear(const int64_t at[MARKS], int64_t least) {
    int64_t first = at[1] - at[0], second = at[2] - at[1], third = at[3] - at[2];
    return first > 0 && 2 * second >= 3 * first && 2 * third >= 3 * second && third >= least;
}

static void tell_site(const char* how, const Site* s, int envs, int resets, int64_t count,
                      int64_t bytes) {
    char extra[256];
    snprintf(extra, sizeof extra, ", \"how\": \"%s\", \"blocks\": %lld, \"bytes\": %lld, "
             "\"envs\": %d, \"resets\": %d", how, (long long)count, (long long)bytes, envs,
             resets);
    PufferWatch now_at = watch;
    watch.phase = s->phase;
    watch.env = s->env;
    watch.step = s->step;
    report_stack("leak", extra, (void* const*)s->stack, s->depth);
    watch.phase = now_at.phase;
}

void experiment_memory(void) {
    blocks = calloc(SLOTS, sizeof *blocks);
    counting = true;
    int resets = options.repeat, envs = options.envs;
    for (int round = 0; round < ROUNDS && !overfull; round++) {
        Batch b = batch_open(PACKED);
        envs = b.envs;
        play(&b, round == 0 ? resets : 4, options.steps);
        batch_close(&b);
        for (int i = 0; i < num_sites; i++) {
            sites[i].after[round] = sites[i].live;
            sites[i].bytes_after[round] = sites[i].bytes;
        }
    }
    counting = false;
    for (int i = 0; i < num_sites && !overfull; i++) {
        const Site* s = &sites[i];
        // A table that is made once and kept for all envs is no leak: it does not grow
        if (s->after[0] < s->after[1] && s->after[1] < s->after[2] && s->after[2] < s->after[3]) {
            tell_site("close", s, envs, 4, s->after[3] - s->after[2],
                      s->bytes_after[3] - s->bytes_after[2]);
        } else if (is_linear(s->at_mark, resets / 8) || is_linear(s->bytes_at_mark, resets)) {
            tell_site("resets", s, envs, resets, s->at_mark[3] - s->at_mark[0],
                      s->bytes_at_mark[3] - s->bytes_at_mark[0]);
        }
    }
    fact("{\"fact\": \"counted\", \"sites\": %d, \"envs\": %d, \"overfull\": %d}", num_sites, envs,
         overfull);
}

//------------------------------------------------------------------------------------
// Actions: once a step was seen to change them, the next such write is caught in the act
//------------------------------------------------------------------------------------
static struct { char* start; size_t bytes; } sealed;

void actions_seal(void* block, size_t bytes) {
    if (!sealed.start && mprotect(block, bytes, PROT_READ) == 0) {
        sealed.start = block;
        sealed.bytes = bytes;
    }
}

void actions_unseal(void) {
    if (sealed.start) {
        mprotect(sealed.start, sealed.bytes, PROT_READ | PROT_WRITE);
        sealed.start = NULL;
    }
}

bool actions_fault(const char* at, unsigned long long pc) {
    if (!sealed.start || at < sealed.start || at >= sealed.start + sealed.bytes) {
        return false;
    }
    char extra[64];
    snprintf(extra, sizeof extra, ", \"pc\": \"0x%llx\"", pc);
    actions_unseal();
    report("actions-write", extra);
    return true;                    // the instruction is tried again, and succeeds
}
