/* arithmetic.h -- the mathematics of the kernels, each formula once.
 *
 * Whoever includes this has defined a number F and what it can do: a vector of floats in the CPU
 * drivers (kernels/simd), one float in a CUDA kernel. Nothing here loops, loads or stores.
 *
 *     F f_set(float)      F f_fma(F a, F b, F c)  a b + c     F f_min(F, F)   F f_max(F, F)
 *     F f_reciprocal(F)   M f_lt(F, F), f_le(F, F), f_ge(F, F), f_eq(F, F)
 *     F f_select(M m, F yes, F no)    I f_bits(F)     F f_float(I)  the same bits
 *     F f_whole(I)                    conversion      + - * on F; + - << >> on I
 *     F f_round(F)  F f_scale(F v, F n)  v 2^n for a whole n of at most 126; below -126 anything
 *                                     unless F_SCALE_SATURATES, which gives 0
 *
 * f_min and f_max give the second where either is NaN, and the number at hand stands second: a NaN
 * passes through everything here but f_log, whatever its bits, so that the checks of results find it.
 *
 * exp, log and cos are our own: a generic build gives the same bits on every machine, and a
 * vector of them costs no more than a few products. Errors are relative unless stated.
 */
#pragma once
#include "kernels/common/truncation.h"
#include "kernels/common/waiting.h"

#define ILLEGAL_LOGIT -1e30f    // of a masked action: its probability is exactly 0
#define LOGSTD_MIN    -20.0f
#define LOGSTD_MAX    2.0f
#define HALF_LOG_2PI  0.918938533f

// c[0] + c[1] x + ... by Horner's rule
#define F_POLY2(x, a, b, c)    f_fma(f_fma(f_set(c), x, f_set(b)), x, f_set(a))
#define F_POLY3(x, a, b, c, d) f_fma(F_POLY2(x, b, c, d), x, f_set(a))

// 2^t for t in [-126, 126], error 2e-7: whole powers by the exponent, the rest by a polynomial
KERNEL_INLINE F f_exp2(F t) {
    F n = f_round(t), x = t - n;
    F high = F_POLY3(x, 0.0555032878f, 0.00961848901f, 0.00133999311f, 0.000153457985f);
    F value = f_fma(f_fma(f_fma(high, x, f_set(0.240226469f)), x, f_set(0.693147206f)), x,
                    f_set(1.0f));
    return f_scale(value, n);
}

// t, at least as large as f_exp2 wants it
KERNEL_INLINE F f_bounded(F t) {
#ifdef F_SCALE_SATURATES
    return t;
#else
    return f_max(f_set(-126.0f), t);
#endif
}

// e^x, error 2e-7 + 8e-8 |x|; 0 below x = -87.34, and 2^126 above 87.34
KERNEL_INLINE F f_exp(F x) {
    F t = f_min(f_set(126.0f), x * f_set(1.44269504f));
    return f_select(f_lt(t, f_set(-126.0f)), f_set(0.0f), f_exp2(f_bounded(t)));
}

// log(x) for normal x > 0, error 2e-7: x = m 2^e with m in [0.7, 1.4], then the series of atanh
KERNEL_INLINE F f_log(F x) {
    I bits = f_bits(x) - 0x3f3504f3;    // 0x3f3504f3: sqrt(1/2)
    F e = f_whole(bits >> 23);
    F m = f_float((bits & 0x007fffff) + 0x3f3504f3);
    F s = (m - f_set(1.0f)) / (m + f_set(1.0f));
    F q = s * s;
    F series = F_POLY3(q, 0.666666666f, 0.400001173f, 0.285510902f, 0.233260192f);
    return f_fma(e, f_set(0.693147181f), f_fma(s * q, series, s + s));
}

// cos(2 pi u) for u in [0, 1), absolute error 8e-7
KERNEL_INLINE F f_cos_turns(F u) {
    F v = u - f_set(0.5f);    // cos(2 pi u) = -cos(2 pi v)
    F q = v * v;
    F high = F_POLY3(q, 60.2421377f, -26.4047056f, 7.80024040f, -1.45323687f);
    F low = F_POLY3(q, 1.0f, -19.7392087f, 64.9393891f, -85.4566589f);
    F q2 = q * q;
    return f_set(0.0f) - f_fma(high, q2 * q2, low);
}

