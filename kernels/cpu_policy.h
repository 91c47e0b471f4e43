/* cpu_policy.h -- the network on the CPU: encoder for bytes, MinGRU layers forward and back. */

static void widen(int rows, int D, const uint8_t* obs, int scale, float* out, int ldo) {
    for (int r = 0; r < rows; r++, obs += D, out += ldo) {
        for (int d = 0; d < D; d++) out[d] = (float)obs[d];
        if (scale)
            for (int d = 0; d < D; d++) out[d] /= 255.0f;
    }
}

static int nonzero(int D, const uint8_t* row, int32_t* where) {
    int found = 0;
    for (int d = 0; d < D; d += 64)
        for (uint64_t bits = nonzero_bytes(row + d, D - d < 64 ? D - d : 64); bits;
             bits &= bits - 1)
            where[found++] = d + __builtin_ctzll(bits);
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

// The products hid, gate, proj of ROWS rows for one register of units -> sums (ROWS, 3, lanes).
// A function of its own, so that what follows takes no register from it
#define GATE_TILE(NAME, ROWS)                                                                   \
    static __attribute__((noinline)) void NAME(int H, const float* restrict x, int64_t ldx,     \
                                               const float* restrict B, float* restrict sums) { \
        F c[ROWS][3];                                                                           \
        _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++)                                  \
            c[i][0] = c[i][1] = c[i][2] = f_set(0.0f);                                          \
        for (int k = 0; k < H; k++, B += 3 * LANES) {                                           \
            F b0 = f_load(B), b1 = f_load(B + LANES), b2 = f_load(B + 2 * LANES);               \
            _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++) {                            \
                F a = f_set(x[i * ldx + k]);                                                    \
                c[i][0] = f_fma(a, b0, c[i][0]);                                                \
                c[i][1] = f_fma(a, b1, c[i][1]);                                                \
                c[i][2] = f_fma(a, b2, c[i][2]);                                                \
            }                                                                                   \
        }                                                                                       \
        _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++)                                  \
            _Pragma("GCC unroll 3") for (int gate = 0; gate < 3; gate++)                        \
                f_store(sums + (3 * i + gate) * LANES, c[i][gate]);                             \
    }
GATE_TILE(gate_tile, GATE_ROWS)
GATE_TILE(gate_row, 1)

// As many rows as fit a tile, or one; returns how many
KERNEL_INLINE int gate_products(int rows, int H, const float* x, int64_t ldx, const float* B,
                                float* sums) {
    if (rows < GATE_ROWS) {
        gate_row(H, x, ldx, B, sums);
        return 1;
    }
    gate_tile(H, x, ldx, B, sums);
    return GATE_ROWS;
}

static void layer_step(int rows, int H, const float* x, int ldx, const float* weights,
                       const float* state, float* new_state, int lds, float* out) {
    float sums[GATE_ROWS * 3 * LANES] __attribute__((aligned(64)));
    for (int unit = 0; unit < H; unit += LANES, weights += (int64_t)H * 3 * LANES)
        for (int r = 0; r < rows;) {
            int done = gate_products(rows - r, H, x + (int64_t)r * ldx, ldx, weights, sums);
            for (const float* sum = sums; done > 0; done--, r++, sum += 3 * LANES) {
                int64_t at = (int64_t)r * ldx + unit, cell = (int64_t)r * lds + unit;
                F g = f_candidate(f_load(sum)), z = f_sigmoid(f_load(sum + LANES)),
                  s = f_sigmoid(f_load(sum + 2 * LANES));
                F h = f_mingru(g, z, f_load(state + cell));
                if (new_state) f_store(new_state + cell, h);
                f_store(out + at, f_highway(s, h, f_load(x + at)));
            }
        }
}

static void layer_scan(int rows, int H, const float* x, int ldx, const float* weights,
                       const float* const* before, const float* keep, float* h, int ldh,
                       float* gates, int ldg, float* out) {
    float sums[GATE_ROWS * 3 * LANES] __attribute__((aligned(64)));
    for (int unit = 0; unit < H; unit += LANES, weights += (int64_t)H * 3 * LANES) {
        F carried = f_set(0.0f);
        for (int r = 0; r < rows;) {
            int done = gate_products(rows - r, H, x + (int64_t)r * ldx, ldx, weights, sums);
            for (const float* sum = sums; done > 0; done--, r++, sum += 3 * LANES) {
                int64_t at = (int64_t)r * ldx + unit;
                float* gate = gates + (int64_t)r * ldg + 3 * unit;
                F g = f_candidate(f_load(sum)), z = f_sigmoid(f_load(sum + LANES)),
                  s = f_sigmoid(f_load(sum + 2 * LANES));
                if (before[r]) carried = f_load(before[r] + unit);
                carried = f_mingru(g, z, carried * f_set(keep[r]));
                f_store(h + (int64_t)r * ldh + unit, carried);
                f_store(out + at, f_highway(s, carried, f_load(x + at)));
                f_store(gate, g);
                f_store(gate + LANES, z);
                f_store(gate + 2 * LANES, s);
            }
        }
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
