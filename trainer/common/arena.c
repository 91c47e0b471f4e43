/* arena.c -- see arena.h. */
#define _DEFAULT_SOURCE    // madvise
#include "arena.h"
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

#define LINE      64
#define HUGE_PAGE ((size_t)2 << 20)

void arena_add(Arena* arena, void** where, size_t bytes) {
    if (arena->count == arena->room) {
        int32_t room = arena->room ? 2 * arena->room : 64;
        void* grown = realloc(arena->spans, (size_t)room * sizeof *arena->spans);
        if (!grown) {
            arena->failed = 1;
            return;
        }
        arena->spans = grown;
        arena->room = room;
    }
    *where = NULL;
    arena->spans[arena->count].where = where;
    arena->spans[arena->count++].offset = arena->bytes;
    arena->bytes += (bytes + 2 * LINE - 1) / LINE * LINE;
}

int32_t arena_commit(Arena* arena) {
    size_t unit = arena->bytes > 2 * HUGE_PAGE ? HUGE_PAGE : LINE;
    size_t bytes = (arena->bytes + LINE + unit - 1) / unit * unit;
    if (!arena->failed) arena->block = aligned_alloc(unit, bytes);
    if (!arena->block) return -1;
#ifdef MADV_HUGEPAGE
    if (unit == HUGE_PAGE) madvise(arena->block, bytes, MADV_HUGEPAGE);    // a wish, no more
#endif
    memset(arena->block, 0, bytes);
    arena_place(arena, arena->block);
    return 0;
}

void arena_place(Arena* arena, void* base) {
    for (int32_t i = 0; i < arena->count; i++)
        *arena->spans[i].where = (char*)base + arena->spans[i].offset;
    free(arena->spans);
    arena->spans = NULL;
}

void arena_free(Arena* arena) {
    free(arena->spans);
    free(arena->block);
    memset(arena, 0, sizeof *arena);
}
