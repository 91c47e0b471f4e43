/* allocations.c -- follows what the environment allocates and frees, and writes to its actions.
 *
 * Env libraries are linked with --wrap=malloc, --wrap=free and so on: their calls come here
 * first. A free of a buffer that is not the env's becomes a fact and does not happen. Only the
 * experiment `memory` counts live blocks, by site: the stack that allocated them.
 */
#define _GNU_SOURCE
#include "allocations.h"
#include "system.h"
#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

//------------------------------------------------------------------------------------
// Memory that is lent to the env: its rows, and the struct itself
//------------------------------------------------------------------------------------
typedef struct Loan {
    const char *name, *start, *end;
} Loan;

enum { MAX_LOANS = 512, MAX_REPORTED = 8 };
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

// True if this memory is lent: a fact, once for each line that frees it
static bool is_lent(const void* at, const char* call, const void* caller) {
    static const void* reported[MAX_REPORTED];
    static int num_reported;
    const Loan* loan = NULL;
    for (int i = 0; at && !loan && i < num_loans; i++) {
        if ((const char*)at >= loans[i].start && (const char*)at < loans[i].end) {
            loan = &loans[i];
        }
    }
    if (!loan || watch.phase == PUFFER_IDLE) {    // idle: vecenv.h frees the structs
        return false;
    }
    for (int i = 0; i < num_reported; i++) {
        if (reported[i] == caller) {
            return true;
        }
    }
    if (num_reported < MAX_REPORTED) {
        reported[num_reported++] = caller;
        report(shared_free, .array = loan->name, .call = call);
    }
    return true;
}

//------------------------------------------------------------------------------------
// Live blocks, by the stack that allocated them
//------------------------------------------------------------------------------------
enum { SLOTS = 1 << 17 };

typedef struct Block {
    void* at;
    size_t size;
    int site;
} Block;

bool overfull;
Site sites[MAX_SITES];
int num_sites;
static bool counting;
static int num_blocks;
static Block* blocks;    // [SLOTS] open addressing; at == &gone where one was removed
static char gone;

static size_t slot_of(const void* at) { return mix((uint64_t)(uintptr_t)at) % SLOTS; }

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
    *s = (Site){.hash = hash,
                .depth = depth,
                .phase = watch.phase,
                .env = (int)watch.env,
                .step = watch.step};
    memcpy(s->stack, stack, sizeof stack);
    return num_sites++;
}

static void* store_block(void* at, size_t size) {
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
        i = (i + 1) % SLOTS;
    }
    num_blocks += blocks[i].at == NULL;    // a slot that was emptied stays in the count
    blocks[i] = (Block){at, size, site};
    sites[site].live++;
    sites[site].bytes += (int64_t)size;
    return at;
}

static Block* find_block(const void* at) {
    for (size_t i = slot_of(at); counting && at && blocks[i].at; i = (i + 1) % SLOTS) {
        if (blocks[i].at == at) {
            return &blocks[i];
        }
    }
    return NULL;
}

static void drop_block(const void* at) {
    Block* block = find_block(at);
    if (block) {
        sites[block->site].live--;
        sites[block->site].bytes -= (int64_t)block->size;
        block->at = &gone;
    }
}

void block_replaced(const void* at, int array) {
    const Block* block = find_block(at);
    if (block) {
        sites[block->site].replaced |= 1 << array;
    }
}

//------------------------------------------------------------------------------------
// What the env calls in place of the C library
//------------------------------------------------------------------------------------
#define CALLER __builtin_return_address(0)

void* __wrap_malloc(size_t size) {
    void* block = fence_block(size);
    return block ? block : store_block(malloc(size), size);
}

void* __wrap_calloc(size_t n, size_t size) {
    size_t bytes;
    void* block = __builtin_mul_overflow(n, size, &bytes) ? NULL : fence_block(bytes);
    return block ? block : store_block(calloc(n, size), n * size);
}

char* __wrap_strdup(const char* text) { return store_block(strdup(text), strlen(text) + 1); }

char* __wrap_strndup(const char* text, size_t most) {
    return store_block(strndup(text, most), strnlen(text, most) + 1);
}

void* __wrap_aligned_alloc(size_t align, size_t size) {
    return store_block(aligned_alloc(align, size), size);
}

void* __wrap_memalign(size_t align, size_t size) {
    return store_block(memalign(align, size), size);
}

int __wrap_posix_memalign(void** out, size_t align, size_t size) {
    int status = posix_memalign(out, align, size);
    if (status == 0) {
        store_block(*out, size);
    }
    return status;
}

void __wrap_free(void* at) {
    if (is_lent(at, "free", CALLER)) {
        return;
    }
    if (fence_holds(at)) {
        fence_free(at);
        return;
    }
    drop_block(at);
    free(at);
}

static void* resize(void* at, size_t size, const void* caller) {
    if (is_lent(at, "realloc", caller)) {    // the env gets what it asked for, the block stays
        return calloc(1, size ? size : 1);
    }
    if (fence_holds(at)) {
        void* block = fence_block(size);
        block = block ? block : store_block(malloc(size), size);
        if (block) {
            memcpy(block, at, size < fence_size(at) ? size : fence_size(at));
            fence_free(at);
        }
        return block;
    }
    drop_block(at);
    return store_block(realloc(at, size), size);
}

void* __wrap_realloc(void* at, size_t size) { return resize(at, size, CALLER); }

void* __wrap_reallocarray(void* at, size_t n, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? NULL : resize(at, bytes, CALLER);
}

int __wrap_vasprintf(char** out, const char* format, va_list list) {
    int size = vasprintf(out, format, list);
    if (size >= 0) {
        store_block(*out, (size_t)size + 1);
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

void count_blocks(bool on) {
    if (on && !blocks) {
        blocks = calloc(SLOTS, sizeof *blocks);
    }
    counting = on;
}

//------------------------------------------------------------------------------------
// Actions: after a step changed them, the next write to them raises a signal
//------------------------------------------------------------------------------------
static struct {
    char* start;
    size_t bytes;
    bool caught;    // one is enough
} sealed;

void actions_seal(void* block, size_t bytes) {
    if (!sealed.start && !sealed.caught && mprotect(block, bytes, PROT_READ) == 0) {
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
    actions_unseal();
    sealed.caught = true;
    report(actions_write, .pc = pc);
    return true;    // the instruction is tried again, and succeeds
}
