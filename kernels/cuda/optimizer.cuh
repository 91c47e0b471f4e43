/* optimizer.cuh -- sums over many blocks, and what the optimiser does to whole arrays.
 *
 * After a stop, momenta and weights stay what they were: no NaN reaches them. */
#pragma once
#include "common.cuh"

CUDA_KERNEL(columns_sum, ColumnsSumArgs) {
    CUDA_SHARED(double, lanes, [CUDA_LANES]);
    CUDA_BLOCKS(column, a.columns) {
        CUDA_PHASE(thread)
            CUDA_SHARE(lane, thread, CUDA_LANES) {
                double sum = 0.0;
                for (int part = lane; part < a.parts_count; part += CUDA_LANES)
                    sum += a.parts[(int64_t)part * a.columns + column];
                lanes[lane] = sum;
            }
        CUDA_SUM_LANES(lanes);
        CUDA_PHASE(thread) {
            if (thread) continue;
            if (a.sums) a.sums[column] = lanes[0];
            if (a.floats) a.floats[column] = (float)lanes[0];
        }
    }
}

CUDA_KERNEL(parts_add, PartsAddArgs) {
    CUDA_EACH(i, a.count) {
        float sum = a.source[i];
        for (int part = 1; part < a.parts; part++) sum += a.source[part * a.stride + i];
        a.sums[i] = a.obs_scale && i < (int64_t)a.D * a.H ? sum * a.obs_scale[i / a.H] : sum;
    }
}

CUDA_KERNEL(squares_sum, SquaresSumArgs) {
    CUDA_SHARED(double, lanes, [CUDA_LANES]);
    CUDA_BLOCKS(number, a.chunks) {
        CudaChunk chunk = a.chunk[number];
        CUDA_PHASE(thread)
            CUDA_SHARE(lane, thread, CUDA_LANES) {
                F sum = f_set(0.0f);    // short sums in float, their sum in double
                for (int i = lane; i < chunk.count; i += CUDA_LANES)
                    sum = f_fma(a.x[chunk.first + i], a.x[chunk.first + i], sum);
                lanes[lane] = (double)sum;
            }
        CUDA_SUM_LANES(lanes);
        CUDA_PHASE(thread)
            if (!thread) a.parts[number] = lanes[0];
    }
}

CUDA_KERNEL(update_decide, UpdateDecideArgs) {
    CUDA_EACH(i, 1) {
        CudaResults* results = a.results;
        double norm = sqrt(a.squares[i]), sane = norm;
        for (int k = 0; k < KERNEL_LOSSES; k++) {
            results->losses[k] = a.losses[k] / results->live;
            sane += fabs(results->losses[k]);
        }
        results->norm = norm;
        results->clip = norm > a.max_grad_norm ? (float)(a.max_grad_norm / norm) : 1.0f;
        if (!(sane - sane == 0.0)) results->stop = 1;
        if (results->stop) continue;
        results->minibatches++;
        for (int k = 0; k < KERNEL_LOSSES; k++) results->loss_sums[k] += results->losses[k];
        results->loss_sums[KERNEL_LOSSES] += norm;
    }
}

CUDA_KERNEL(muon_momentum, MuonMomentumArgs) {
    CUDA_SHARED(double, lanes, [CUDA_LANES]);
    F mu = f_set(a.mu), clip = f_set(a.results->clip);
    if (a.results->stop) return;
    CUDA_BLOCKS(number, a.chunks) {
        CudaChunk chunk = a.chunk[number];
        if (chunk.matrix < 0) continue;
        CUDA_PHASE(thread)
            CUDA_SHARE(lane, thread, CUDA_LANES) {
                F sum = f_set(0.0f);
                for (int i = lane; i < chunk.count; i += CUDA_LANES) {
                    int64_t at = chunk.first + i;
                    F gradient = clip * a.gradient[at];
                    F momentum = f_fma(mu, a.momentum[at], gradient);
                    F update = f_fma(mu, momentum, gradient);
                    a.momentum[at] = momentum;
                    a.update[at] = update;
                    sum = f_fma(update, update, sum);
                }
                lanes[lane] = (double)sum;
            }
        CUDA_SUM_LANES(lanes);
        CUDA_PHASE(thread)
            if (!thread) a.parts[number] = lanes[0];
    }
}

CUDA_KERNEL(muon_measure, MuonMeasureArgs) {
    CUDA_SHARED(double, lanes, [CUDA_LANES]);
    CUDA_BLOCKS(number, a.matrices) {
        CudaMatrix matrix = a.matrix[number];
        CUDA_PHASE(thread)
            CUDA_SHARE(lane, thread, CUDA_LANES) {
                double sum = 0.0;
                for (int i = lane; i < matrix.chunks; i += CUDA_LANES)
                    sum += a.parts[matrix.first_chunk + i];
                lanes[lane] = sum;
            }
        CUDA_SUM_LANES(lanes);
        CUDA_PHASE(thread) {
            double norm = sqrt(lanes[0]);
            if (!thread) a.factors[number] = (float)(1.0 / (norm > 1e-7 ? norm : 1e-7));
        }
    }
}

CUDA_KERNEL(muon_normalise, MuonNormaliseArgs) {
    CUDA_BLOCKS(number, a.chunks) {
        CudaChunk chunk = a.chunk[number];
        if (chunk.matrix < 0) continue;
        F factor = a.factors[chunk.matrix];
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, chunk.count)
                write_operand(a.wide, a.narrow, chunk.first + i,
                              factor * a.update[chunk.first + i]);
    }
}

CUDA_KERNEL(muon_apply, MuonApplyArgs) {
    if (a.results->stop) return;
    CUDA_BLOCKS(number, a.chunks) {
        CudaChunk chunk = a.chunk[number];
        if (chunk.matrix < 0) continue;
        float base = (float)(-a.schedule->learning_rate * a.matrix[chunk.matrix].ratio);
        int scaled = a.obs_scale && chunk.matrix == 0;
        CUDA_PHASE(thread)
            CUDA_SHARE(i, thread, chunk.count) {
                int64_t at = chunk.first + i;
                F rate = scaled ? base * a.obs_scale[at / a.H] : base;
                write_operand(a.weights, a.narrow, at, f_fma(rate, a.X[at], a.weights[at]));
            }
    }
}

// In double, as the CPU trainer has it: there is one number for each continuous action
CUDA_KERNEL(adam_step, AdamStepArgs) {
    double rate = a.schedule->learning_rate / a.schedule->first_bias;
    CUDA_EACH(i, a.results->stop ? 0 : a.count) {
        double g = (double)(a.gradient[i] * a.results->clip);
        double m = (double)a.m[i] + 0.1 * (g - (double)a.m[i]);
        double v = a.beta2 * (double)a.v[i] + (1.0 - a.beta2) * g * g;
        a.m[i] = (float)m;
        a.v[i] = (float)v;
        a.weights[i] -= (float)(rate * m / (sqrt(v / a.schedule->second_bias) + a.eps));
    }
}

CUDA_KERNEL(floats_narrow, FloatsNarrowArgs) {
    CUDA_EACH(i, a.count) a.narrow[i] = to_bf16(a.x[i]);
}

CUDA_KERNEL(bad_find, BadFindArgs) {
    CUDA_EACH(i, a.count) {
        if (is_bad(a.x[i])) cuda_least(a.where, i);
    }
}
