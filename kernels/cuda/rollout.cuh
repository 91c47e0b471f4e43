/* rollout.cuh -- a tick of a slice of agents, but for its products and its actions; and the values
 * of final observations. */
#pragma once
#include "common.cuh"

// The last row of an agent after tick t - 1, or -1 where it has only waited since the rollout began.
// moves NULL: every tick has a row
KERNEL_INLINE int64_t last_place(const int32_t* moves, int64_t agent, int T, int t) {
    int rows = moves ? moves[agent] : t;
    return rows ? agent * T + rows - 1 : -1;
}

// Whether there was an agent at tick t - 1: where the last row is its own, or it waited
KERNEL_INLINE int has_lived(const float* live, int64_t last) {
    return last < 0 || !live || live[last] != 0.0f;
}

// Whether what tick t - 1 brought belongs to the last row: not where its episode was over before
KERNEL_INLINE int is_open(const int32_t* moves, const float* ended, int64_t last) {
    return !moves || (last >= 0 && ended[last] == 0.0f);
}

// Where the final observation of a row that lived is kept, or -1
KERNEL_INLINE int final_slot(const float* truncations, const uint8_t* has_final,
                             const int32_t* counts, int slots, int first, uint32_t row) {
    if (!has_final || truncations[row] == 0.0f || !has_final[row]) return -1;
    int used = counts[(int64_t)first + row];
    return used < slots ? used : -1;
}

CUDA_KERNEL(final_obs_keep, FinalObsKeepArgs) {
    int t = a.tick->t;
    CUDA_EACH(i, t ? a.rows * a.D : 0) {
        uint32_t row = i / (uint32_t)a.D, d = i % (uint32_t)a.D;
        int64_t last = last_place(a.moves, (int64_t)a.first + row, a.T, t);
        int slot = final_slot(a.truncations, a.has_final, a.counts, a.slots, a.first, row);
        if (slot < 0 || !has_lived(a.live, last) || !is_open(a.moves, a.ended, last)) continue;
        int64_t agent = (int64_t)slot * a.N + a.first + row, to = agent * a.D + d;
        if (a.obs_dtype == CUDA_U8) ((uint8_t*)a.kept_obs)[to] = ((const uint8_t*)a.final_obs)[i];
        else ((uint32_t*)a.kept_obs)[to] = ((const uint32_t*)a.final_obs)[i];
        if (d == 0) a.kept_ticks[agent] = (int32_t)(last % a.T);
    }
    CUDA_EACH(i, t ? a.rows * a.size : 0) {
        uint32_t row = i / (uint32_t)a.size;
        int64_t last = last_place(a.moves, (int64_t)a.first + row, a.T, t);
        int slot = final_slot(a.truncations, a.has_final, a.counts, a.slots, a.first, row);
        if (slot < 0 || !has_lived(a.live, last) || !is_open(a.moves, a.ended, last)) continue;
        int64_t from = (int64_t)a.first * a.size + i;
        a.kept_state[(int64_t)slot * a.N * a.size + from] = a.state[from];
    }
}

// Whether tick t - 1 ended the episode of a row: an agent that is gone has come to an end as well
KERNEL_INLINE int is_over(const TickBeginArgs* a, uint32_t row, int t) {
    int64_t last = last_place(a->moves, (int64_t)a->first + row, a->T, t);
    return a->terminals[row] != 0.0f || a->truncations[row] != 0.0f
           || (a->alive && (!a->alive[row] || !has_lived(a->live, last)));
}

// What tick t - 1 caused, to the agent's last row
KERNEL_INLINE void file_results(const TickBeginArgs* a, uint32_t row, int t) {
    int64_t last = last_place(a->moves, (int64_t)a->first + row, a->T, t);
    int lived = has_lived(a->live, last), cut = lived && a->truncations[row] != 0.0f;
    float reward = lived ? a->rewards[row] : 0.0f;
    if (is_bad(reward)) note_fault(a->fault, t - 1, a->first + (int)row, CUDA_BAD_REWARD);
    if (!is_open(a->moves, a->ended, last)) return;
    a->stored_rewards[last] = a->moves ? a->stored_rewards[last] + reward : reward;
    a->ended[last] = (float)is_over(a, row, t);
    int slot = cut ? final_slot(a->truncations, a->has_final, a->counts, a->slots, a->first, row)
                   : -1;
    a->truncated[last] = slot < 0 ? (float)cut : (float)TRUNCATED_WITH_VALUE;
    if (slot >= 0) a->counts[a->first + row] = slot + 1;
}

