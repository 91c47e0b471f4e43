/* paths.c -- instruction sets: their names, which this CPU has, and how fast each multiplies. */
#include "internal.h"

const char* puffer_trainer_path_name(int32_t path) {
    static const char* const names[] = {"auto", "generic", "avx2", "avx512", "neon"};
    return path >= 0 && path < KERNELS_PATHS ? names[path] : "unknown";
}

int32_t puffer_trainer_path_available(int32_t path) { return kernels_find(path, 0) != NULL; }

// ---- the rate of matrix products, to compare a training run with --------------------------------

enum { RATE_ROWS = 480 };

typedef struct {
    const Kernels* kernels;
    int32_t terms, columns, lda, repeats, layer;
    float *left, *weights, *result;    // of each worker in turn; all share the weights
} Rate;

static void multiply_item(void* about, int32_t item, int32_t worker) {
    Rate* rate = about;
    int64_t row = (int64_t)item * RATE_ROWS;
    const float* left = rate->left + row * rate->lda;
    float* result = rate->result + row * rate->columns;
    for (int i = 0; i < rate->repeats; i++)
        if (rate->layer)
            rate->kernels->layer_dx(RATE_ROWS, rate->columns, left, rate->lda, rate->weights,
                                    result, rate->columns);
        else
            rate->kernels->product_panels(RATE_ROWS, rate->columns, rate->terms, left, rate->lda,
                                          rate->weights, rate->terms, result, rate->columns, 1);
    (void)worker;
}

double puffer_trainer_matmul_rate(int32_t path, int32_t precision, int32_t threads, int32_t terms,
                                  int32_t columns, double seconds) {
    Rate rate = {.kernels = kernels_find(path, precision == PUFFER_BF16),
                 .layer = terms == 3 * columns};
    if (!rate.kernels || threads < 1 || terms < 1 || columns < 1) return 0.0;
    rate.columns = (int32_t)round_up(columns, 2 * rate.kernels->lanes);
    rate.terms = rate.layer ? 3 * rate.columns : terms;
    rate.lda = (int32_t)round_up(rate.terms, 16) + 16;    // an odd number of cache lines
    double products = 2.0 * RATE_ROWS * terms * columns;
    rate.repeats = (int32_t)(1e9 / products) + 1;    // some ten milliseconds
    Arena arena = {0};
    Pool* pool = pool_create(threads);
    ARENA_ADD(&arena, rate.left, (int64_t)threads * RATE_ROWS * rate.lda);
    ARENA_ADD(&arena, rate.weights, (int64_t)rate.terms * rate.columns);    // zeros cost as much
    ARENA_ADD(&arena, rate.result, (int64_t)threads * RATE_ROWS * rate.columns);
    double best = 0.0;
    if (pool && arena_commit(&arena) == 0) {
        double end = seconds_now() + seconds;
        do {
            double began = seconds_now();
            pool_run(pool, multiply_item, &rate, threads);
            double now = products * rate.repeats * threads / (seconds_now() - began) * 1e-9;
            if (now > best) best = now;
        } while (seconds_now() < end);
    }
    pool_destroy(pool);
    arena_free(&arena);
    return best;
}
