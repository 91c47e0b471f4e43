/* driver.h -- the kernels on one core of a CPU, for the F that the includer has chosen.
 *
 * Each PATH.c says which instructions the compiler may use, includes simd/PATH.h and then
 * this file, and thereby defines one table of kernels, kernels_PATH. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels/kernels.h"
#include "kernels/common/philox.h"
#include "kernels/common/arithmetic.h"

#include "products.h"
#ifdef KERNEL_BF16
#include "gates_bf16.h"
#define PACK_PAIRS pack_pairs
#else
#include "gates.h"
#define PACK_PAIRS NULL
#endif
#include "layers.h"
#include "heads.h"
#include "advantage.h"
#include "optimizer.h"

#define KERNEL_TABLE(NAME)                                                                         \
    const Kernels kernels_##NAME = {                                                               \
        .name = #NAME,                                                                             \
        .lanes = LANES,                                                                            \
        .pack_pairs = PACK_PAIRS,                                                                  \
        .product_panels = product_panels,                                                          \
        .product_nn = product_nn,                                                                  \
        .product_tn = product_tn,                                                                  \
        .product_narrow = product_narrow,                                                          \
        .widen = widen,                                                                            \
        .nonzero = nonzero,                                                                        \
        .encode_sparse = encode_sparse,                                                            \
        .encode_sparse_backward = encode_sparse_backward,                                          \
        .layer_dx = layer_dx,                                                                      \
        .layer_step = layer_step,                                                                  \
        .layer_scan = layer_scan,                                                                  \
        .layer_scan_backward = layer_scan_backward,                                                \
        .sample = sample,                                                                          \
        .loss = loss,                                                                              \
        .advantage = advantage,                                                                    \
        .segment_sums = segment_sums,                                                              \
        .add_up = add_up,                                                                          \
        .square_sum = square_sum,                                                                  \
        .nesterov = nesterov,                                                                      \
        .add_scaled = add_scaled,                                                                  \
        .muon_polynomial = muon_polynomial,                                                        \
    }
