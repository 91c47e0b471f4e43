/* math.c -- the functions of arithmetic.h, for the F of -DPROBE_SIMD="simd_X.h". */
#include <stdint.h>
#include PROBE_SIMD
#include "kernels/common/arithmetic.h"
#include "probe.h"
#include <string.h>

#define JOIN(a, b) a##b
#define NAMED(name) JOIN(probe_math_, name)

#define GET(i) f_load(in[i] + at)
#define PUT(i, v) f_store(out[i] + at, v)

#define CASE(NAME, ...)                                                                         \
    if (!strcmp(name, #NAME)) {                                                                 \
        for (int at = 0; at < count; at += LANES) { __VA_ARGS__; }                              \
        return 1;                                                                               \
    }

int NAMED(PROBE_NAME)(const char* name, int count, const float* const* in, float* const* out) {
    CASE(exp2, PUT(0, f_exp2(GET(0))))
    CASE(exp, PUT(0, f_exp(GET(0))))
    CASE(log, PUT(0, f_log(GET(0))))
    CASE(cos_turns, PUT(0, f_cos_turns(GET(0))))
    CASE(sigmoid, PUT(0, f_sigmoid(GET(0))))
    CASE(reciprocal, PUT(0, f_reciprocal(GET(0))))
    CASE(round, PUT(0, f_round(GET(0))))
    CASE(scale, PUT(0, f_scale(GET(0), GET(1))))
    CASE(candidate, PUT(0, f_candidate(GET(0))))
    CASE(candidate_slope, PUT(0, f_candidate_slope(GET(0))))
    CASE(mingru, PUT(0, f_mingru(GET(0), GET(1), GET(2), GET(3))))
    CASE(highway, PUT(0, f_highway(GET(0), GET(1), GET(2))))
    CASE(mingru_backward,
         MingruGradient d = f_mingru_backward(GET(0), GET(1), GET(2), GET(3), GET(4), GET(5),
                                              GET(6), GET(7));
         PUT(0, d.dhid); PUT(1, d.dgate); PUT(2, d.dproj); PUT(3, d.dx); PUT(4, d.carry))
    CASE(delta, PUT(0, f_delta(GET(0), GET(1), GET(2), GET(3), GET(4), GET(5), GET(6), GET(7), GET(8))))
    CASE(policy_loss, LossTerm term = f_policy_loss(GET(0), GET(1), GET(2));
         PUT(0, term.loss); PUT(1, term.slope))
    CASE(value_loss, LossTerm term = f_value_loss(GET(0), GET(1), GET(2), GET(3));
         PUT(0, term.loss); PUT(1, term.slope))
    return 0;
}
