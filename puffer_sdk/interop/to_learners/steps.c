/* steps.c -- one pass over a VecEnv's rows for each thing that a vector does. See steps.h. */
#include "steps.h"
#include <stdbool.h>
#include <string.h>

static bool take(const Steps* steps, const int64_t* ids) {
    const int64_t heads = steps->heads, size = steps->rows * heads;
    float* restrict actions = steps->actions;
    uint64_t wrong = 0;
    if (heads == 1) {
        const uint64_t width = (uint64_t)steps->widths[0];
        for (int64_t i = 0; i < size; i++) wrong |= (uint64_t)ids[i] >= width;
    }
    for (int64_t i = 0; heads > 1 && i < size; i++)
        wrong |= (uint64_t)ids[i] >= (uint64_t)steps->widths[i % heads];
    if (wrong) return false;
    for (int64_t i = 0; i < size; i++) actions[i] = (float)ids[i];
    return true;
}

int64_t steps_read(const Steps* steps, float* rewards, unsigned char* flags, int64_t* over) {
    const int64_t rows = steps->rows;
    const float* restrict terminals = steps->terminals;
    const float* restrict truncations = steps->truncations;
    unsigned char* restrict terminated = flags;
    unsigned char* restrict truncated = flags + rows;
    unsigned char* restrict ended = flags + 2 * rows;
    memcpy(rewards, steps->rewards, (size_t)rows * sizeof(float));
    for (int64_t i = 0; i < rows; i++) ended[i] = terminals[i] != 0.0f;
    for (int64_t i = 0; i < rows; i++) truncated[i] = truncations[i] != 0.0f;
    for (int64_t i = 0; i < rows; i++) terminated[i] = ended[i] & (truncated[i] ^ 1);
    int64_t count = 0;
    const unsigned char *at = ended, *end = ended + rows;
    while (at < end && (at = (const unsigned char*)memchr(at, 1, (size_t)(end - at))))
        over[count++] = at++ - ended;
    return count;
}

int64_t steps_play(const Steps* steps, const int64_t* ids, int64_t tick, const unsigned char* waits,
                   float* rewards, unsigned char* flags, int64_t* over) {
    if (!take(steps, ids)) return -1;
    const int32_t copies = (int32_t)steps->copies;
    steps->watch->step = tick;
    if (waits) steps->api->step_others(steps->vec, 0, copies, steps->flags, waits, steps->watch);
    else steps->api->step(steps->vec, 0, copies, steps->flags, steps->watch);
    return steps_read(steps, rewards, flags, over);
}

static void copy_finals(const Steps* steps, const int64_t* over, int64_t count, const char* last,
                        char* out) {
    const int64_t size = steps->row_bytes;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = over[i];
        const char* from = steps->has_final && steps->has_final[row] ? steps->finals : last;
        memcpy(out + i * size, from + row * size, (size_t)size);
    }
}

static void read_logs(const Steps* steps, const int64_t* over, int64_t count, double* columns,
                      unsigned char* there) {
    double values[PUFFER_MAX_LOG], n = 0.0;
    int32_t last = -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = over[i];
        const int32_t copy = (int32_t)(row / steps->agents);
        if (copy != last) n = steps->api->collect_log(steps->vec, copy, 1, values);
        last = copy;
        if (n <= 0.0) continue;
        there[row] = 1;
        for (int64_t k = 0; k < steps->num_logs; k++) columns[k * steps->rows + row] = values[k];
    }
}

void steps_end(const Steps* steps, const int64_t* over, int64_t count, const char* last,
               char* finals, double* columns, unsigned char* there) {
    copy_finals(steps, over, count, last, finals);
    if (steps->api) read_logs(steps, over, count, columns, there);
}
