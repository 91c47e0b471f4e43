/* exchange.c -- sums over the ranks of a run.  one part from each rank -> the sum, on each
 *
 * The config's callback carries them. Each rank gets the same bits, so all take the same decisions
 * and the same step. A NaN of one rank becomes everybody's: all then fail at the same place. */
#include "internal.h"

static int32_t exchange(PufferTrainer* trainer, int32_t kind, void* numbers, int64_t count,
                        Error* error) {
    const PufferTrainerConfig* config = &trainer->config;
    if (config->ranks < 2) return 0;
    trainer->work[0].since = clock_now();
    int32_t failed = config->exchange(config->about, kind, numbers, count);
    mark(&trainer->work[0], PHASE_EXCHANGE);
    if (!failed) return 0;
    return fail_as(error, PUFFER_TRAINER_EXCHANGE_FAILED,
                   "the ranks of this run could not exchange their numbers\tepoch %lld",
                   (long long)trainer->counters.epoch);
}

int32_t exchange_doubles(PufferTrainer* trainer, double* numbers, int64_t count, Error* error) {
    return exchange(trainer, PUFFER_SUM_DOUBLES, numbers, count, error);
}

int32_t exchange_floats(PufferTrainer* trainer, float* numbers, int64_t count, Error* error) {
    return exchange(trainer, PUFFER_SUM_FLOATS, numbers, count, error);
}
