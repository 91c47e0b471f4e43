/* layers.h -- the network on the CPU: encoder for bytes, MinGRU layers forward and back. */

static void widen(int rows, int D, const uint8_t* obs, float* out, int ldo) {
    for (int r = 0; r < rows; r++, obs += D, out += ldo)
        for (int d = 0; d < D; d++) out[d] = (float)obs[d];
}

static int nonzero(int D, const uint8_t* row, int32_t* where) {
    int found = 0;
    for (int d = 0; d < D; d += 64)
        for (uint64_t bits = nonzero_bytes(row + d, D - d < 64 ? D - d : 64); bits;
             bits &= bits - 1)
            where[found++] = d + __builtin_ctzll(bits);
    return found;
}

// One multiply-add per nonzero element, in the order of the full product: the same bits
static void encode_sparse(int n, const int32_t* where, const float* value, int D, int H_padded,
                          const float* panels, float* x) {
    for (int j = 0; j < H_padded; j += 2 * LANES, panels += (int64_t)D * 2 * LANES) {
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

static void encode_sparse_backward(int n, const int32_t* where, const float* value, int H_padded,
                                   const float* dx, float* dweight) {
    for (int e = 0; e < n; e++) {
        float* row = dweight + (int64_t)where[e] * H_padded;
        F a = f_set(value[e]);
        for (int j = 0; j < H_padded; j += LANES)
            f_store(row + j, f_fma(a, f_load(dx + j), f_load(row + j)));
    }
}

// A tile of rows at a time goes through all units: its x is prepared once for all of them
static void layer_step(int rows, int H, const float* x, int ldx, const void* weights,
                       const float* state, float* new_state, int lds, float* out) {
    float sums[GATE_ROWS * 3 * LANES] __attribute__((aligned(64)));
    GateRows tile;
    for (int r = 0; r < rows; r += tile.rows) {
        gate_prepare(&tile, rows - r, H, x + (int64_t)r * ldx, ldx);
        for (int unit = 0; unit < H; unit += LANES) {
            gate_products(&tile, H, weights, unit, sums);
            for (int i = 0; i < tile.rows; i++) {
                const float* sum = sums + 3 * LANES * i;
                int64_t at = (int64_t)(r + i) * ldx + unit, cell = (int64_t)(r + i) * lds + unit;
                F g = f_candidate(f_load(sum)), z = f_sigmoid(f_load(sum + LANES)),
                  s = f_sigmoid(f_load(sum + 2 * LANES));
                F h = f_mingru(g, z, f_set(1.0f) - z, f_load(state + cell));
                if (new_state) f_store(new_state + cell, h);
                f_store(out + at, f_highway(s, h, f_load(x + at)));
            }
        }
    }
}

static void layer_scan(int rows, int H, const float* x, int ldx, const void* weights,
                       const float* const* before, const float* keep, float* h, int ldh,
                       float* gates, int ldg, float* out) {
    float sums[GATE_ROWS * 3 * LANES] __attribute__((aligned(64)));
    GateRows tile;
    for (int r = 0; r < rows; r += tile.rows) {
        gate_prepare(&tile, rows - r, H, x + (int64_t)r * ldx, ldx);
        for (int unit = 0; unit < H; unit += LANES) {
            F carried = before[r] ? f_set(0.0f) : f_load(h + (int64_t)(r - 1) * ldh + unit);
            gate_products(&tile, H, weights, unit, sums);
            for (int i = 0; i < tile.rows; i++) {
                const float* sum = sums + 3 * LANES * i;
                int64_t row = r + i, at = row * ldx + unit;
                float* gate = gates + row * ldg + 3 * unit;
                F g = f_candidate(f_load(sum)), z = f_sigmoid(f_load(sum + LANES)),
                  s = f_sigmoid(f_load(sum + 2 * LANES));
                if (before[row]) carried = f_load(before[row] + unit);
                carried = f_mingru(g, z, (f_set(1.0f) - z) * f_set(keep[row]), carried);
                f_store(h + row * ldh + unit, carried);
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
    int last = 1;    // row r ends a segment
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
