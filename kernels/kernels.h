/* kernels.h -- the contract of every kernel: name, shapes, who writes what.
 *
 * A kernel is a pure function of its arguments: it allocates nothing, keeps nothing, and starts
 * no thread. The trainer cuts the work into ranges and brings the threads. Every output is a sum
 * in one fixed order, so that neither cuts nor threads change a bit. One table of kernels is
 * one instruction set; kernels_find() picks it when the program runs.
 *
 * Sizes: D observation, H hidden, L layers, K heads, A sum of head widths, T horizon, R rows of a
 * block. `lanes` is the number of floats of a register: 16 AVX-512, 8 AVX2, 4 NEON and generic.
 *
 * Layouts, all fp32 but for the weights of layers in a bf16 table. H_padded is H rounded up to 2 lanes,
 * A_padded is A + 1 rounded up to lanes:
 *
 *     x, h          (R, ld) ld >= H_padded      activations; lanes beyond H hold finite rubbish
 *     gates         (R, ld) ld >= 3 H_padded    blocks of (g, z, s) lanes each, and in the same place
 *                                         their gradients: the products hid, gate, proj
 *     panels(K, n)  (n / 2 lanes, K, 2 lanes)   a K x n matrix as its products read it
 *     layer panels  (H_padded / lanes, H, 3, lanes)   rows of hid, gate, proj interleaved alike
 *     columns       (A + 1, ld) ld >= R rounded up to 16: logits or gradients, a row a column
 *
 * Names of arrays: `d` is the gradient of what follows it.
 */
#pragma once
#include <stdint.h>
#include "kernels/common/truncation.h"
#include "kernels/common/waiting.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL_ROWS   16    // columns and per-row arrays are padded to this many rows
#define KERNEL_SUMS   5     // A, A^2, |A|, R, R^2 of a segment
#define KERNEL_LOSSES 6     // policy, value, entropy, old_kl, approx_kl, clipped: sums

// Quintic Newton-Schulz steps X <- X (a + b G + c G^2), G = X^T X: their product takes singular
// values of [0.01, 1] to within 3.5 % of 1, and of [0.003, 1] to [0.97, 1.15] (coefficients as
// PufferLib 4.0 has them)
#define MUON_STEPS 5
// clang-format off
#define MUON_COEFFICIENTS {{4.0848f, -6.8946f, 2.9270f}, {3.9505f, -6.3029f, 2.6377f}, \
                           {3.7418f, -5.5913f, 2.3037f}, {2.8769f, -3.1427f, 1.2046f}, \
                           {2.8366f, -3.0525f, 1.2012f}}
// clang-format on

enum { MAX_HEADS = 128 };

typedef struct Heads {                  // what K heads make of A logits
    int32_t count;                      // K
    int32_t outputs;                    // A
    int32_t continuous;                 // heads of width 1
    int32_t width[MAX_HEADS];           // [K] 1 = continuous: its one logit is the mean
    int32_t column[MAX_HEADS];          // [K] first logit
    int32_t logstd_index[MAX_HEADS];    // [K] element of logstd, or -1
} Heads;

typedef struct SampleArgs {    // rows are agents of one tick
    int32_t rows;
    const Heads* heads;
    const float* out;    // (R, ldo) logits, then the value
    int32_t ldo;
    const float* logstd;     // [continuous]
    const uint8_t* mask;     // (R, A) legal actions, or NULL
    uint64_t seed, step;     // of the random numbers, and
    uint32_t first_agent;    // the global number of row 0
    int32_t greedy;          // the likeliest action; no number is drawn
    float* columns;          // scratch (A + 2, ld)
    int32_t ld;
    float* actions;     // out (R, K)
    float* logprobs;    // out [R padded] joint over heads
    float* values;      // out [R padded]
} SampleArgs;

typedef struct LossArgs {    // rows are (segment, t) of one block
    int32_t rows;
    const Heads* heads;
    const float* out;    // (R, ldo) logits, then the value
    int32_t ldo;
    const float* logstd;         // [continuous]
    const uint8_t* mask;         // (R, A), or NULL
    const float* actions;        // (R, K)
    const float* logprob_old;    // [R padded] these four: the rollout's, and
    const float* value_old;
    const float* advantage;    //   normalised and weighted by importance
    const float* returns;
    const float* live;    // [R] 0: a row without an agent adds nothing; NULL: all have one
    float clip_coef, vf_coef, vf_clip_coef, ent_coef;
    float scale;        // 1 / rows of the minibatch with an agent
    float* dcolumns;    // out (A + 1, ld) d loss / d (logits, value)
    float* scratch;     // (A + 1, ld)
    int32_t ld;
    float* values;     // out [R padded] V, and 0 without an agent
    float* ratio;      // out [R padded] w, and 1
    float* dlogstd;    // [continuous] added to
    double* sums;      // [KERNEL_LOSSES] added to
} LossArgs;

typedef struct AdvantageArgs {    // one segment
    int32_t horizon;              // T
    const float* rewards;         // [T] and so on
    const float* values;
    const float* ratio;
    const float* ended;
    const float* truncated;                                    // NOT_TRUNCATED, ...
    const float* final_values;                                 // or NULL: no TRUNCATED_WITH_VALUE
    float bootstrap;                                           // value after the last tick
    float gamma, gae_lambda, rho_clip, c_clip, reward_clip;    // reward_clip 0 = off
    float reward_scale;                                        // of clipped rewards
    float highest_value;                                       // of V at a time limit
} AdvantageArgs;