// 1 / (1 + e^-x), absolute error 2e-7; never below 2^-126
KERNEL_INLINE F f_sigmoid(F x) {
    F t = f_min(f_set(126.0f), x * f_set(-1.44269504f));
    return f_reciprocal(f_set(1.0f) + f_exp2(f_bounded(t)));
}

// ---- MinGRU and highway -----------------------------------------------------------------------

// g(u) = u + 0.5 if u >= 0 else sigmoid(u), which stays below 0.5 even where it rounds to it: g
// then tells the two apart
KERNEL_INLINE F f_candidate(F u) {
    F curved = f_min(f_set(0.49999997f), f_sigmoid(u));
    return f_select(f_ge(u, f_set(0.0f)), u + f_set(0.5f), curved);
}

// g'(u), only from g: g >= 0.5 where u >= 0
KERNEL_INLINE F f_candidate_slope(F g) {
    return f_select(f_ge(g, f_set(0.5f)), f_set(1.0f), g - g * g);
}

// h = decay h_before + z g, decay = (1 - z), or 0 after an ending: one step of latency a tick
KERNEL_INLINE F f_mingru(F g, F z, F decay, F before) { return f_fma(decay, before, z * g); }

// s h + (1 - s) x
KERNEL_INLINE F f_highway(F s, F h, F x) { return f_fma(s, h - x, x); }

typedef struct {
    F dhid, dgate, dproj;    // of the three products
    F dx;                    // of the layer's input, only through the highway
    F carry;                 // of h_before, before `keep`
} MingruGradient;

// `d` is the gradient of the layer's output, `carry` what reaches h from the tick after
KERNEL_INLINE MingruGradient f_mingru_backward(F d, F carry, F g, F z, F s, F h, F before, F x) {
    MingruGradient out;
    F one = f_set(1.0f), ds = d * s, stay = one - s, leave = one - z;
    F dh = ds + carry, dg = z * dh;
    out.dhid = dg * f_candidate_slope(g);
    out.dgate = dg * leave * (g - before);
    out.dproj = ds * stay * (h - x);
    out.dx = d * stay;
    out.carry = leave * dh;
    return out;
}

// ---- advantage --------------------------------------------------------------------------------

// rho (r + gamma next - V). Where the episode ended, next is 0, or what `truncated` says, at most
// `highest`: nothing is ever learned about what follows a time limit
KERNEL_INLINE F f_delta(F reward, F value, F following, F ended, F truncated, F final, F highest,
                        F rho, F gamma) {
    F zero = f_set(0.0f);
    F last = f_select(f_eq(truncated, f_set(TRUNCATED)), value, final);
    last = f_min(highest, last);
    last = f_select(f_eq(truncated, zero), zero, last);
    F next = f_select(f_eq(ended, zero), following, last);
    return rho * (f_fma(gamma, next, reward) - value);
}

// ---- PPO loss ---------------------------------------------------------------------------------

typedef struct {
    F loss, slope;    // slope: d loss / d (log-probability, or value)
} LossTerm;

// max(-A r, -A clip(r, 1 - e, 1 + e)), r = e^(log_ratio)
KERNEL_INLINE LossTerm f_policy_loss(F advantage, F ratio, F clip) {
    F one = f_set(1.0f), clipped = f_min(one + clip, f_max(one - clip, ratio));
    F free = advantage * ratio, bound = advantage * clipped, zero = f_set(0.0f);
    LossTerm out;
    out.loss = zero - f_min(free, bound);
    out.slope = f_select(f_le(free, bound), zero - free, zero);
    return out;
}

// max((v - R)^2, (v_old + clip(v - v_old) - R)^2) / 2
KERNEL_INLINE LossTerm f_value_loss(F value, F old, F target, F clip) {
    F moved = value - old, zero = f_set(0.0f);
    F bounded = f_min(clip, f_max(zero - clip, moved));
    F error = value - target, bound = old + bounded - target;
    M is_free = f_ge(error * error, bound * bound);
    LossTerm out;
    F chosen = f_select(is_free, error, bound);
    out.loss = f_set(0.5f) * chosen * chosen;
    out.slope = f_select(is_free, error, f_select(f_eq(moved, bounded), bound, zero));
    return out;
}
