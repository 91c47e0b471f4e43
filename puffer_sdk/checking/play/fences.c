/* fences.c -- blocks of the env's heap that touch unmapped pages: a stray access ends in on_crash.
 *
 * AddressSanitizer finds more, but plays several times as slowly. With options.fences the blocks that an
 * env allocates before its first step lie in an arena, each with 64 KiB of nothing beside it: the
 * blocks of four envs end where that begins, those of the next four begin where it ends. A freed
 * block becomes unreadable and stays so.
 */
#define _GNU_SOURCE
#include "system.h"
#include "harness.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GAP = 1 << 16, ALIGN = 16, MAX_FENCED = 4096 };
static const size_t ARENA = (size_t)512 << 20;

typedef struct Fenced {
    char *start, *pages, *end;    // the block; its mapped pages; where the next gap ends
    size_t size;
    bool freed;
} Fenced;

static Fenced fenced[MAX_FENCED];    // by address
static int num_fenced;
static char *arena, *unused;    // unused: where the next block's pages may begin

static bool is_wanted(void) {
    return options.fences && watch.phase != PUFFER_IDLE && watch.phase != PUFFER_STEP
           && num_fenced < MAX_FENCED;
}

void* fence_block(size_t size) {
    if (!is_wanted() || size > ARENA / 8) {
        return NULL;
    }
    if (!arena) {
        void* memory = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                            0);
        if (memory == MAP_FAILED) {
            options.fences = 0;
            return NULL;
        }
        arena = memory;
        unused = arena + GAP;
    }
    size_t whole = (size + ALIGN - 1) / ALIGN * ALIGN;
    size_t page = page_bytes(), inner = (whole + page - 1) / page * page;
    if (unused + inner + GAP > arena + ARENA
        || mprotect(unused, inner, PROT_READ | PROT_WRITE) != 0) {
        return NULL;
    }
    bool low = watch.env / 4 % 2;    // four kinds of play: batch.c
    Fenced* block = &fenced[num_fenced++];
    *block = (Fenced){low ? unused : unused + inner - whole, unused, unused + inner + GAP, size,
                      false};
    unused = block->end;
    return block->start;
}

// The block whose pages or gap hold this address, or NULL
static Fenced* block_near(const void* at) {
    const char* address = at;
    if (!arena || address < arena || address >= unused) {
        return NULL;
    }
    int first = 0, last = num_fenced - 1;
    while (first < last) {
        int middle = (first + last) / 2;
        if (address < fenced[middle].end) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    return &fenced[first];
}

bool fence_holds(const void* at) { return block_near(at) != NULL; }

size_t fence_size(const void* at) { return block_near(at)->size; }

void fence_free(void* at) {
    Fenced* block = block_near(at);
    if (at == block->start && !block->freed) {    // others are what the sanitizers are for
        block->freed = true;
        mprotect(block->pages, (size_t)(block->end - GAP - block->pages), PROT_NONE);
    }
}

// What an address in a gap is next to: a gap's nearer half belongs to the block before it
bool fence_fault(const void* at, FenceFault* fault) {
    const Fenced* block = block_near(at);
    const char* address = at;
    if (!block) {
        return false;
    }
    bool is_before = block + 1 < fenced + num_fenced && address >= block->end - GAP / 2;
    block += is_before;
    int64_t past = address - (block->start + block->size);
    if (address < block->start) {
        past = address - block->start;
    }
    *fault = (FenceFault){(int64_t)block->size, past, block->freed};
    return true;
}
