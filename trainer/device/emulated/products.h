/* products.h -- D = alpha op(A) op(B) + beta C on the host.  a ProductShape, pointers -> D
 *
 * A sum goes over k upwards from 0, one multiplication and one addition at a time, each rounded:
 * the bits of the generic CPU kernels. Compile with -ffp-contract=off. Both operands are copied to
 * panels, so that one inner loop serves every layout; it keeps ROWS x COLUMNS sums in registers. */
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>
#include "trainer/device/device.h"

namespace products {

enum { ROWS = 6, COLUMNS = 16, CUT = 256 };          // CUT: of k, so that a panel stays in cache
typedef float V __attribute__((vector_size(32)));    // 8 floats; fewer a time without AVX2

inline float widen(uint16_t narrow) {
    uint32_t bits = (uint32_t)narrow << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}
inline float widen(float wide) { return wide; }

// panels[i / width][k][i % width] = from[i * row_step + k * k_step]; zeros beyond the last row
template <typename T>
void pack(const T* from, int rows, int K, int64_t row_step, int64_t k_step, int width,
          float* panels) {
    for (int first = 0; first < rows; first += width) {
        int here = std::min(width, rows - first);
        float* panel = panels + (int64_t)first * K;
        if (here < width) memset(panel, 0, sizeof(float) * (size_t)width * (size_t)K);
        if (row_step == 1)
            for (int k = 0; k < K; k++)
                for (int i = 0; i < here; i++)
                    panel[(int64_t)k * width + i] = widen(from[first + i + k * k_step]);
        else
            for (int i = 0; i < here; i++) {
                const T* row = from + (first + i) * row_step;
                for (int k = 0; k < K; k++) panel[(int64_t)k * width + i] = widen(row[k * k_step]);
            }
    }
}

// sums (ROWS, COLUMNS), ld apart, += a b over K
inline __attribute__((always_inline)) void add_tile(int K, const float* a, const float* b,
                                                    float* sums, int64_t ld) {
    V c[ROWS][2];
    for (int i = 0; i < ROWS; i++) memcpy(c[i], sums + i * ld, sizeof c[i]);
    for (int k = 0; k < K; k++, a += ROWS, b += COLUMNS) {
        V left, right;
        memcpy(&left, b, sizeof left);
        memcpy(&right, b + 8, sizeof right);
#pragma GCC unroll 6
        for (int i = 0; i < ROWS; i++) {
            c[i][0] = c[i][0] + a[i] * left;
            c[i][1] = c[i][1] + a[i] * right;
        }
    }
    for (int i = 0; i < ROWS; i++) memcpy(sums + i * ld, c[i], sizeof c[i]);
}

// m and n are multiples of ROWS and COLUMNS
inline __attribute__((always_inline)) void add_panels(int m, int n, int K, const float* a,
                                                      const float* b, float* sums) {
    for (int k = 0; k < K; k += CUT)
        for (int j = 0; j < n; j += COLUMNS)
            for (int i = 0; i < m; i += ROWS)
                add_tile(std::min<int>(CUT, K - k), a + (int64_t)i * K + (int64_t)k * ROWS,
                         b + (int64_t)j * K + (int64_t)k * COLUMNS, sums + (int64_t)i * n + j, n);
}

inline void add_anywhere(int m, int n, int K, const float* a, const float* b, float* sums) {
    add_panels(m, n, K, a, b, sums);
}
#if defined(__x86_64__)    // AVX2 fuses nothing: FMA is apart from it
__attribute__((target("avx2"))) inline void add_wide(int m, int n, int K, const float* a,
                                                     const float* b, float* sums) {
    add_panels(m, n, K, a, b, sums);
}
inline bool wide_enough() { return __builtin_cpu_supports("avx2"); }
#else
inline void add_wide(int, int, int, const float*, const float*, float*) {}
inline bool wide_enough() { return false; }
#endif

template <typename T>
void multiply(const ProductShape& shape, float alpha, const T* A, const T* B, float beta,
              const float* C, float* D) {
    static std::vector<float> a, b, sums;    // kept: they are wanted again
    int m = shape.m, n = shape.n, K = shape.k;
    int m_padded = (m + ROWS - 1) / ROWS * ROWS, n_padded = (n + COLUMNS - 1) / COLUMNS * COLUMNS;
    a.resize(std::max(a.size(), (size_t)m_padded * (size_t)K));
    b.resize(std::max(b.size(), (size_t)n_padded * (size_t)K));
    for (int which = 0; which < shape.batch; which++, A += shape.stride_a, B += shape.stride_b) {
        int64_t at = which * shape.stride_d;
        if (shape.transpose_a) pack(A, m, K, 1, shape.lda, ROWS, a.data());
        else pack(A, m, K, shape.lda, 1, ROWS, a.data());
        if (shape.transpose_b) pack(B, n, K, shape.ldb, 1, COLUMNS, b.data());
        else pack(B, n, K, 1, shape.ldb, COLUMNS, b.data());
        sums.assign((size_t)m_padded * (size_t)n_padded, 0.0f);
        (wide_enough() ? add_wide : add_anywhere)(m_padded, n_padded, K, a.data(), b.data(),
                                                  sums.data());
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                int64_t to = at + (int64_t)i * shape.ldd + j;
                float value = alpha * sums[(size_t)i * (size_t)n_padded + (size_t)j];
                D[to] = beta == 0.0f ? value : value + beta * C[to];
            }
    }
}

}    // namespace products
