/* formulas.c -- every function of arithmetic.h and philox.h, on one float: as C and C++.
 *
 * Prints their bits. */
#include "kernels/simd/scalar.h"
#include "kernels/common/arithmetic.h"
#include "kernels/kernels.h"
#include "kernels/common/philox.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 2000, RESULTS = 26 };

KERNEL_INLINE void all_formulas(uint32_t index, float* out) {
    PhiloxBlock block = philox_block(((uint64_t)3 << 40) + 5, PHILOX_INIT, index, 7, 1);
    PhiloxBlock other = philox_block(((uint64_t)3 << 40) + 5, PHILOX_ACTION, index, 7, 2);
    F u = philox_unit(block.word[0]);
    F a = f_set(6.0f * u - 3.0f), b = f_set(6.0f * philox_unit(block.word[1]) - 3.0f);
    F c = f_set(philox_unit(block.word[2])), d = f_set(philox_unit(block.word[3]));
    F e = f_set(philox_unit(other.word[0])), f = f_set(2.0f * philox_unit(other.word[1]) - 1.0f);
    F ended = f_set(other.word[2] % 2 ? 1.0f : 0.0f), cut = f_set(other.word[3] % 2 ? 1.0f : 0.0f);
    MingruGradient g = f_mingru_backward(a, b, f_candidate(f), c, d, e, f, u);
    LossTerm policy = f_policy_loss(a, c + d, f_set(0.2f));
    LossTerm value = f_value_loss(a, a + f * f_set(0.4f), b, f_set(0.2f));
    float results[RESULTS] = {
        u, f_exp2(a * f_set(40.0f)), f_exp(a * f_set(30.0f)), f_log(c + f_set(1e-6f)),
        f_cos_turns(u), f_sigmoid(a), f_candidate(b), f_candidate_slope(f_candidate(b)),
        f_mingru(a, c, d, b), f_highway(d, a, b), g.dhid, g.dgate, g.dproj, g.dx, g.carry,
        f_delta(a, b, c, ended, cut + cut * f_select(f_lt(a, b), f_set(1.0f), f_set(0.0f)), e,
                f_set(0.7f), d, f_set(0.97f)), policy.loss, policy.slope, value.loss,
        value.slope, f_reciprocal(a), f_round(a), f_min(a, b), f_max(a, b),
        f_select(f_lt(a, b), c, d), f_select(f_le(a, b), f_select(f_ge(c, d), e, f), u)};
    for (int i = 0; i < RESULTS; i++) out[i] = results[i];
}

int main(void) {
    float* out = (float*)malloc(sizeof(float) * COUNT * RESULTS);
    if (!out) return 3;
    for (uint32_t i = 0; i < COUNT; i++) all_formulas(i, out + (size_t)i * RESULTS);
    for (int i = 0; i < COUNT * RESULTS; i++) {
        uint32_t bits;
        memcpy(&bits, out + i, sizeof bits);
        printf("%08x%c", (unsigned)bits, i % RESULTS == RESULTS - 1 ? '\n' : ' ');
    }
    free(out);
    return 0;
}
