/* products.h -- matrix products on registers: TILE_ROWS x 2 F of the result at a time.
 *
 * A tile is loaded (or zeroed), gets one multiply-add per element and k, and is stored; so an
 * element's sum has the same order in a tile of any height. While a tile is made, the one below it
 * is asked for, a register at a time: all at once would fill the queue of misses. */

// C (rows, 2 F) += A B over K; element (i, k) of A is A[i * row_step + k * k_step]
#define PRODUCT_TILE(ROWS, VECTORS)                                                                \
    do {                                                                                           \
        F c[ROWS][VECTORS];                                                                        \
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; i++)                                    \
            _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)                              \
                c[i][v] = add ? f_load(C + (int64_t)i * ldc + v * LANES) : f_set(0.0f);            \
        for (int k = 0; k < K; k++) {                                                              \
            if (k < ROWS * VECTORS)                                                                \
                __builtin_prefetch(C + (int64_t)(ROWS + k / VECTORS) * ldc + k % VECTORS * LANES,  \
                                   1);                                                             \
            F b[VECTORS];                                                                          \
            _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)                              \
                b[v] = f_load(B + (int64_t)k * ldb + v * LANES);                                   \
            _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; i++) {                              \
                F a = f_set(A[i * row_step + k * k_step]);                                         \
                _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)                          \
                    c[i][v] = f_fma(a, b[v], c[i][v]);                                             \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; i++)                                    \
            _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)                              \
                f_store(C + (int64_t)i * ldc + v * LANES, c[i][v]);                                \
    } while (0)

#define TILE_FUNCTION(NAME, ROWS, VECTORS)                                                         \
    KERNEL_INLINE void NAME(int K, const float* restrict A, int64_t row_step, int64_t k_step,      \
                            const float* restrict B, int64_t ldb, float* restrict C, int64_t ldc,  \
                            int add) {                                                             \
        PRODUCT_TILE(ROWS, VECTORS);                                                               \
    }

TILE_FUNCTION(tile_full, TILE_ROWS, 2)
TILE_FUNCTION(tile_four, 4, 2)
TILE_FUNCTION(tile_one, 1, 2)
TILE_FUNCTION(narrow_eight, 8, 1)
TILE_FUNCTION(narrow_one, 1, 1)

// All rows of two F of columns
KERNEL_INLINE void tile_rows(int M, int K, const float* A, int64_t row_step, int64_t k_step,
                             const float* B, int64_t ldb, float* C, int64_t ldc, int add) {
    int m = 0;
    for (; m + TILE_ROWS <= M; m += TILE_ROWS)
        tile_full(K, A + m * row_step, row_step, k_step, B, ldb, C + m * ldc, ldc, add);
    for (; m + 4 <= M; m += 4)
        tile_four(K, A + m * row_step, row_step, k_step, B, ldb, C + m * ldc, ldc, add);
    for (; m < M; m++)
        tile_one(K, A + m * row_step, row_step, k_step, B, ldb, C + m * ldc, ldc, add);
}

// K is cut so that the tile's columns of B stay in the first cache
#define K_CUT 192

static void product_panels(int M, int n, int K, const float* A, int lda, const float* panels,
                           int panel_rows, float* C, int ldc, int add) {
    for (int j = 0; j < n; j += 2 * LANES)
        for (int k = 0; k < K; k += K_CUT)
            tile_rows(M, K - k < K_CUT ? K - k : K_CUT, A + k, lda, 1,
                      panels + (int64_t)j * panel_rows + (int64_t)k * 2 * LANES, 2 * LANES, C + j,
                      ldc, add || k);
}

enum {
    PACKED_TILES = 8,       // that share what is packed; their rows of A stay in the second cache
    PACKED_COLUMNS = 256    // of a narrower result the copies would cost more than they save
};

