/* layers.cuh -- a MinGRU layer with its highway over whole segments, forward and back.
 *
 * A thread takes one unit of one segment through all ticks. What it reads does not depend on the
 * recurrence, so SCAN_AHEAD ticks are read at once: their latencies overlap. Beyond the last tick
 * that one is read again, so that no condition stands between the reads. The backward pass makes
 * the gates again from the products, which costs less than to write and read them. */
#pragma once
#include "common.cuh"

#define SCAN_AHEAD 8

// What happens in one tick to one unit
typedef struct {
    F hid, gate, proj, x, keep;
} ScanTick;

// keep of tick t: 0 where the tick before ended the episode
KERNEL_INLINE F scan_keep(const float* ended, int t) {
    return f_set(1.0f) - ended[t ? t - 1 : 0] * (F)(t > 0);
}

KERNEL_INLINE ScanTick scan_tick(const float* products, const float* x, const float* ended, int H,
                                 int t) {
    const float* mine = products + (int64_t)t * 3 * H;
    ScanTick tick = {mine[0], mine[H], mine[2 * H], x[(int64_t)t * H], scan_keep(ended, t)};
    return tick;
}

CUDA_KERNEL(scan_forward, ScanForwardArgs) {
    int T = a.T, H = a.H;
    CUDA_EACH(i, a.S * H) {
        uint32_t s = i / (uint32_t)H, unit = i % (uint32_t)H;
        int64_t first = (int64_t)s * T, segment = a.rows[s];
        const float *products = a.products + first * 3 * H + unit, *x = a.x + first * H + unit;
        const float* ended = a.ended + segment * T;
        F carried = a.before[segment * a.stride + unit];
        for (int begin = 0; begin < T; begin += SCAN_AHEAD) {
            ScanTick ahead[SCAN_AHEAD];
            CUDA_UNROLL for (int k = 0; k < SCAN_AHEAD; k++)
                ahead[k] = scan_tick(products, x, ended, H, begin + k < T ? begin + k : T - 1);
            CUDA_UNROLL for (int k = 0; k < SCAN_AHEAD; k++) {
                if (begin + k >= T) continue;
                int64_t at = (first + begin + k) * H + unit;
                F g = f_candidate(ahead[k].hid), z = f_sigmoid(ahead[k].gate),
                  s_gate = f_sigmoid(ahead[k].proj);
                carried = f_mingru(g, z, (f_set(1.0f) - z) * ahead[k].keep, carried);
                a.h[at] = carried;
                write_operand(a.out, a.narrow, at, f_highway(s_gate, carried, ahead[k].x));
            }
        }
    }
}

CUDA_KERNEL(scan_backward, ScanBackwardArgs) {
    int T = a.T, H = a.H;
    CUDA_EACH(i, a.S * H) {
        uint32_t s = i / (uint32_t)H, unit = i % (uint32_t)H;
        int64_t first = (int64_t)s * T, segment = a.rows[s];
        const float *products = a.products + first * 3 * H + unit, *x = a.x + first * H + unit;
        const float *h = a.h + first * H + unit, *ended = a.ended + segment * T;
        F start = a.before[segment * a.stride + unit], carry = f_set(0.0f);
        F here = h[(int64_t)(T - 1) * H];
        for (int end = T; end > 0; end -= SCAN_AHEAD) {
            ScanTick ahead[SCAN_AHEAD];
            F d[SCAN_AHEAD], before[SCAN_AHEAD];
            CUDA_UNROLL for (int k = 0; k < SCAN_AHEAD; k++) {
                int t = end - 1 - k > 0 ? end - 1 - k : 0;
                ahead[k] = scan_tick(products, x, ended, H, t);
                d[k] = a.dx[(first + t) * H + unit];
                F previous = h[(int64_t)(t ? t - 1 : 0) * H];
                before[k] = t ? previous : start;
            }
            CUDA_UNROLL for (int k = 0; k < SCAN_AHEAD; k++) {
                int t = end - 1 - k;
                if (t < 0) continue;
                int64_t at = (first + t) * 3 * H + unit;
                MingruGradient out = f_mingru_backward(
                    d[k], carry, f_candidate(ahead[k].hid), f_sigmoid(ahead[k].gate),
                    f_sigmoid(ahead[k].proj), here, before[k] * ahead[k].keep, ahead[k].x);
                carry = out.carry * ahead[k].keep;
                here = before[k];
                write_operand(a.dproducts, a.narrow, at, out.dhid);
                write_operand(a.dproducts, a.narrow, at + H, out.dgate);
                write_operand(a.dproducts, a.narrow, at + 2 * H, out.dproj);
                a.dx[(first + t) * H + unit] = out.dx;
            }
        }
    }
}
