/* config.c -- what depends only on settings: bounds, heads, first weights, schedules. */
#include "shared.h"
#include "kernels/common/philox.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void fill_error(Error* error, int32_t kind, const char* format, va_list arguments) {
    error->kind = kind;
    error->head = 0;
    error->row = error->element = -1;
    error->value = 0.0f;
    vsnprintf(error->text, sizeof error->text, format, arguments);
}

int32_t fail(Error* error, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill_error(error, PUFFER_TRAINER_FAILED, format, arguments);
    va_end(arguments);
    return -1;
}

int32_t fail_as(Error* error, int32_t kind, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill_error(error, kind, format, arguments);
    va_end(arguments);
    return -1;
}

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

_Static_assert(PUFFER_MAX_HEADS <= MAX_HEADS, "the kernels have no room for so many heads");

int32_t config_check(const PufferTrainerConfig* config, Error* error) {
    if (config->version != PUFFER_TRAINER_VERSION || config->struct_size != (int32_t)sizeof *config)
        return fail(error, "the caller was made for another version of the trainer");
    struct {
        const char* name;
        int64_t value, low, high;
    } bounds[] = {{"agents", config->agents, 1, 1 << 24},
                  {"horizon", config->horizon, 0, 65536},
                  {"obs_size", config->obs_size, 1, 1 << 28},
                  {"num_atns", config->num_atns, 1, PUFFER_MAX_HEADS},
                  {"hidden_size", config->hidden_size, 1, 16384},
                  {"num_layers", config->num_layers, 1, MAX_LAYERS},
                  {"threads", config->threads, 1, 1024},
                  {"total_epochs", config->total_epochs, 1, INT64_MAX},
                  {"seed", (int64_t)config->seed, 0, ((int64_t)1 << 56) - 1},
                  {"obs_dtype", config->obs_dtype, PUFFER_U8, PUFFER_I32},
                  {"ranks", config->ranks, 1, 1 << 16},
                  {"rank", config->rank, 0, config->ranks - 1}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].value < bounds[i].low || bounds[i].value > bounds[i].high)
            return fail(error, "%s is %lld, not from %lld to %lld", bounds[i].name,
                        (long long)bounds[i].value, (long long)bounds[i].low,
                        (long long)bounds[i].high);
    for (int head = 0; head < config->num_atns; head++)
        if (config->act_sizes[head] < 1 || config->act_sizes[head] > 1 << 20)
            return fail(error, "head %d has %d actions", head, config->act_sizes[head]);
    if (!config->horizon) return 0;
    int64_t batch = (int64_t)config->agents * config->horizon;
    if (config->minibatch_size < config->horizon || config->minibatch_size % config->horizon
        || config->minibatch_size > batch)
        return fail(error, "minibatch_size is %d, not a multiple of horizon %d up to %lld",
                    config->minibatch_size, config->horizon, (long long)batch);
    return 0;
}

void heads_init(Heads* heads, const PufferTrainerConfig* config) {
    memset(heads, 0, sizeof *heads);
    heads->count = config->num_atns;
    for (int head = 0; head < heads->count; head++) {
        heads->width[head] = config->act_sizes[head];
        heads->column[head] = heads->outputs;
        heads->logstd_index[head] = heads->width[head] == 1 ? heads->continuous++ : -1;
        heads->outputs += heads->width[head];
    }
}

#define DECODER_GAIN 0.01

void matrix_start(float* weight, const PufferTrainerConfig* config, int number, int fan_out,
                  int fan_in, const float* factors) {
    int decoder = config->num_layers + 1, transposed = number == 0 || number > decoder;
    double gain = number == 0        ? sqrt(2.0)
                  : number < decoder ? 1.0
                  : number > decoder ? sqrt(6.0)
                                     : DECODER_GAIN;
    float bound = (float)(gain / sqrt((double)fan_in));
    int64_t count = (int64_t)fan_out * fan_in;
    for (int64_t i = 0; i < count; i++) {
        PhiloxBlock block = philox_block(config->seed, PHILOX_INIT, (uint32_t)i, (uint64_t)number,
                                         0);
        int64_t row = i / fan_in, col = i % fan_in;
        int64_t place = transposed ? col * fan_out + row : i;
        weight[place] = (2.0f * philox_unit(block.word[0]) - 1.0f) * bound;
        if (factors) weight[place] *= factors[col];
    }
}

