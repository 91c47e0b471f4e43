/* advantage.h -- GAE with V-trace clipping over one segment, and sums over its advantages. */

// The errors of all ticks at once, then the recursion backward: one multiply-add a tick
static void advantage(const AdvantageArgs* a, float* scratch, float* out) {
    int T = a->horizon;
    F limit = f_set(a->reward_clip > 0.0f ? a->reward_clip : 3.4e38f), zero = f_set(0.0f);
    F scale = f_set(a->reward_scale);
    F highest = f_set(a->highest_value);
    F decay = f_set(a->gamma * a->gae_lambda), gamma = f_set(a->gamma);
    float* fade = scratch;
    for (int t = 0; t < T; t += LANES) {
        float buffer[8][LANES];
        const float *reward = a->rewards + t, *value = a->values + t, *ratio = a->ratio + t,
                    *ended = a->ended + t, *truncated = a->truncated + t, *next = a->values + t + 1,
                    *final = (a->final_values ? a->final_values : a->values) + t;
        int here = T - t < LANES ? T - t : LANES;
        if (t + LANES >= T) {    // the last ones: the bootstrap follows them
            memset(buffer, 0, sizeof buffer);
            for (int i = 0; i < here; i++) {
                buffer[0][i] = reward[i], buffer[1][i] = value[i], buffer[2][i] = ratio[i];
                buffer[3][i] = ended[i], buffer[4][i] = truncated[i];
                buffer[5][i] = t + i + 1 < T ? next[i] : a->bootstrap;
                buffer[7][i] = final[i];
            }
            reward = buffer[0], value = buffer[1], ratio = buffer[2];
            ended = buffer[3], truncated = buffer[4], next = buffer[5], final = buffer[7];
        }
        F w = f_load(ratio), over = f_load(ended);
        F clipped = f_max(zero - limit, f_min(limit, f_load(reward))) * scale;
        F delta = f_delta(clipped, f_load(value), f_load(next), over, f_load(truncated),
                          f_load(final), highest, f_min(f_set(a->rho_clip), w), gamma);
        F pass = f_select(f_eq(over, zero), decay * f_min(f_set(a->c_clip), w), zero);
        f_store(buffer[6], delta);
        memcpy(out + t, buffer[6], sizeof(float) * (size_t)here);
        f_store(buffer[6], pass);
        memcpy(fade + t, buffer[6], sizeof(float) * (size_t)here);
    }
    for (int t = T - 2; t >= 0; t--) out[t] = s_fma(fade[t], out[t + 1], out[t]);
}

enum { SUM_LANES = 8 };    // on every machine: the same order everywhere

// SUM_LANES ticks: R = A + V, and what both add to the sums
KERNEL_INLINE void sum_ticks(const float* a, const float* v, float* returns,
                             double lane[KERNEL_SUMS][SUM_LANES]) {
    for (int i = 0; i < SUM_LANES; i++) {
        returns[i] = a[i] + v[i];
        double A = (double)a[i], R = (double)returns[i];
        lane[0][i] += A;
        lane[1][i] += A * A;
        lane[2][i] += A < 0.0 ? -A : A;
        lane[3][i] += R;
        lane[4][i] += R * R;
    }
}

static void segment_sums(int T, const float* advantages, const float* values, float* returns,
                         double sums[KERNEL_SUMS]) {
    double lane[KERNEL_SUMS][SUM_LANES] = {{0.0}};
    int t = 0, left = T % SUM_LANES;
    for (; t < T - left; t += SUM_LANES) sum_ticks(advantages + t, values + t, returns + t, lane);
    if (left) {
        float a[SUM_LANES] = {0.0f}, v[SUM_LANES] = {0.0f}, r[SUM_LANES];
        for (int i = 0; i < left; i++) a[i] = advantages[t + i], v[i] = values[t + i];
        sum_ticks(a, v, r, lane);
        for (int i = 0; i < left; i++) returns[t + i] = r[i];
    }
    for (int k = 0; k < KERNEL_SUMS; k++) {
        sums[k] = 0.0;
        for (int i = 0; i < SUM_LANES; i++) sums[k] += lane[k][i];
    }
}
