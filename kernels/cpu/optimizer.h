/* optimizer.h -- sums of gradients in a fixed order, and what Muon does to whole arrays. */

static void add_up(int count, int parts, const float* const* part, int64_t offset, float* out) {
    int i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        F low = f_load(part[0] + offset + i), high = f_load(part[0] + offset + i + LANES);
        for (int p = 1; p < parts; p++) {
            low = low + f_load(part[p] + offset + i);
            high = high + f_load(part[p] + offset + i + LANES);
        }
        f_store(out + i, low);
        f_store(out + i + LANES, high);
    }
    for (; i < count; i++) {
        out[i] = part[0][offset + i];
        for (int p = 1; p < parts; p++) out[i] += part[p][offset + i];
    }
}

static double square_sum(int64_t n, const float* x) {
    double total = 0.0;
    int64_t i = 0;
    while (i + LANES <= n) {    // short sums in float, their sum in double
        F sum = f_set(0.0f);
        for (int k = 0; k < 64 && i + LANES <= n; k++, i += LANES)
            sum = f_fma(f_load(x + i), f_load(x + i), sum);
        total += (double)f_sum(sum);
    }
    for (; i < n; i++) total += (double)x[i] * (double)x[i];
    return total;
}

static void nesterov(int64_t n, float mu, float scale, const float* g, float* m, float* u) {
    for (int64_t i = 0; i < n; i++) {
        float gradient = scale * g[i], momentum = s_fma(mu, m[i], gradient);
        m[i] = momentum;
        u[i] = s_fma(mu, momentum, gradient);
    }
}

static void add_scaled(int64_t n, float factor, const float* x, float* y) {
    for (int64_t i = 0; i < n; i++) y[i] = s_fma(factor, x[i], y[i]);
}

static void muon_polynomial(int rows, int n, int ld, float a, float b, float c, const float* G,
                            float* P) {
    for (int i = 0; i < rows; i++, G += ld, P += ld) {
        for (int j = 0; j < n; j++) P[j] = s_fma(c, P[j], b * G[j]);
        P[i] += a;
    }
}