// ---- schedules --------------------------------------------------------------------------------

// From `start` at progress 0 to floor * start at progress 1, along half a cosine
static double cosine(double start, double floor, double progress) {
    return start * (floor + (1.0 - floor) * 0.5 * (1.0 + cos(3.14159265358979323846 * progress)));
}

double learning_progress(const PufferTrainerConfig* config, const PufferTrainerCounters* counters) {
    double progress = (double)counters->epoch / (double)config->total_epochs;
    return progress < 1.0 ? progress : 1.0;
}

static double minibatches_of(const PufferTrainerConfig* config, int64_t segments) {
    double batch = (double)segments * config->horizon;
    return config->replay_ratio * batch / ((double)config->minibatch_size * config->ranks);
}

double minibatches_per_epoch(const PufferTrainerConfig* config) {
    return minibatches_of(config, agents_of_all(config));
}

// ---- what follows from an update ---------------------------------------------------------------

#define RETURN_RATE  0.2      // of the way to the returns of an epoch; more in the first ones
#define LEAST_RETURN 1e-12    // where all returns are 0
#define FIRST_FACTOR 0.1      // of the learning rate: the first weights know nothing
#define LEAST_FACTOR 1e-3
#define MOST_DOWN    (1.0 / 3)    // from one update to the next
#define MOST_UP      1.5

static double unit_of_values(const PufferTrainerCounters* counters) {
    return counters->return_rms > 0.0 ? counters->return_rms : 1.0;
}

float reward_scale(const PufferTrainerCounters* counters) {
    return (float)(1.0 / unit_of_values(counters));
}

float highest_value(const PufferTrainerCounters* counters) {
    return (float)(counters->highest_return / unit_of_values(counters));
}

static double rate_factor(const PufferTrainerConfig* config,
                          const PufferTrainerCounters* counters) {
    if (config->target_kl <= 0.0) return 1.0;
    return counters->rate_factor > 0.0 ? counters->rate_factor : FIRST_FACTOR;
}

// The KL divergence grows with the square of the learning rate
static double next_factor(double factor, double target, double kl) {
    double change = kl > 0.0 ? sqrt(target / kl) : MOST_UP;
    factor *= change < MOST_DOWN ? MOST_DOWN : change > MOST_UP ? MOST_UP : change;
    return factor < LEAST_FACTOR ? LEAST_FACTOR : factor > 1.0 ? 1.0 : factor;
}

void counters_follow(const PufferTrainerConfig* config, PufferTrainerCounters* counters,
                     const PufferTrainerLosses* losses, int64_t epoch) {
    if (!losses->minibatches) return;
    counters->highest_return = fmax(counters->highest_return, losses->highest_return);
    if (config->target_kl > 0.0)
        counters->rate_factor = next_factor(rate_factor(config, counters), config->target_kl,
                                            losses->approx_kl);
    if (!config->norm_returns) return;
    double first = 1.0 / (double)(epoch + 2);
    double rate = first > RETURN_RATE ? first : RETURN_RATE;
    double next = unit_of_values(counters) * sqrt(1.0 + rate * (losses->return_square - 1.0));
    counters->return_rms = next > LEAST_RETURN ? next : LEAST_RETURN;
}

void losses_begin(PufferTrainerLosses* losses, const PufferTrainerConfig* config,
                  PufferTrainerCounters* counters, int64_t segments, int64_t alive) {
    double progress = learning_progress(config, counters);
    memset(losses, 0, sizeof *losses);
    losses->alive = alive;
    losses->learning_rate = rate_factor(config, counters)
                            * cosine(config->learning_rate,
                                     config->anneal_lr ? config->min_lr_ratio : 1.0, progress);
    losses->ent_coef = cosine(config->ent_coef,
                              config->anneal_ent_coef ? config->min_ent_coef_ratio : 1.0, progress);
    double wanted = minibatches_of(config, segments) + counters->minibatch_carry;
    if (!config->minibatch_carry && segments && wanted < 1.0) wanted = 1.0;
    losses->minibatches = (int32_t)wanted;
    counters->minibatch_carry = config->minibatch_carry ? wanted - losses->minibatches : 0.0;
}
