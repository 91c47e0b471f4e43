/* state.c -- the words that make up an environment's state: its struct, and the heap blocks
 * that the struct points to.
 *
 * Which blocks those are is found out once, from the pointers that the struct holds after the
 * first reset; a block that moves or goes away later is read as zeros.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCK = 1 << 10, MAX_STATE = 1 << 13 };    // words

bool is_state(size_t word) {    // not a log, a generator or a pointer to the buffers
    size_t at = word * 4;
    const Layout* l = &layout;
    if ((at + 4 > l->log && at < l->log + l->log_size)
        || (at + 4 > l->rng && at < l->rng + l->rng_size)
        || (at + 4 > l->bound_at && at < l->bound_at + l->bound_size)) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if (at + 4 > l->pointers[i] && at < l->pointers[i] + sizeof(void*)) {
            return false;
        }
    }
    return true;
}

State state_open(const Batch* b, int env) {
    State s = {.struct_words = layout.size / 4};
    s.words = s.struct_words = s.struct_words < MAX_STATE ? s.struct_words : MAX_STATE;
    Heap heap = find_heap();
    for (size_t at = 0; at + sizeof(void*) <= layout.size; at += sizeof(void*)) {
        uintptr_t value;
        memcpy(&value, env_struct(b, env) + at, sizeof value);
        size_t words = is_state(at / 4) ? block_bytes(heap, value) / 4 : 0;
        words = words < MAX_BLOCK ? words : MAX_BLOCK;
        if (words > 0 && s.blocks < MAX_BLOCKS && s.words + words <= MAX_STATE) {
            s.block[s.blocks++] = (StateBlock){at, words, value};
            s.words += words;
        }
    }
    return s;
}

void state_read(const State* s, const Batch* b, int env, uint32_t* out) {
    const char* base = env_struct(b, env);
    memcpy(out, base, 4 * s->struct_words);
    out += s->struct_words;
    Heap heap = {0, 0};
    for (int i = 0; i < s->blocks; i++) {
        uintptr_t at;
        memcpy(&at, base + s->block[i].pointer, sizeof at);
        const StateBlock* block = &s->block[i];
        if (at != block->address && heap.low == 0) {
            heap = find_heap();
        }
        if (at == block->address || block_bytes(heap, at) / 4 >= block->words) {
            memcpy(out, (const void*)at, 4 * block->words);
        } else {
            memset(out, 0, 4 * block->words);
        }
        out += block->words;
    }
}

StatePlace state_place(const State* s, size_t word) {
    if (word < s->struct_words) {
        return (StatePlace){-1, (int)(4 * word)};
    }
    word -= s->struct_words;
    int i = 0;
    while (i + 1 < s->blocks && word >= s->block[i].words) {
        word -= s->block[i++].words;
    }
    return (StatePlace){(int)s->block[i].pointer, (int)(4 * word)};
}
