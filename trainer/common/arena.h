/* arena.h -- many buffers in one allocation: add what is needed, then commit once.
 *
 *     Arena arena = {0};
 *     arena_add(&arena, (void**)&weights, count * sizeof(float));     // as often as needed
 *     if (arena_commit(&arena) < 0) ...                               // now the pointers are set
 *     arena_free(&arena);
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct Arena {
    struct ArenaSpan {
        void** where;
        size_t offset;
    }* spans;
    int32_t count, room;
    size_t bytes;      // all spans and the gaps between them
    void* block;       // NULL before commit
    int32_t failed;    // the list of spans itself found no memory
} Arena;

// `*where` will point to `bytes` of zeros on a cache line, followed by a line of slack
void arena_add(Arena* arena, void** where, size_t bytes);
int32_t arena_commit(Arena* arena);            // 0, or -1 when there is not that much memory
void arena_place(Arena* arena, void* base);    // the same, in the caller's arena->bytes
void arena_free(Arena* arena);

#define ARENA_ADD(arena, pointer, count)                                                           \
    arena_add((arena), (void**)&(pointer), (size_t)(count) * sizeof *(pointer))