// (K, TILE_ROWS tiles) of A, whose k are rows -> (tiles, K, TILE_ROWS)
KERNEL_INLINE void pack_tiles(int tiles, int K, const float* restrict A, int64_t k_step,
                              float* restrict out) {
    for (int tile = 0; tile < tiles; tile++, A += TILE_ROWS)
        for (int k = 0; k < K; k++, out += TILE_ROWS)
            memcpy(out, A + k * k_step, sizeof(float) * TILE_ROWS);
}

// (K, 2 F) of B -> the same without gaps
KERNEL_INLINE void pack_columns(int K, const float* restrict B, int64_t ldb, float* restrict out) {
    for (int k = 0; k < K; k++, B += ldb, out += 2 * LANES) {
        f_store(out, f_load(B));
        f_store(out + LANES, f_load(B + LANES));
    }
}

/* C (M, n) = or += A B over K <= K_CUT. The rows of wide matrices lie pages apart, and few of
 * them find room in the caches' sets: tiles read packed copies of B's and, where k are rows, A's. */
static void product_packed(int M, int n, int K, const float* A, int64_t row_step, int64_t k_step,
                           const float* B, int64_t ldb, float* C, int64_t ldc, int add) {
    float a[PACKED_TILES * TILE_ROWS * K_CUT] __attribute__((aligned(64)));
    float b[2 * LANES * K_CUT] __attribute__((aligned(64)));
    for (int tiles = M / TILE_ROWS, some; tiles > 0; tiles -= some) {
        some = tiles < PACKED_TILES ? tiles : PACKED_TILES;
        int64_t rows = (int64_t)some * TILE_ROWS;
        if (row_step == 1) pack_tiles(some, K, A, k_step, a);
        for (int j = 0; j < n; j += 2 * LANES) {
            pack_columns(K, B + j, ldb, b);
            for (int64_t m = 0; m < rows; m += TILE_ROWS)
                if (row_step == 1)
                    tile_full(K, a + m * K, 1, TILE_ROWS, b, 2 * LANES, C + m * ldc + j, ldc, add);
                else
                    tile_full(K, A + m * row_step, row_step, k_step, b, 2 * LANES, C + m * ldc + j,
                              ldc, add);
        }
        A += rows * row_step;
        C += rows * ldc;
    }
    for (int j = 0; j < n; j += 2 * LANES)
        tile_rows(M % TILE_ROWS, K, A, row_step, k_step, B + j, ldb, C + j, ldc, add);
}

static void product_strided(int M, int n, int K, const float* A, int64_t row_step, int64_t k_step,
                            const float* B, int64_t ldb, float* C, int64_t ldc, int add) {
    for (int k = 0; k < K; k += K_CUT, A += K_CUT * k_step, B += K_CUT * ldb, add = 1) {
        int here = K - k < K_CUT ? K - k : K_CUT;
        if (n >= PACKED_COLUMNS && M >= 2 * TILE_ROWS) {
            product_packed(M, n, here, A, row_step, k_step, B, ldb, C, ldc, add);
            continue;
        }
        for (int j = 0; j < n; j += 2 * LANES)
            tile_rows(M, here, A, row_step, k_step, B + j, ldb, C + j, ldc, add);
    }
}

static void product_nn(int M, int n, int K, const float* A, int lda, const float* B, int ldb,
                       float* C, int ldc, int add) {
    product_strided(M, n, K, A, lda, 1, B, ldb, C, ldc, add);
}

static void product_tn(int M, int n, int K, const float* A, int lda, const float* B, int ldb,
                       float* C, int ldc, int add) {
    product_strided(M, n, K, A, 1, lda, B, ldb, C, ldc, add);
}

static void product_narrow(int M, int K, const float* A, int lda, const float* B, float* C,
                           int ldc) {
    int m = 0;
    for (; m + 8 <= M; m += 8)
        narrow_eight(K, A + (int64_t)m * lda, lda, 1, B, LANES, C + (int64_t)m * ldc, ldc, 0);
    for (; m < M; m++)
        narrow_one(K, A + (int64_t)m * lda, lda, 1, B, LANES, C + (int64_t)m * ldc, ldc, 0);
}
