/* matmul_rate.c -- how fast this machine multiplies matrices, to compare a training run with. */
#include "internal.h"
#include <stdlib.h>

enum { RATE_M = 480, RATE_N = 128, RATE_K = 128, RATE_REPEATS = 16 };

typedef struct {
    const Kernels* kernels;
    float *A, *B, *C;               // of each worker, one behind another
} Rate;

static void multiply_item(void* about, int32_t item, int32_t worker) {
    Rate* rate = about;
    (void)item;
    for (int i = 0; i < RATE_REPEATS; i++)
        rate->kernels->product_panels(RATE_M, RATE_N, RATE_K, rate->A + worker * RATE_M * RATE_K,
                                      RATE_K, rate->B, RATE_K, rate->C + worker * RATE_M * RATE_N,
                                      RATE_N, 0);
}

double puffer_trainer_matmul_rate(int32_t path, int32_t precision, int32_t threads,
                                  double seconds) {
    Rate rate = {.kernels = kernels_find(path, precision == PUFFER_BF16)};
    if (!rate.kernels || threads < 1) return 0.0;
    Arena arena = {0};
    Pool* pool = pool_create(threads);
    ARENA_ADD(&arena, rate.A, (int64_t)threads * RATE_M * RATE_K);
    ARENA_ADD(&arena, rate.B, RATE_K * RATE_N);
    ARENA_ADD(&arena, rate.C, (int64_t)threads * RATE_M * RATE_N);
    double best = 0.0;
    if (pool && arena_commit(&arena) == 0) {
        for (int i = 0; i < RATE_K * RATE_N; i++) rate.B[i] = (float)(i % 7) * 0.1f;
        for (double end = seconds_now() + seconds; seconds_now() < end;) {
            double began = seconds_now();
            pool_run(pool, multiply_item, &rate, threads);
            double flops = 2.0 * RATE_M * RATE_N * RATE_K * RATE_REPEATS * threads;
            double now = flops / (seconds_now() - began) * 1e-9;
            if (now > best) best = now;
        }
    }
    pool_destroy(pool);
    arena_free(&arena);
    return best;
}
