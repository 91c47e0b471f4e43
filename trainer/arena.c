/* arena.c -- see arena.h. */
#include "arena.h"
#include <stdlib.h>
#include <string.h>

#define LINE 64

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
    size_t bytes = arena->bytes + LINE;
    if (!arena->failed) arena->block = aligned_alloc(LINE, bytes);
    if (!arena->block) return -1;
    memset(arena->block, 0, bytes);
    for (int32_t i = 0; i < arena->count; i++)
        *arena->spans[i].where = (char*)arena->block + arena->spans[i].offset;
    free(arena->spans);
    arena->spans = NULL;
    return 0;
}

void arena_free(Arena* arena) {
    free(arena->spans);
    free(arena->block);
    memset(arena, 0, sizeof *arena);
}
