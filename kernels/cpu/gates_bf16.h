/* gates_bf16.h -- the products of a layer with its weights, in bf16 (AVX-512 BF16).
 *
 * Two neighbours in k share a word, and one instruction multiplies and adds both, in fp32. What
 * is multiplied has 8 bits, an error of up to 1/512 a factor; of a minibatch's gradient that is
 * 0.1 to 2 %, the more the better its terms cancel, nearly all of it from the forward pass.
 * Gradients of weights stay fp32: their products would need pairs of rows.
 */

typedef __m512bh Pairs;
#define PAIR_K 384    // k of an A tile that is converted at a time; even

KERNEL_INLINE uint32_t to_bf16(float x) {    // to the nearest, ties to even
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static void pack_pairs(int K, int width, const float* panels, void* pairs) {
    uint32_t* out = pairs;
    for (int k = 0; k < K; k += 2, panels += 2 * width, out += width)
        for (int j = 0; j < width; j++)
            out[j] = to_bf16(panels[j]) | (k + 1 < K ? to_bf16(panels[width + j]) << 16 : 0);
}

// (ROWS, K) floats -> (ROWS, PAIR_K / 2) words; an odd last one is paired with 0
KERNEL_INLINE void convert_rows(int rows, int K, const float* A, int64_t lda, uint32_t* out) {
    for (int i = 0; i < rows; i++, A += lda, out += PAIR_K / 2) {
        int k = 0;
        for (; k + 32 <= K; k += 32)
            _mm512_storeu_si512(
                out + k / 2,
                (__m512i)_mm512_cvtne2ps_pbh((__m512)f_load(A + k + 16), (__m512)f_load(A + k)));
        for (; k < K; k += 2)
            out[k / 2] = to_bf16(A[k]) | (k + 1 < K ? to_bf16(A[k + 1]) << 16 : 0);
    }
}

KERNEL_INLINE F multiply_pairs(F sum, uint32_t a, const uint32_t* b) {
    return (F)_mm512_dpbf16_ps((__m512)sum, (Pairs)_mm512_set1_epi32((int)a),
                               (Pairs)_mm512_loadu_si512(b));
}

#define PAIR_TILE(NAME, ROWS, VECTORS)                                                             \
    static __attribute__((noinline)) void NAME(int words, const uint32_t* restrict A,              \
                                               const uint32_t* restrict B, float* restrict C,      \
                                               int64_t ldc, int add) {                             \
        F c[ROWS][VECTORS];                                                                        \
        _Pragma("GCC unroll 12") for (int i = 0; i < ROWS; i++)                                    \
            _Pragma("GCC unroll 3") for (int v = 0; v < VECTORS; v++)                              \
                c[i][v] = add ? f_load(C + i * ldc + v * LANES) : f_set(0.0f);                     \
        for (int k = 0; k < words; k++, B += VECTORS * LANES)                                      \
            _Pragma("GCC unroll 12") for (int i = 0; i < ROWS; i++)                                \
                _Pragma("GCC unroll 3") for (int v = 0; v < VECTORS; v++)                          \
                    c[i][v] = multiply_pairs(c[i][v], A[i * (PAIR_K / 2) + k], B + v * LANES);     \
        _Pragma("GCC unroll 12") for (int i = 0; i < ROWS; i++)                                    \
            _Pragma("GCC unroll 3") for (int v = 0; v < VECTORS; v++)                              \
                f_store(C + i * ldc + v * LANES, c[i][v]);                                         \
    }
PAIR_TILE(gate_pairs, GATE_ROWS, 3)
PAIR_TILE(gate_pairs_row, 1, 3)
PAIR_TILE(dx_pairs, TILE_ROWS, 2)
PAIR_TILE(dx_pairs_row, 1, 2)

typedef struct GateRows {    // rows of x, as many as fit a tile, or one
    int rows;
    const float* x;
    int64_t ldx;
    uint32_t pairs[GATE_ROWS * PAIR_K / 2];    // its first PAIR_K columns
} GateRows;

KERNEL_INLINE void gate_prepare(GateRows* tile, int rows, int H, const float* x, int64_t ldx) {
    tile->rows = rows < GATE_ROWS ? 1 : GATE_ROWS;
    tile->x = x;
    tile->ldx = ldx;
    if (H <= PAIR_K) convert_rows(tile->rows, H, x, ldx, tile->pairs);
}

KERNEL_INLINE void gate_products(GateRows* tile, int H, const void* weights, int unit,
                                 float* sums) {
    const uint32_t* B = (const uint32_t*)weights + (int64_t)unit * 3 * ((H + 1) / 2);
    for (int k = 0; k < H; k += PAIR_K) {
        int here = H - k < PAIR_K ? H - k : PAIR_K;
        if (H > PAIR_K) convert_rows(tile->rows, here, tile->x + k, tile->ldx, tile->pairs);
        (tile->rows == 1 ? gate_pairs_row : gate_pairs)(
            (here + 1) / 2, tile->pairs, B + (int64_t)k / 2 * 3 * LANES, sums, 3 * LANES, k > 0);
    }
}

static void layer_dx(int M, int H_padded, const float* gates, int ldg, const void* panels,
                     float* dx, int ldx) {
    uint32_t A[TILE_ROWS * PAIR_K / 2];
    for (int k = 0; k < 3 * H_padded; k += PAIR_K)
        for (int m = 0; m < M;) {
            int rows = M - m < TILE_ROWS ? 1 : TILE_ROWS;
            int here = 3 * H_padded - k < PAIR_K ? 3 * H_padded - k : PAIR_K;
            convert_rows(rows, here, gates + (int64_t)m * ldg + k, ldg, A);
            for (int j = 0; j < H_padded; j += 2 * LANES)
                (rows == 1 ? dx_pairs_row : dx_pairs)(here / 2, A,
                                                      (const uint32_t*)panels
                                                          + (int64_t)j * (3 * H_padded / 2)
                                                          + (int64_t)k / 2 * 2 * LANES,
                                                      dx + (int64_t)m * ldx + j, ldx, 1);
            m += rows;
        }
}