typedef struct Kernels {
    const char* name;
    int32_t lanes;

    // Products. C (M, n) = or += A B. Sums run over k upward, one multiply-add each.
    // panels: B is panels(K, n).  nn: A (M, K), B (K, n).  tn: A (K, M), B (K, n).
    // n is a multiple of 2 lanes. narrow: n = lanes, B (K, lanes)
    void (*product_panels)(int M, int n, int K, const float* A, int lda, const float* panels,
                           int panel_rows, float* C, int ldc, int add);
    void (*product_nn)(int M, int n, int K, const float* A, int lda, const float* B, int ldb,
                       float* C, int ldc, int add);
    void (*product_tn)(int M, int n, int K, const float* A, int lda, const float* B, int ldb,
                       float* C, int ldc, int add);
    void (*product_narrow)(int M, int K, const float* A, int lda, const float* B, float* C,
                           int ldc);

    // Bytes to floats: out (R, ldo)
    void (*widen)(int rows, int D, const uint8_t* obs, float* out, int ldo);
    // Where a row of D bytes is not 0, ascending; returns how many
    int (*nonzero)(int D, const uint8_t* row, int32_t* where);
    // x (H_padded) = sum over where of value W_e[., where]; panels(D, H_padded)
    void (*encode_sparse)(int n, const int32_t* where, const float* value, int D, int H_padded,
                          const float* panels, float* x);
    // dW (D, H_padded) += the same the other way round
    void (*encode_sparse_backward)(int n, const int32_t* where, const float* value, int H_padded,
                                   const float* dx, float* dweight);

    // bf16 tables only, else NULL: the weights of layers as their products read them. panels
    // (K, width) -> (K / 2 rounded up, width) pairs of neighbours in K, each in one word
    void (*pack_pairs)(int K, int width, const float* panels, void* pairs);

    // dx (M, H_padded) += gates (M, 3 H_padded) W: product_panels with the backward weights of a layer
    void (*layer_dx)(int M, int H_padded, const float* gates, int ldg, const void* panels,
                     float* dx, int ldx);

    // One tick of a layer: x (R, ldx), state (R, lds) -> out (R, ldx), new_state (R, lds) unless
    // NULL; new_state may be state. weights: layer panels, as pairs in a bf16 table
    void (*layer_step)(int rows, int H, const float* x, int ldx, const void* weights,
                       const float* state, float* new_state, int lds, float* out);
    // Whole segments, [segment][t]: before[r] points to h before row r where a segment begins,
    // else NULL; keep[r] multiplies it (0 after an ending). Writes out, h and gates
    void (*layer_scan)(int rows, int H, const float* x, int ldx, const void* weights,
                       const float* const* before, const float* keep, float* h, int ldh,
                       float* gates, int ldg, float* out);
    // Backward: dx (R, ldx) holds d out, and in the end d x through the highway; gates get
    // the gradients of their products. carry [H_padded] is scratch
    void (*layer_scan_backward)(int rows, int H, const float* x, int ldx,
                                const float* const* before, const float* keep, const float* h,
                                int ldh, float* gates, int ldg, float* dx, float* carry);

    // Returns -1, or the first row whose logits, value or log-probability are not finite
    int (*sample)(const SampleArgs* args);
    void (*loss)(const LossArgs* args);

    // A_t of one segment; scratch [T]
    void (*advantage)(const AdvantageArgs* args, float* scratch, float* out);
    // Over one segment: returns [T] R = A + V, and the sums of A, A^2, |A|, R, R^2
    void (*segment_sums)(int T, const float* advantages, const float* values, float* returns,
                         double sums[KERNEL_SUMS]);

    void (*add_up)(int count, int parts, const float* const* part, int64_t offset, float* out);
    double (*square_sum)(int64_t n, const float* x);
    // m = mu m + scale g; u = scale g + mu m
    void (*nesterov)(int64_t n, float mu, float scale, const float* g, float* m, float* u);
    void (*add_scaled)(int64_t n, float factor, const float* x, float* y);    // y += factor x
    // P (rows, n) = b G + c P, and a on the diagonal, which begins at the first of both
    void (*muon_polynomial)(int rows, int n, int ld, float a, float b, float c, const float* G,
                            float* P);
} Kernels;

// Whether the compiler knows the instructions of the bf16 table
#if defined(__x86_64__) && defined(__clang__)
#define KERNELS_BF16 (__clang_major__ >= 10)
#elif defined(__x86_64__)
#define KERNELS_BF16 (__GNUC__ >= 10)
#else
#define KERNELS_BF16 0
#endif

enum { KERNELS_AUTO, KERNELS_GENERIC, KERNELS_AVX2, KERNELS_AVX512, KERNELS_NEON, KERNELS_PATHS };

// The table of an instruction set; NULL where this build or this CPU lacks it. AUTO: the fastest.
// bf16: the products of layers, forward and with respect to activations, take bf16 and add fp32
const Kernels* kernels_find(int path, int bf16);

#ifdef __cplusplus
}
#endif