// Where there are masks: who waits at tick t, and zeros for what the ticks until the next move add
// up; at T in all rows that are left
KERNEL_INLINE void begin_rows(const TickBeginArgs* a, uint32_t row, int t) {
    int64_t agent = (int64_t)a->first + row, end = (agent + 1) * a->T;
    int absent = a->alive && !a->alive[row];
    int waits = !absent && mask_waits(a->mask + (int64_t)row * a->A, a->A);
    a->waits[agent] = (uint8_t)waits;
    if (t < a->T && waits) return;
    int64_t at = agent * a->T + a->moves[agent];
    if (t < a->T) end = at + 1;
    for (; at < end; at++) a->stored_rewards[at] = a->ended[at] = a->truncated[at] = 0.0f;
}

CUDA_KERNEL(tick_next, TickNextArgs) {
    CUDA_EACH(i, 1) {
        a.tick->t++;
        a.tick->step++;
    }
}

CUDA_KERNEL(tick_begin, TickBeginArgs) {
    int t = a.tick->t, T = a.T;
    CUDA_EACH(row, t || a.moves ? a.rows : 0) {
        if (t) file_results(&a, row, t);
        if (a.moves) begin_rows(&a, row, t);
    }
    CUDA_EACH(i, a.rows * a.size) {
        uint32_t row = i / (uint32_t)a.size;
        int64_t at = (int64_t)a.first * a.size + i;
        int over = t && is_over(&a, row, t);
        if (over) a.state[at] = 0.0f;
        if (over && last_place(a.moves, (int64_t)a.first + row, T, t) < 0) a.state0[at] = 0.0f;
        if (t) continue;
        if (a.reset_state) a.state[at] = 0.0f;
        a.state0[at] = a.state[at];
    }
    CUDA_EACH(i, a.rows * a.ldw) {
        uint32_t row = i / (uint32_t)a.ldw, d = i % (uint32_t)a.ldw;
        int64_t from = (int64_t)row * a.D + d, agent = (int64_t)a.first + row;
        int place = a.moves ? a.moves[agent] : t, blind = a.alive && !a.alive[row];
        int64_t to = (agent * T + place) * a.D + d;
        if ((int)d >= a.D) {
            write_operand(a.wide, a.narrow, i, 0.0f);
            continue;
        }
        write_operand(a.wide, a.narrow, i, blind ? 0.0f : obs_float(a.obs, a.obs_dtype, from));
        for (; t == T && place < T; place++, to += a.D)    // rows that are left
            if (a.obs_dtype == CUDA_U8) ((uint8_t*)a.stored_obs)[to] = 0;
            else ((uint32_t*)a.stored_obs)[to] = 0u;
        if (t == T) continue;
        if (a.obs_dtype == CUDA_U8)    // of one that waits, until its next move comes here
            ((uint8_t*)a.stored_obs)[to] = blind ? (uint8_t)0 : ((const uint8_t*)a.obs)[from];
        else ((uint32_t*)a.stored_obs)[to] = blind ? 0u : ((const uint32_t*)a.obs)[from];
    }
}

CUDA_KERNEL(gates_step, GatesStepArgs) {
    int moves = a.tick->t < a.T;
    CUDA_EACH(i, a.rows * a.H) {
        uint32_t row = i / (uint32_t)a.H, unit = i % (uint32_t)a.H;
        const float* products = a.products + (int64_t)row * 3 * a.H + unit;
        float* state = a.state + (int64_t)row * a.lds + unit;
        F g = f_candidate(products[0]), z = f_sigmoid(products[a.H]),
          s = f_sigmoid(products[2 * a.H]);
        F h = f_mingru(g, z, f_set(1.0f) - z, *state);
        if (moves && !(a.waits && a.waits[row])) *state = h;
        write_operand(a.out, a.narrow, i, f_highway(s, h, a.x[i]));
    }
}

CUDA_KERNEL(final_values_store, FinalValuesStoreArgs) {
    CUDA_EACH(row, a.rows) {
        int64_t agent = (int64_t)a.first + row;
        if (a.counts[agent] <= a.slot) continue;
        int t = a.ticks[agent];
        float value = a.out[(int64_t)row * a.ldo + a.A];
        if (is_bad(value)) note_fault(a.fault, t, (int)agent, CUDA_BAD_FINAL);
        a.final_values[agent * a.T + t] = value;
    }
}
