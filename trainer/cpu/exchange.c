/* exchange.c -- sums over the ranks of a run.  one part from each rank -> the sum, on each
 *
 * The config's callback carries them. Each rank gets the same bits, so all take the same decisions
 * and the same step. A NaN of one rank becomes everybody's: all then fail at the same place. */
#include "internal.h"
#include <string.h>

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

// A double is three floats of 24 bits each, that add up to it. Each rank has its own; the others
// leave zeros there, so that sums of floats lose nothing
enum { PARTS = 3 };

int64_t exchange_room(const PufferTrainer* trainer, int count) {
    return trainer->config.ranks < 2 ? 0 : (int64_t)trainer->config.ranks * count * PARTS;
}

void exchange_spread(const PufferTrainer* trainer, const double* numbers, int count, float* room) {
    memset(room, 0, sizeof(float) * (size_t)exchange_room(trainer, count));
    float* own = room + (int64_t)trainer->config.rank * count * PARTS;
    for (int i = 0; i < count; i++) {
        double left = numbers[i];
        for (int part = 0; part < PARTS; part++) {
            own[i * PARTS + part] = (float)left;
            left -= own[i * PARTS + part];
        }
    }
}

void exchange_collect(const PufferTrainer* trainer, const float* room, int count, double* sums) {
    for (int i = 0; i < count; i++) sums[i] = 0.0;
    for (int rank = 0; rank < trainer->config.ranks; rank++)
        for (int i = 0; i < count; i++, room += PARTS)
            sums[i] += (double)room[0] + (double)room[1] + (double)room[2];
}

int32_t exchange_floats(PufferTrainer* trainer, float* numbers, int64_t count, Error* error) {
    return exchange(trainer, PUFFER_SUM_FLOATS, numbers, count, error);
}
