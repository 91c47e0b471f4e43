/* paths.c -- instruction sets: their names, which this CPU has, and how fast each multiplies. */
#include "internal.h"

const char* puffer_trainer_path_name(int32_t path) {
    static const char* const names[] = {"auto", "generic", "avx2", "avx512", "neon"};
    return path >= 0 && path < KERNELS_PATHS ? names[path] : "unknown";
}

int32_t puffer_trainer_path_available(int32_t path) { return kernels_find(path, 0) != NULL; }

// ---- the rate of matrix products, to compare a training run with --------------------------------

enum {
    RATE_ROWS = 480,
    RATE_HIDDEN = 128,
    RATE_GATES = 3 * RATE_HIDDEN,
    RATE_LD = RATE_GATES + 16,
    RATE_REPEATS = 8
};

typedef struct {
    const Kernels* kernels;
    float *gates, *weights, *dx;    // of each worker in turn; all share the weights
} Rate;

static void multiply_item(void* about, int32_t item, int32_t worker) {
    Rate* rate = about;
    for (int i = 0; i < RATE_REPEATS; i++)
        rate->kernels->layer_dx(RATE_ROWS, RATE_HIDDEN, rate->gates + item * RATE_ROWS * RATE_LD,
                                RATE_LD, rate->weights, rate->dx + item * RATE_ROWS * RATE_HIDDEN,
                                RATE_HIDDEN);
    (void)worker;
}

double puffer_trainer_matmul_rate(int32_t path, int32_t precision, int32_t threads,
                                  double seconds) {
    Rate rate = {.kernels = kernels_find(path, precision == PUFFER_BF16)};
    if (!rate.kernels || threads < 1) return 0.0;
    Arena arena = {0};
    Pool* pool = pool_create(threads);
    ARENA_ADD(&arena, rate.gates, (int64_t)threads * RATE_ROWS * RATE_LD);
    ARENA_ADD(&arena, rate.weights, RATE_GATES * RATE_HIDDEN);    // zeros cost what others do
    ARENA_ADD(&arena, rate.dx, (int64_t)threads * RATE_ROWS * RATE_HIDDEN);
    double best = 0.0;
    if (pool && arena_commit(&arena) == 0) {
        for (double end = seconds_now() + seconds; seconds_now() < end;) {
            double began = seconds_now();
            pool_run(pool, multiply_item, &rate, threads);
            double products = 2.0 * RATE_ROWS * RATE_GATES * RATE_HIDDEN;
            double now = products * RATE_REPEATS * threads / (seconds_now() - began) * 1e-9;
            if (now > best) best = now;
        }
    }
    pool_destroy(pool);
    arena_free(&arena);
    return best;
}
