/* cpu_policy.h -- the network on the CPU: encoder for bytes, MinGRU layers forward and back. */

static void widen(int rows, int D, const uint8_t* obs, int scale, float* out, int ldo) {
    for (int r = 0; r < rows; r++, obs += D, out += ldo) {
        for (int d = 0; d < D; d++) out[d] = (float)obs[d];
        if (scale)
            for (int d = 0; d < D; d++) out[d] /= 255.0f;
    }
}

static int nonzero(int D, const uint8_t* row, int32_t* where) {
    int found = 0, d = 0;
    for (; d + 8 <= D; d += 8) {                    // eight bytes at a look
        uint64_t word;
        memcpy(&word, row + d, 8);
        if (!word) continue;
        for (int i = d; i < d + 8; i++)
            if (row[i]) where[found++] = i;
    }
    for (; d < D; d++)
        if (row[d]) where[found++] = d;
    return found;
}

// One multiply-add per element that is there, in the order of the full product: the same bits
static void encode_sparse(int n, const int32_t* where, const float* value, int D, int Hp,
                          const float* panels, float* x) {
    for (int j = 0; j < Hp; j += 2 * LANES, panels += (int64_t)D * 2 * LANES) {
        F low = f_set(0.0f), high = f_set(0.0f);
        for (int e = 0; e < n; e++) {
            const float* weight = panels + (int64_t)where[e] * 2 * LANES;
            F a = f_set(value[e]);
            low = f_fma(a, f_load(weight), low);
            high = f_fma(a, f_load(weight + LANES), high);
        }
        f_store(x + j, low);
        f_store(x + j + LANES, high);
    }
}

static void encode_sparse_backward(int n, const int32_t* where, const float* value, int Hp,
                                   const float* dx, float* dweight) {
    for (int e = 0; e < n; e++) {
        float* row = dweight + (int64_t)where[e] * Hp;
        F a = f_set(value[e]);
        for (int j = 0; j < Hp; j += LANES)
            f_store(row + j, f_fma(a, f_load(dx + j), f_load(row + j)));
    }
}

// The three products of ROWS rows for one register of units
#define GATE_TILE(ROWS)                                                                         \
    F c[ROWS][3];                                                                               \
    _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++)                                      \
        c[i][0] = c[i][1] = c[i][2] = f_set(0.0f);                                              \
    for (int k = 0; k < H; k++) {                                                               \
        F b0 = f_load(B + k * 3 * LANES), b1 = f_load(B + k * 3 * LANES + LANES),               \
          b2 = f_load(B + k * 3 * LANES + 2 * LANES);                                           \
        _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++) {                                \
            F a = f_set(x[i * (int64_t)ldx + k]);                                               \
            c[i][0] = f_fma(a, b0, c[i][0]);                                                    \
            c[i][1] = f_fma(a, b1, c[i][1]);                                                    \
            c[i][2] = f_fma(a, b2, c[i][2]);                                                    \
        }                                                                                       \
    }

#define STEP_TILE(NAME, ROWS)                                                                   \
    KERNEL_INLINE void NAME(int H, const float* restrict x, int ldx, const float* restrict B,   \
                            int unit, const float* state, float* new_state, int64_t lds,        \
                            float* restrict out) {                                              \
        GATE_TILE(ROWS)                                                                         \
        _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++) {                                \
            F g = f_candidate(c[i][0]), z = f_sigmoid(c[i][1]), s = f_sigmoid(c[i][2]);         \
            F h = f_mingru(g, z, f_load(state + i * lds + unit));                               \
            if (new_state) f_store(new_state + i * lds + unit, h);                              \
            f_store(out + i * (int64_t)ldx + unit,                                              \
                    f_highway(s, h, f_load(x + i * (int64_t)ldx + unit)));                      \
        }                                                                                       \
    }
STEP_TILE(step_tile, GATE_ROWS)
STEP_TILE(step_row, 1)

