/* update.c -- learn from a rollout: an epoch of minibatches is launched on the GPU without a wait.
 *
 * What changes between minibatches is written for all of them first. finish.c reads the losses:
 * at once, or with `async` before the next update. */
#include "internal.h"
#include <math.h>
#include <string.h>

static void write_schedules(Rank* rank, const PufferTrainerLosses* losses) {
    const PufferTrainer* trainer = rank->trainer;
    const PufferTrainerConfig* config = &trainer->config;
    double progress = learning_progress(config, &trainer->counters);
    for (int32_t number = 0; number < losses->minibatches; number++) {
        double steps = (double)(trainer->counters.optimizer_steps + number + 1);
        rank->schedules_here[number] = (CudaSchedule){
            .seed = config->seed,
            .epoch = (uint64_t)trainer->counters.epoch,
            .number = number,
            .segments = rank->picker.living_count,
            .ent_coef = (float)losses->ent_coef,
            .learning_rate = losses->learning_rate,
            .reward_scale = reward_scale(&trainer->counters),
            .highest_value = highest_value(&trainer->counters),
            .prio_beta = config->prio_beta0 + (1.0 - config->prio_beta0) * progress,
            .first_bias = 1.0 - pow(0.9, steps),
            .second_bias = 1.0 - pow(config->beta2, steps)};
    }
}

static void end_epoch(Rank* rank) {
    Stream* stream = rank->stream;
    int64_t count = rank->trainer->weight_count;
    EACH(stream, bad_find, count, BadFindArgs, .count = (int32_t)count, .x = rank->weights,
         .where = &rank->report->bad_weight);
    stream_download(stream, rank->report_here, rank->report, sizeof *rank->report);
    stream_mark(stream, rank->updated);
    if (!rank->trainer->config.async) stream_mark(stream, rank->weights_ready);
}

static void give_epoch(PufferTrainer* trainer, const PufferTrainerLosses* losses, int turn) {
    device_range(trainer->ranks->device, "update");
    EACH_RANK(trainer, rank) {
        write_schedules(rank, losses);
        if (trainer->config.async) keep_acting(rank);    // with the weights before this update
        begin_epoch(rank, &rank->rollouts[turn]);
    }
    for (int32_t number = 0; number < losses->minibatches; number++) {
        EACH_RANK(trainer, rank) {
            stream_upload(rank->stream, rank->schedule, &rank->schedules_here[number],
                          sizeof(CudaSchedule));
            pick_minibatch(rank, turn, number);
        }
        learn_minibatch(trainer, turn);
    }
    EACH_RANK(trainer, rank) end_epoch(rank);
    device_range(trainer->ranks->device, NULL);
}

int32_t puffer_trainer_update(PufferTrainer* trainer, PufferTrainerLosses* losses, Error* error) {
    PufferTrainerLosses before, now;
    int turn = trainer->turn;
    if (weights_upload(trainer, error) || update_finish(trainer, &before, error)) return -1;
    double began = seconds_now();
    Living living;
    trainer->workers[0].since = clock_now();
    if (list_living(trainer, turn, &living, error)) return -1;
    losses_begin(&now, &trainer->config, &trainer->counters, living.segments, living.ticks);
    give_epoch(trainer, &now, turn);
    trainer->fetched = trainer->rollout_fetched = 0;
    trainer->learning = 1;
    memset(&trainer->done, 0, sizeof trainer->done);
    trainer->pending = now;
    trainer->pending_epoch = trainer->counters.epoch;
    trainer->counters.optimizer_steps += now.minibatches;
    trainer->update_seconds += seconds_now() - began;
    mark(&trainer->workers[0], PHASE_UPDATE);
    int32_t failed = 0;
    if (trainer->config.async) {
        *losses = before;
        losses->learning_rate = now.learning_rate;
        losses->ent_coef = now.ent_coef;
        trainer->turn = 1 - turn;
        trainer->passed_on = 1;
    } else {
        failed = update_finish(trainer, losses, error);
        memset(&trainer->done, 0, sizeof trainer->done);
    }
    trainer->replay.count = 0;
    if (failed) return -1;
    trainer->counters.epoch++;
    return 0;
}
