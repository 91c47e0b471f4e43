/* agents.c -- which rows have an agent: all of them, where agents neither come nor go.
 *
 * An agent that was there when it was observed acts, and the reward and the terminal of that step
 * are its own (had_agent), even if it is gone afterwards. The observation and the mask behind a
 * step belong to those that are there now (has_agent). What lies in other rows is nobody's.
 */
#include "harness.h"
#include <string.h>

uint64_t rng_of(const Batch* b, int env) {
    uint64_t value = 0;
    if (layout.rng_size) {
        size_t size = layout.rng_size < sizeof value ? layout.rng_size : sizeof value;
        memcpy(&value, env_struct(b, env) + layout.rng, size);
    }
    return value;
}

int32_t int_at(const Batch* b, int env, size_t offset) {
    int32_t value;
    memcpy(&value, env_struct(b, env) + offset, sizeof value);
    return value;
}

bool has_agent(const Batch* b, int env, int agent) {
    const unsigned char* alive = b->rows[env].alive;
    return agent < int_at(b, env, layout.agents) && (!alive || alive[agent]);
}

bool had_agent(const Batch* b, int env, int agent) { return b->had[b->first[env] + agent]; }

void note_agents(Batch* b, int env) {
    for (int i = env < 0 ? 0 : env; i < (env < 0 ? b->envs : env + 1); i++) {
        for (int agent = 0; agent < b->count[i]; agent++) {
            b->had[b->first[i] + agent] = has_agent(b, i, agent);
        }
    }
}

bool agent_ended(const Batch* b, int env, int agent) {
    return had_agent(b, env, agent)
           && (b->rows[env].terminals[agent] != 0.0f || !has_agent(b, env, agent));
}

bool any_ended(const Batch* b, int env) {
    for (int agent = 0; agent < b->count[env]; agent++) {
        if (agent_ended(b, env, agent)) {
            return true;
        }
    }
    return false;
}

// With a variable number of agents, the last agent may leave without a reset: the env's episode ended
// only if rows that ended have an agent again
bool env_ended(const Batch* b, int env) {
    int had = 0, has = 0, ended = 0, stayed = 0, rows = b->count[env];
    for (int agent = 0; agent < rows; agent++) {
        bool was = had_agent(b, env, agent), is = has_agent(b, env, agent);
        had += was;
        has += is;
        stayed += was && is;
        ended += was && b->rows[env].terminals[agent] != 0.0f;
    }
    bool new_round = stayed > 0 && (had > 1 || has == rows);
    return ended == (desc.has_alive ? had : rows) && (!desc.has_alive || new_round);
}

bool is_told(const Batch* b, int array, int env, int agent) {
    switch (array) {
    case OBSERVATIONS:
    case MASK: return has_agent(b, env, agent);
    case REWARDS:
    case TERMINALS:
    case TRUNCATIONS: return had_agent(b, env, agent);
    default: return true;
    }
}

void copy_told(const Batch* b, int env, int array, char* out) {
    size_t bytes = row_bytes(array);
    const char* rows = array_of(&b->rows[env], array);
    for (int agent = 0; agent < b->count[env]; agent++, rows += bytes, out += bytes) {
        if (is_told(b, array, env, agent)) {
            memcpy(out, rows, bytes);
        } else {
            memset(out, 0, bytes);
        }
    }
}

uint64_t hash_array(const Batch* b, int env, int array, uint64_t hash) {
    size_t bytes = row_bytes(array);
    const char* rows = array_of(&b->rows[env], array);
    int agent = 0;
    while (agent < b->count[env] && is_told(b, array, env, agent)) {
        agent++;
    }
    if (agent == b->count[env]) {
        return hash_bytes(hash, rows, bytes * (size_t)agent);
    }
    for (agent = 0; agent < b->count[env]; agent++, rows += bytes) {
        if (is_told(b, array, env, agent)) {
            hash = hash_bytes(hash, rows, bytes);
        }
    }
    return hash;
}

uint64_t hash_rows(const Batch* b, int env, uint64_t hash) {
    for (int a = 0; a < NUM_ARRAYS; a++) {
        if (a != ACTIONS && row_bytes(a) > 0) {
            hash = hash_array(b, env, a, hash);
        }
    }
    return hash;
}
