/* train.c -- selfcheck PATH THREADS: a few epochs of the whole trainer, on envs made of random
 * numbers, with a flat encoder, then with parts; prints the bits of all weights, a line for each
 * tensor.
 *
 * Heads of all kinds, masks, bytes, endings and truncations, and envs of several agents. Nothing
 * here calls libm, whose last bit may differ between machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/common/philox.h"
#include "trainer/puffer_trainer.h"

enum { ENVS = 6, PER_ENV = 2, N = ENVS * PER_ENV, T = 8, D = 13, K = 3, A = 6, EPOCHS = 3 };

static int ticks[ENVS];
static int64_t first_row[ENVS + 1];
static uint8_t observations[N * D], masks[N * A];
static float actions[N * K], rewards[N], terminals[N], truncations[N];

static void play(int env) {
    for (int row = PER_ENV * env; row < PER_ENV * (env + 1); row++) {
        const float* action = actions + row * K;
        PhiloxBlock luck = philox_block(3, 0, (uint32_t)row, (uint64_t)ticks[env], 0);
        rewards[row] = philox_unit(luck.word[0]) + 0.1f * (action[0] + action[1] + action[2]);
        terminals[row] = luck.word[1] % 5 == 0;
        truncations[row] = luck.word[1] % 15 == 0;
        for (int d = 0; d < D; d++) {
            uint32_t word = philox_block(3, 1, (uint32_t)row, (uint64_t)ticks[env],
                                         (uint32_t)d).word[0];
            observations[row * D + d] = word % 8 ? 0 : (uint8_t)(word >> 29);
        }
        for (int a = 0; a < A; a++) masks[row * A + a] = (uint8_t)((a + ticks[env]) % 3 != 1);
    }
    ticks[env]++;
}

static void step(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                 PufferWatch* watch) {
    (void)vec, (void)flags, (void)watch;
    for (int32_t env = first; env < first + count; env++) play(env);
}

static int give_up(const PufferTrainerError* error) {
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

int train(int path, int threads);

static int train_with(int path, int threads, int num_parts) {
    PufferTrainerError error = {0};
    PufferTrainerConfig config = {
        .version = PUFFER_TRAINER_VERSION, .struct_size = sizeof config, .agents = N,
        .horizon = T, .obs_dtype = PUFFER_U8, .obs_size = D, .num_atns = K,
        .act_sizes = {3, 1, 2}, .has_masks = 1, .hidden_size = 21, .num_layers = 2,
        .minibatch_size = 4 * T, .threads = threads, .block_agents = 4, .path = path,
        .norm_adv = 1, .minibatch_carry = 1, .ranks = 1, .seed = 5, .total_epochs = EPOCHS, .learning_rate = 0.02,
        .min_lr_ratio = 1.0, .ent_coef = 0.01, .min_ent_coef_ratio = 1.0, .gamma = 0.97,
        .gae_lambda = 0.9, .vtrace_rho_clip = 1.0, .vtrace_c_clip = 1.0, .replay_ratio = 1.0,
        .clip_coef = 0.2, .vf_coef = 2.0, .vf_clip_coef = 0.2, .max_grad_norm = 1.5,
        .beta1 = 0.95, .beta2 = 0.999, .eps = 1e-12, .num_parts = num_parts,
        .parts = {{.first = 1, .height = 3, .width = 2, .channels = 1, .has_ids = 1, .ids = {6},
                   .mask = -1, .num_convolutions = 2, .convolutions = {{5, 2, 1}, {9, 1, 1}}},
                  {.first = 7, .height = 2, .width = 1, .channels = 3, .mask = 1, .pooled = 1,
                   .num_convolutions = 2, .convolutions = {{33, 1, 1}, {6, 1, 1}}}}};
    static const PufferApi api = {.abi_version = PUFFER_ABI_VERSION, .struct_size = sizeof api,
                                  .step = step};
    PufferWatch* watches = calloc((size_t)threads, sizeof *watches);
    for (int env = 0; env <= ENVS; env++) first_row[env] = env * PER_ENV;
    for (int env = 0; env < ENVS; env++) {
        ticks[env] = 0;
        play(env);
    }
    if (!puffer_trainer_path_available(path)) return 2;
    PufferTrainer* trainer = puffer_trainer_create(&config, &error);
    if (!watches || !trainer) return give_up(&error);
    PufferTrainerEnvs envs = {.api = &api, .vec = (PufferVec*)ticks, .num_envs = ENVS,
                              .first_row = first_row,
                              .observations = observations, .actions = actions,
                              .rewards = rewards, .terminals = terminals,
                              .truncations = truncations, .action_mask = masks,
                              .watches = watches};
    PufferTrainerLosses losses;
    if (puffer_trainer_attach(trainer, &envs, &error)) return give_up(&error);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        if (puffer_trainer_rollout(trainer, &error)
            || puffer_trainer_update(trainer, &losses, &error)) return give_up(&error);
    PufferTrainerTensor tensor;
    for (int i = 0; puffer_trainer_tensor(trainer, i, &tensor); i++) {
        if (tensor.kind != PUFFER_WEIGHT) continue;
        int64_t rows = tensor.shape[0], columns = tensor.dims > 1 ? tensor.shape[1] : 1;
        printf("%s%s", num_parts ? "seeing." : "", tensor.name);
        for (int64_t at = 0; at < rows * columns; at++) {
            uint32_t bits;
            memcpy(&bits, (char*)tensor.data + at / columns * tensor.strides[0]
                   + (tensor.dims > 1 ? at % columns * tensor.strides[1] : 0), sizeof bits);
            printf(" %08x", (unsigned)bits);
        }
        printf("\n");
    }
    puffer_trainer_destroy(trainer);
    free(watches);
    return 0;
}

int train(int path, int threads) {
    int failed = train_with(path, threads, 0);
    return failed ? failed : train_with(path, threads, 2);
}
