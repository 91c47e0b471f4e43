/* gates.h -- the products of a layer with its weights, in fp32. */

// The products hid, gate, proj of ROWS rows for one register of units -> sums (ROWS, 3, lanes).
// A function of its own, so that what follows takes no register from it
#define GATE_TILE(NAME, ROWS)                                                                      \
    static __attribute__((noinline)) void NAME(int H, const float* restrict x, int64_t ldx,        \
                                               const float* restrict B, float* restrict sums) {    \
        F c[ROWS][3];                                                                              \
        _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++)                                     \
            c[i][0] = c[i][1] = c[i][2] = f_set(0.0f);                                             \
        for (int k = 0; k < H; k++, B += 3 * LANES) {                                              \
            F b0 = f_load(B), b1 = f_load(B + LANES), b2 = f_load(B + 2 * LANES);                  \
            _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++) {                               \
                F a = f_set(x[i * ldx + k]);                                                       \
                c[i][0] = f_fma(a, b0, c[i][0]);                                                   \
                c[i][1] = f_fma(a, b1, c[i][1]);                                                   \
                c[i][2] = f_fma(a, b2, c[i][2]);                                                   \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int i = 0; i < ROWS; i++)                                     \
            _Pragma("GCC unroll 3") for (int gate = 0; gate < 3; gate++)                           \
                f_store(sums + (3 * i + gate) * LANES, c[i][gate]);                                \
    }
GATE_TILE(gate_tile, GATE_ROWS)
GATE_TILE(gate_row, 1)

typedef struct GateRows {    // rows of x, as many as fit a tile, or one
    int rows;
    const float* x;
    int64_t ldx;
} GateRows;

KERNEL_INLINE void gate_prepare(GateRows* tile, int rows, int H, const float* x, int64_t ldx) {
    (void)H;
    tile->rows = rows < GATE_ROWS ? 1 : GATE_ROWS;
    tile->x = x;
    tile->ldx = ldx;
}

KERNEL_INLINE void gate_products(const GateRows* tile, int H, const float* weights, int unit,
                                 float* sums) {
    const float* B = weights + (int64_t)unit * H * 3;
    (tile->rows == 1 ? gate_row : gate_tile)(H, tile->x, tile->ldx, B, sums);
}

static void layer_dx(int M, int H_padded, const float* gates, int ldg, const void* panels,
                     float* dx, int ldx) {
    product_panels(M, H_padded, 3 * H_padded, gates, ldg, panels, 3 * H_padded, dx, ldx, 1);
}