static void layer_step(int rows, int H, const float* x, int ldx, const float* weights,
                       const float* state, float* new_state, int lds, float* out) {
    for (int unit = 0; unit < H; unit += LANES, weights += (int64_t)H * 3 * LANES) {
        int r = 0;
        for (; r + GATE_ROWS <= rows; r += GATE_ROWS)
            step_tile(H, x + (int64_t)r * ldx, ldx, weights, unit, state + (int64_t)r * lds,
                      new_state ? new_state + (int64_t)r * lds : NULL, lds,
                      out + (int64_t)r * ldx);
        for (; r < rows; r++)
            step_row(H, x + (int64_t)r * ldx, ldx, weights, unit, state + (int64_t)r * lds,
                     new_state ? new_state + (int64_t)r * lds : NULL, lds, out + (int64_t)r * ldx);
    }
}

#define SCAN_TILE(NAME, ROWS)                                                                   \
    KERNEL_INLINE F NAME(int H, const float* restrict x, int ldx, const float* restrict B,      \
                         int unit, const float* const* before, const float* keep, F carried,    \
                         float* restrict h_out, int64_t ldh, float* restrict gates,             \
                         int64_t ldg, float* restrict out) {                                    \
        GATE_TILE(ROWS)                                                                         \
        _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++) {                                \
            F g = f_candidate(c[i][0]), z = f_sigmoid(c[i][1]), s = f_sigmoid(c[i][2]);         \
            if (before[i]) carried = f_load(before[i] + unit);                                  \
            carried = f_mingru(g, z, carried * f_set(keep[i]));                                 \
            f_store(h_out + i * ldh + unit, carried);                                           \
            f_store(out + i * (int64_t)ldx + unit,                                              \
                    f_highway(s, carried, f_load(x + i * (int64_t)ldx + unit)));                \
            f_store(gates + i * ldg, g);                                                        \
            f_store(gates + i * ldg + LANES, z);                                                \
            f_store(gates + i * ldg + 2 * LANES, s);                                            \
        }                                                                                       \
        return carried;                                                                         \
    }
SCAN_TILE(scan_tile, GATE_ROWS)
SCAN_TILE(scan_row, 1)

static void layer_scan(int rows, int H, const float* x, int ldx, const float* weights,
                       const float* const* before, const float* keep, float* h, int ldh,
                       float* gates, int ldg, float* out) {
    for (int unit = 0; unit < H; unit += LANES, weights += (int64_t)H * 3 * LANES) {
        F carried = f_set(0.0f);
        int r = 0;
        for (; r + GATE_ROWS <= rows; r += GATE_ROWS)
            carried = scan_tile(H, x + (int64_t)r * ldx, ldx, weights, unit, before + r, keep + r,
                                carried, h + (int64_t)r * ldh, ldh,
                                gates + (int64_t)r * ldg + 3 * unit, ldg, out + (int64_t)r * ldx);
        for (; r < rows; r++)
            carried = scan_row(H, x + (int64_t)r * ldx, ldx, weights, unit, before + r, keep + r,
                               carried, h + (int64_t)r * ldh, ldh,
                               gates + (int64_t)r * ldg + 3 * unit, ldg, out + (int64_t)r * ldx);
    }
}

static void layer_scan_backward(int rows, int H, const float* x, int ldx,
                                const float* const* before, const float* keep, const float* h,
                                int ldh, float* gates, int ldg, float* dx, float* carry) {
    int last = 1;                                   // row r ends a segment
    for (int r = rows - 1; r >= 0; r--) {
        const float* previous = before[r] ? before[r] : h + (int64_t)(r - 1) * ldh;
        const float* x_row = x + (int64_t)r * ldx;
        const float* h_row = h + (int64_t)r * ldh;
        float* dx_row = dx + (int64_t)r * ldx;
        F kept = f_set(keep[r]);
        if (last) memset(carry, 0, sizeof(float) * (size_t)((H + LANES - 1) / LANES * LANES));
        for (int unit = 0; unit < H; unit += LANES) {
            float* gate = gates + (int64_t)r * ldg + 3 * unit;
            MingruGradient out = f_mingru_backward(
                f_load(dx_row + unit), f_load(carry + unit), f_load(gate), f_load(gate + LANES),
                f_load(gate + 2 * LANES), f_load(h_row + unit), f_load(previous + unit) * kept,
                f_load(x_row + unit));
            f_store(carry + unit, out.carry * kept);
            f_store(gate, out.dhid);
            f_store(gate + LANES, out.dgate);
            f_store(gate + 2 * LANES, out.dproj);
            f_store(dx_row + unit, out.dx);
        }
        last = before[r] != NULL;
    }
}
