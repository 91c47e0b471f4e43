/* rollout.cuh -- a tick of a slice of agents, but for its products and its actions. */
#pragma once
#include "common.cuh"

CUDA_KERNEL(tick_begin, TickBeginArgs) {
    int t = a.tick->t, T = a.T;
    CUDA_EACH(row, t ? a.rows : 0) {
        int64_t at = ((int64_t)a.first + row) * T + t - 1;
        float reward = a.rewards[row];
        int cut = a.truncations[row] != 0.0f;
        if (is_bad(reward)) note_fault(a.fault, t - 1, a.first + (int)row, CUDA_BAD_REWARD);
        a.stored_rewards[at] = reward;
        a.ended[at] = (float)(a.terminals[row] != 0.0f || cut);
        a.truncated[at] = (float)cut;
    }
    CUDA_EACH(i, a.rows * a.size) {
        uint32_t row = i / (uint32_t)a.size;
        int64_t at = (int64_t)a.first * a.size + i;
        if (t && (a.terminals[row] != 0.0f || a.truncations[row] != 0.0f)) a.state[at] = 0.0f;
        if (t) continue;
        if (a.reset_state) a.state[at] = 0.0f;
        a.state0[at] = a.state[at];
    }
    CUDA_EACH(i, a.rows * a.ldw) {
        uint32_t row = i / (uint32_t)a.ldw, d = i % (uint32_t)a.ldw;
        int64_t from = (int64_t)row * a.D + d, to = (((int64_t)a.first + row) * T + t) * a.D + d;
        if ((int)d >= a.D) {
            write_operand(a.wide, a.narrow, i, 0.0f);
            continue;
        }
        write_operand(a.wide, a.narrow, i, obs_float(a.obs, a.obs_dtype, a.scale_obs, from));
        if (t == T) continue;
        if (a.obs_dtype == CUDA_U8) ((uint8_t*)a.stored_obs)[to] = ((const uint8_t*)a.obs)[from];
        else ((float*)a.stored_obs)[to] = ((const float*)a.obs)[from];
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
        if (moves) *state = h;
        write_operand(a.out, a.narrow, i, f_highway(s, h, a.x[i]));
    }
}
