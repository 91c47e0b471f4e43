/* selfcheck.c -- selfcheck PATH: calls every kernel of an instruction set on numbers from Philox,
 * and prints what it wrote, a line each: name, then the bits of the floats. With a number of
 * threads behind PATH it trains: see train.c.
 *
 * PATH is a number of kernels_find(), or the one after the last for bf16. It needs nothing but
 * libc, so that it runs where Python does not: under an emulator, or with sanitizers. Every array
 * has the size of its contract and not a float more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/kernels.h"
#include "kernels/common/philox.h"

enum { R = 29, H = 21, D = 45, T = 19, SEGMENTS = 3, PADDED = 32 };

static const Kernels* kernels;
static int lanes;
static uint32_t draws;

static int up(int value, int unit) { return (value + unit - 1) / unit * unit; }

static void* take(size_t bytes) {
    void* memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) exit(3);
    return memory;
}

static float* zeros(int count) { return take(sizeof(float) * (size_t)count); }

// In [-1, 1), other numbers each time
static float* numbers(int count) {
    float* out = zeros(count);
    draws++;
    for (int i = 0; i < count; i++)
        out[i] = 2.0f * philox_unit(philox_block(7, 0, (uint32_t)i, draws, 0).word[0]) - 1.0f;
    return out;
}

static void show(const char* name, const float* data, int rows, int columns, int ld) {
    printf("%s", name);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            uint32_t bits;
            memcpy(&bits, data + (int64_t)r * ld + c, sizeof bits);
            printf(" %08x", (unsigned)bits);
        }
    printf("\n");
}

// A double as two floats that add up to it
static void show_doubles(const char* name, const double* data, int count) {
    float* parts = zeros(2 * count);
    for (int i = 0; i < count; i++) {
        parts[2 * i] = (float)data[i];
        parts[2 * i + 1] = (float)(data[i] - (double)parts[2 * i]);
    }
    show(name, parts, 1, 2 * count, 2 * count);
    free(parts);
}

// ---- layouts: K x n numbers that do not depend on the lanes, packed as kernels.h says ----------

static float* padded_rows(const float* plain, int K, int n, int ld) {
    float* out = zeros(K * ld);
    for (int k = 0; k < K; k++)
        memcpy(out + (int64_t)k * ld, plain + (int64_t)k * n, sizeof(float) * (size_t)n);
    return out;
}

static float* panels_of(const float* plain, int K, int n) {
    int two = 2 * lanes;
    float* out = zeros(up(n, two) * K);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < n; j++)
            out[(j / two * K + k) * two + j % two] = plain[k * n + j];
    return out;
}

// Panels (K, width) as a table multiplies with them: pairs for bf16. The argument is gone
static void* as_read(float* panels, int count, int K, int width) {
    if (!kernels->pack_pairs) return panels;
    int words = (K + 1) / 2 * width;
    uint32_t* out = take(sizeof(uint32_t) * (size_t)(count * words));
    for (int i = 0; i < count; i++)
        kernels->pack_pairs(K, width, panels + (int64_t)i * K * width, out + (int64_t)i * words);
    free(panels);
    return out;
}

static void* layer_weights_of(const float* plain) {         // (3 H, H)
    int H_padded = up(H, 2 * lanes);
    float* out = zeros(H_padded * 3 * H);
    for (int gate = 0; gate < 3; gate++)
        for (int unit = 0; unit < H; unit++)
            for (int k = 0; k < H; k++)
                out[((unit / lanes * H + k) * 3 + gate) * lanes + unit % lanes] =
                    plain[(gate * H + unit) * H + k];
    return as_read(out, H_padded / lanes, H, 3 * lanes);
}

// Row r of the gates buffer's order, or -1: beyond H
static int gate_row(int r) {
    int unit = r / (3 * lanes) * lanes + r % lanes;
    return unit < H ? r / lanes % 3 * H + unit : -1;
}

static void* backward_weights_of(const float* plain) {      // (3 H, H)
    int H_padded = up(H, 2 * lanes);
    float* rows = zeros(3 * H_padded * H);
    for (int r = 0; r < 3 * H_padded; r++)
        if (gate_row(r) >= 0)
            memcpy(rows + r * H, plain + gate_row(r) * H, sizeof(float) * H);
    float* panels = panels_of(rows, 3 * H_padded, H);
    free(rows);
    return as_read(panels, H_padded / (2 * lanes), 3 * H_padded, 2 * lanes);
}

static void show_gates(const char* name, const float* gates, int ld) {
    float* out = zeros(R * 3 * H);
    for (int r = 0; r < R; r++)
        for (int i = 0; i < ld; i++)
            if (gate_row(i) >= 0) out[r * 3 * H + gate_row(i)] = gates[r * ld + i];
    show(name, out, R, 3 * H, 3 * H);
    free(out);
}

// ---- the kernels, in the order of kernels.h -----------------------------------------------------

static void products(void) {
    enum { K = 200, N = 20 };
    int n = up(N, 2 * lanes);
    float *A = numbers(R * K), *At = zeros(K * R), *B = numbers(K * N), *C = numbers(R * N);
    for (int r = 0; r < R; r++)
        for (int k = 0; k < K; k++) At[k * R + r] = A[r * K + k];
    float *panels = panels_of(B, K, N), *rows = padded_rows(B, K, N, n);
    for (int add = 0; add < 2; add++) {
        float *first = padded_rows(C, R, N, n), *second = padded_rows(C, R, N, n),
              *third = padded_rows(C, R, N, n);
        kernels->product_panels(R, n, K, A, K, panels, K, first, n, add);
        kernels->product_nn(R, n, K, A, K, rows, n, second, n, add);
        kernels->product_tn(R, n, K, At, R, rows, n, third, n, add);
        show("product_panels", first, R, N, n);
        show("product_nn", second, R, N, n);
        show("product_tn", third, R, N, n);
        free(first), free(second), free(third);
    }
    float *narrow = padded_rows(B, K, 4, lanes), *out = zeros(R * lanes);
    kernels->product_narrow(R, K, A, K, narrow, out, lanes);
    show("product_narrow", out, R, 4, lanes);
    free(A), free(At), free(B), free(C), free(panels), free(rows), free(narrow), free(out);
}

static void encoder(void) {
    int H_padded = up(H, 2 * lanes);
    uint8_t* obs = take(R * D);
    int32_t* where = take(sizeof(int32_t) * D);
    float *weights = numbers(D * H), *panels = panels_of(weights, D, H), *dx = numbers(R * H),
          *wide_dx = padded_rows(dx, R, H, H_padded), *wide = zeros(R * D), *x = zeros(R * H_padded),
          *dweight = zeros(D * H_padded), *value = zeros(D);
    for (int i = 0; i < R * D; i++) {
        uint32_t word = philox_block(8, 0, (uint32_t)i, 0, 0).word[0];
        obs[i] = word % 4 ? 0 : (uint8_t)(word >> 8);
    }
    kernels->widen(R, D, obs, wide, D);
    show("widen", wide, R, D, D);
    for (int r = 0; r < R; r++) {
        int n = kernels->nonzero(D, obs + r * D, where);
        for (int i = 0; i < n; i++) value[i] = (float)obs[r * D + where[i]] / 255.0f;
        kernels->encode_sparse(n, where, value, D, H_padded, panels, x + r * H_padded);
        kernels->encode_sparse_backward(n, where, value, H_padded, wide_dx + r * H_padded, dweight);
    }
    show("encode_sparse", x, R, H, H_padded);
    show("encode_sparse_backward", dweight, D, H, H_padded);
    free(obs), free(where), free(weights), free(panels), free(dx), free(wide_dx), free(wide);
    free(x), free(dweight), free(value);
}

static void layers(void) {
    int H_padded = up(H, 2 * lanes);
    float *plain = numbers(3 * H * H), *xs = numbers(R * H), *x = padded_rows(xs, R, H, H_padded),
          *starts = numbers(R * H), *state = padded_rows(starts, R, H, H_padded),
          *new_state = zeros(R * H_padded),
          *out = zeros(R * H_padded), *h = zeros(R * H_padded), *gates = zeros(R * 3 * H_padded),
          *keep = zeros(R), *douts = numbers(R * H), *dx = padded_rows(douts, R, H, H_padded),
          *carry = zeros(H_padded);
    const float** before = take(sizeof(float*) * R);
    void *weights = layer_weights_of(plain), *backward = backward_weights_of(plain);
    kernels->layer_step(R, H, x, H_padded, weights, state, new_state, H_padded, out);
    show("layer_step", out, R, H, H_padded);
    show("layer_step", new_state, R, H, H_padded);
    for (int r = 0; r < R; r++) {
        before[r] = r % 10 ? NULL : state + r * H_padded;
        keep[r] = r % 7 == 3 ? 0.0f : 1.0f;
    }
    kernels->layer_scan(R, H, x, H_padded, weights, before, keep, h, H_padded, gates, 3 * H_padded, out);
    show("layer_scan", out, R, H, H_padded);
    show("layer_scan", h, R, H, H_padded);
    show_gates("layer_scan", gates, 3 * H_padded);
    kernels->layer_scan_backward(R, H, x, H_padded, before, keep, h, H_padded, gates, 3 * H_padded, dx, carry);
    show("layer_scan_backward", dx, R, H, H_padded);
    show_gates("layer_scan_backward", gates, 3 * H_padded);
    kernels->layer_dx(R, H_padded, gates, 3 * H_padded, backward, dx, H_padded);
    show("layer_dx", dx, R, H, H_padded);
    free(plain), free(weights), free(backward), free(xs), free(x), free(starts), free(state);
    free(new_state);
    free(out), free(h), free(gates), free(keep), free(douts), free(dx), free(carry), free(before);
}

enum { HEADS = 4, A = 10, DIMS = 2 };

static const Heads heads = {.count = HEADS, .outputs = A, .continuous = DIMS,
                            .width = {5, 1, 3, 1}, .column = {0, 5, 6, 9}, .logstd_index = {-1, 0, -1, 1}};

static void choices(void) {
    float *out = numbers(R * (A + 1)), *logstd = numbers(DIMS), *columns = zeros((A + 2) * PADDED),
          *actions = zeros(R * HEADS), *logprobs = zeros(PADDED), *values = zeros(PADDED);
    uint8_t* mask = take(R * A);
    for (int i = 0; i < R * A; i++) mask[i] = i % 3 != 1;
    for (int way = 0; way < 3; way++) {             // drawn, drawn from what is legal, greedy
        SampleArgs args = {.rows = R, .heads = &heads, .out = out, .ldo = A + 1,
                           .logstd = logstd, .mask = way ? mask : NULL, .seed = 5, .step = 6,
                           .first_agent = 7, .greedy = way == 2, .columns = columns, .ld = PADDED,
                           .actions = actions, .logprobs = logprobs, .values = values};
        if (kernels->sample(&args) != -1) exit(4);
        show("sample", actions, R, HEADS, HEADS);
        show("sample", logprobs, 1, R, R);
        show("sample", values, 1, R, R);
    }
    float *old = zeros(PADDED), *moved = numbers(PADDED), *returns = numbers(PADDED),
          *advantages = numbers(PADDED), *value_old = numbers(PADDED),
          *dcolumns = zeros((A + 1) * PADDED), *scratch = zeros((A + 1) * PADDED),
          *ratio = zeros(PADDED), *dlogstd = zeros(DIMS);
    double sums[KERNEL_LOSSES] = {0};
    for (int r = 0; r < R; r++) old[r] = logprobs[r] + moved[r];
    LossArgs args = {.rows = R, .heads = &heads, .out = out, .ldo = A + 1, .logstd = logstd,
                     .mask = mask, .actions = actions, .logprob_old = old,
                     .value_old = value_old, .advantage = advantages, .returns = returns,
                     .clip_coef = 0.2f, .vf_coef = 2.0f, .vf_clip_coef = 0.3f, .ent_coef = 0.05f,
                     .scale = 1.0f / R, .dcolumns = dcolumns, .scratch = scratch, .ld = PADDED,
                     .values = values, .ratio = ratio, .dlogstd = dlogstd, .sums = sums};
    kernels->loss(&args);
    show("loss", dcolumns, A + 1, R, PADDED);
    show("loss", ratio, 1, R, R);
    show("loss", dlogstd, 1, DIMS, DIMS);
    show_doubles("loss", sums, KERNEL_LOSSES);
    free(out), free(logstd), free(columns), free(actions), free(logprobs), free(values);
    free(mask), free(old), free(moved), free(returns), free(advantages), free(value_old);
    free(dcolumns), free(scratch), free(ratio), free(dlogstd);
}

static void updates(void) {
    enum { N = 1003, WIDE = 17 };
    float *rewards = numbers(T), *values = numbers(T), *ratio = numbers(T), *ended = zeros(T),
          *truncated = zeros(T), *finals = numbers(T), *fade = zeros(T), *out = zeros(T);
    for (int t = 0; t < T; t++) {
        ended[t] = t % 6 == 4;
        truncated[t] = t == 4 ? 2 : t == 10;
        ratio[t] += 1.0f;
    }
    AdvantageArgs args = {.horizon = T, .rewards = rewards, .values = values, .ratio = ratio,
                          .ended = ended, .truncated = truncated, .final_values = finals,
                          .bootstrap = 0.5f,
                          .gamma = 0.97f, .gae_lambda = 0.9f, .rho_clip = 1.2f, .c_clip = 1.0f,
                          .reward_clip = 0.7f};
    kernels->advantage(&args, fade, out);
    show("advantage", out, 1, T, T);
    double sums[KERNEL_SUMS];
    kernels->segment_sums(T, out, values, fade, sums);
    show("segment_sums", fade, 1, T, T);
    show_doubles("segment_sums", sums, KERNEL_SUMS);
    free(rewards), free(values), free(ratio), free(ended), free(truncated), free(finals);
    free(fade), free(out);

    float *g = numbers(N), *m = numbers(N), *u = zeros(N), *sum = zeros(N);
    const float* parts[3] = {g, m, g};
    kernels->add_up(N - 3, 3, parts, 3, sum);
    show("add_up", sum, 1, N - 3, N);
    double square = kernels->square_sum(N, g);
    show_doubles("square_sum", &square, 1);
    kernels->nesterov(N, 0.95f, 0.3f, g, m, u);
    show("nesterov", m, 1, N, N);
    show("nesterov", u, 1, N, N);
    kernels->add_scaled(N, 0.7f, g, u);
    show("add_scaled", u, 1, N, N);
    free(g), free(m), free(u), free(sum);

    int ld = up(WIDE, 2 * lanes);
    float *G = numbers(WIDE * WIDE), *P = numbers(WIDE * WIDE),
          *wide_g = padded_rows(G, WIDE, WIDE, ld), *wide_p = padded_rows(P, WIDE, WIDE, ld);
    kernels->muon_polynomial(WIDE, ld, ld, 3.0f, -4.0f, 1.5f, wide_g, wide_p);
    show("muon_polynomial", wide_p, WIDE, WIDE, ld);
    free(G), free(P), free(wide_g), free(wide_p);
}

int train(int path, int threads);

int main(int argc, char** argv) {
    int path = argc > 1 ? atoi(argv[1]) : KERNELS_GENERIC;
    if (argc > 2) return train(path, atoi(argv[2]));
    kernels = path == KERNELS_PATHS ? kernels_find(KERNELS_AUTO, 1) : kernels_find(path, 0);
    if (!kernels) return 2;                         // this CPU has no such path
    lanes = kernels->lanes;
    products();
    encoder();
    layers();
    choices();
    updates();
    return 0;
}
