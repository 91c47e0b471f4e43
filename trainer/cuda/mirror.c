/* mirror.c -- weights and rollouts, on the host and on the GPUs.
 *
 * Callers see copies on the host. They are fetched when a caller asks, and what a caller wrote is
 * uploaded before the next work starts. */
#include "internal.h"

static void narrow_weights(Rank* rank) {    // all of them, after a load
    int64_t count = rank->trainer->weight_count;
    if (rank->trainer->narrow)
        EACH(rank->stream, floats_narrow, count, FloatsNarrowArgs, .count = (int32_t)count,
             .x = rank->weights, .narrow = rank->weights_narrow);
}

void keep_acting(Rank* rank) {
    size_t count = (size_t)rank->trainer->weight_count;
    stream_copy(rank->stream, rank->acting, rank->weights, sizeof(float) * count);
    if (rank->trainer->narrow)
        stream_copy(rank->stream, rank->acting_narrow, rank->weights_narrow,
                    sizeof(uint16_t) * count);
    stream_mark(rank->stream, rank->weights_ready);
}

// A tensor of a rollout on a rank, and the place of its rows in what callers see
typedef struct {
    void *here, *there;
    int64_t bytes;
} Pair;

#define ROLLOUT_PAIRS 17

static void pair_rollout(const Rank* rank, int turn, Pair out[ROLLOUT_PAIRS]) {
    const PufferTrainer* trainer = rank->trainer;
    const Rollout *there = &rank->rollouts[turn], *here = &trainer->rollout_here;
    int64_t N = trainer->N, rows = N * trainer->config.horizon;
    int64_t states = 4 * N * trainer->L * trainer->H;
    int64_t obs = (int64_t)obs_bytes(trainer, rows);
    const Pair all[ROLLOUT_PAIRS] = {
        {here->obs, there->obs, obs},
        {here->actions, there->actions, 4 * rows * trainer->K},
        {here->masks, there->masks, there->masks ? rows * trainer->A : 0},
        {here->logprobs, there->logprobs, 4 * rows},
        {here->values, there->values, 4 * rows},
        {here->rewards, there->rewards, 4 * rows},
        {here->ended, there->ended, 4 * rows},
        {here->truncated, there->truncated, 4 * rows},
        {here->final_values, there->final_values, there->final_values ? 4 * rows : 0},
        {here->live, there->live, there->live ? 4 * rows : 0},
        {here->values_now, there->values_now, 4 * rows},
        {here->ratio_now, there->ratio_now, 4 * rows},
        {here->advantages, there->advantages, 4 * rows},
        {here->returns, there->returns, 4 * rows},
        {here->bootstrap, there->bootstrap, 4 * N},
        {here->state0, there->state0, states},
        {trainer->state_here, rank->state, states}};
    for (int i = 0; i < ROLLOUT_PAIRS; i++)
        out[i] = (Pair){(char*)all[i].here + (all[i].bytes ? rank->number * all[i].bytes : 0),
                        all[i].there, all[i].bytes};
}

static void rollout_upload(PufferTrainer* trainer) {
    Pair pairs[ROLLOUT_PAIRS];
    EACH_RANK(trainer, rank) {
        pair_rollout(rank, trainer->turn, pairs);
        for (int i = 0; i < ROLLOUT_PAIRS; i++)
            if (pairs[i].bytes)
                stream_upload(rank->stream, pairs[i].there, pairs[i].here, (size_t)pairs[i].bytes);
    }
}

static void upload_to(Rank* rank) {
    const PufferTrainer* trainer = rank->trainer;
    Stream* stream = rank->stream;
    size_t bytes = sizeof(float) * (size_t)trainer->weight_count;
    stream_upload(stream, rank->weights, trainer->weights_here, bytes);
    stream_upload(stream, rank->momentum, trainer->momentum_here, bytes);
    if (trainer->heads.continuous)
        stream_upload(stream, rank->adam_v, trainer->adam_v_here,
                      sizeof(float) * (size_t)trainer->heads.continuous);
    narrow_weights(rank);
    stream_mark(stream, rank->weights_ready);
}

int32_t touched_upload(PufferTrainer* trainer, Error* error) {
    if (trainer->rollout_touched) rollout_upload(trainer);
    trainer->rollout_touched = 0;
    if (!trainer->touched) return ranks_wait(trainer, error);
    EACH_RANK(trainer, rank) upload_to(rank);
    trainer->touched = 0;
    trainer->acts_anew = 1;
    return ranks_wait(trainer, error);
}

// All ranks have the same
int32_t weights_fetch(PufferTrainer* trainer, Error* error) {
    const Rank* rank = trainer->ranks;
    size_t bytes = sizeof(float) * (size_t)trainer->weight_count;
    if (trainer->fetched) return 0;
    stream_download(rank->stream, trainer->weights_here, rank->weights, bytes);
    stream_download(rank->stream, trainer->momentum_here, rank->momentum, bytes);
    if (trainer->heads.continuous)
        stream_download(rank->stream, trainer->adam_v_here, rank->adam_v,
                        sizeof(float) * (size_t)trainer->heads.continuous);
    if (stream_wait(rank->stream)) return device_failed(trainer, error);
    trainer->fetched = 1;
    trainer->lost = 0;
    return 0;
}

int32_t rollout_fetch(PufferTrainer* trainer, int turn, Error* error) {
    Pair pairs[ROLLOUT_PAIRS];
    if (mirror_rollout(trainer, error)) return -1;
    EACH_RANK(trainer, rank) {
        pair_rollout(rank, turn, pairs);
        for (int i = 0; i < ROLLOUT_PAIRS; i++)
            if (pairs[i].bytes)
                stream_download(rank->stream, pairs[i].here, pairs[i].there,
                                (size_t)pairs[i].bytes);
    }
    if (ranks_wait(trainer, error)) return -1;
    trainer->rollout_fetched = 1;
    return 0;
}

// Every stream is idle when this is called
int32_t everything_fetch(PufferTrainer* trainer, int turn, Error* error) {
    return weights_fetch(trainer, error) || rollout_fetch(trainer, turn, error) ? -1 : 0;
}

// ---- the C ABI: tensors ------------------------------------------------------------------------

void puffer_trainer_touch(PufferTrainer* trainer) {
    trainer->rollout_touched = trainer->rollout_fetched;
    if (trainer->fetched) trainer->touched = 1;
    else if (!trainer->rollout_fetched) trainer->lost = 1;
}

int32_t puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTrainerTensor* out) {
    if (index < 0 || index >= trainer->tensors.count) return 0;
    *out = trainer->tensors.items[index];
    return 1;
}
