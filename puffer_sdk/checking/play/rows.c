/* rows.c -- where an env keeps its struct and its rows, and how large a row of each array is. */
#include "harness.h"

const char* const array_names[NUM_ARRAYS] = {"observations", "actions",     "rewards", "terminals",
                                             "truncations",  "action_mask", "alive"};

size_t row_bytes(int array) {
    switch (array) {
    case OBSERVATIONS: return (size_t)desc.obs_size * (desc.obs_dtype == PUFFER_U8 ? 1 : 4);
    case ACTIONS: return (size_t)desc.num_atns * 4;
    case TRUNCATIONS: return desc.has_truncations ? 4 : 0;
    case MASK: return (size_t)desc.mask_size;
    case ALIVE: return desc.has_alive ? 1 : 0;
    default: return 4;
    }
}

void* array_of(const PufferBuffers* rows, int array) {
    switch (array) {
    case OBSERVATIONS: return rows->observations;
    case ACTIONS: return rows->actions;
    case REWARDS: return rows->rewards;
    case TERMINALS: return rows->terminals;
    case TRUNCATIONS: return rows->truncations;
    case MASK: return rows->action_mask;
    default: return rows->alive;
    }
}

char* env_struct(const Batch* b, int env) {
    return b->twin ? b->twin->structs + b->twin->bytes * (size_t)env : api->env_struct(b->vec, env);
}
