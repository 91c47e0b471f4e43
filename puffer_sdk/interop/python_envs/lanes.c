/* lanes.c -- counters in shared memory, and a PufferApi over them. lanes.h says how it works. */
#include "lanes.h"
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#define SLICE 50000000ll    // nanoseconds of sleep between two looks at how a lane is

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// ---- waiting ----------------------------------------------------------------------------------

#ifdef __linux__
static void sleep_while(int32_t* word, int32_t seen, int64_t timeout) {
    struct timespec time = {timeout / 1000000000, timeout % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
}

static void wake(int32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0); }
#elif defined(__APPLE__)
extern int __ulock_wait(uint32_t operation, void* word, uint64_t value, uint32_t microseconds);
extern int __ulock_wake(uint32_t operation, void* word, uint64_t value);
enum { COMPARE_AND_WAIT_SHARED = 3 };

static void sleep_while(int32_t* word, int32_t seen, int64_t timeout) {
    uint32_t microseconds = (uint32_t)(timeout / 1000);
    __ulock_wait(COMPARE_AND_WAIT_SHARED, word, (uint32_t)seen, microseconds ? microseconds : 1);
}

static void wake(int32_t* word) { __ulock_wake(COMPARE_AND_WAIT_SHARED, word, 0); }
#else
static void sleep_while(int32_t* word, int32_t seen, int64_t timeout) {
    (void)word, (void)seen, (void)timeout;
    struct timespec time = {0, 50000};
    nanosleep(&time, NULL);
}

static void wake(int32_t* word) { (void)word; }
#endif

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

int32_t lane_wait(LaneCounter* counter, int32_t wanted, int32_t spins, int64_t timeout) {
    for (int32_t i = 0; i < spins; i++) {
        if (__atomic_load_n(&counter->value, __ATOMIC_ACQUIRE) == wanted) return 0;
        relax();
    }
    int64_t end = now() + timeout;
    for (;;) {
        __atomic_store_n(&counter->sleeper, 1, __ATOMIC_SEQ_CST);
        int32_t seen = __atomic_load_n(&counter->value, __ATOMIC_SEQ_CST);
        if (seen == wanted) {
            __atomic_store_n(&counter->sleeper, 0, __ATOMIC_RELAXED);
            return 0;
        }
        int64_t left = end - now();
        if (left <= 0) return 1;
        sleep_while(&counter->value, seen, left);
    }
}

// Waits until the bell is no longer at `seen`, or so long
static void bell_wait(LaneCounter* bell, int32_t seen, int32_t spins, int64_t timeout) {
    for (int32_t i = 0; i < spins; i++) {
        if (__atomic_load_n(&bell->value, __ATOMIC_ACQUIRE) != seen) return;
        relax();
    }
    __atomic_store_n(&bell->sleeper, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&bell->value, __ATOMIC_SEQ_CST) == seen)
        sleep_while(&bell->value, seen, timeout);
}

void lane_post(LaneCounter* counter, int32_t value) {
    __atomic_store_n(&counter->value, value, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&counter->sleeper, 0, __ATOMIC_SEQ_CST)) wake(&counter->value);
}

void lane_ring(LaneCounter* bell) {
    __atomic_add_fetch(&bell->value, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&bell->sleeper, 0, __ATOMIC_SEQ_CST)) wake(&bell->value);
}

// ---- the parent -------------------------------------------------------------------------------

static int32_t fails(Lanes* lanes, int32_t lane, int32_t state) {
    int32_t none = -1;
    if (__atomic_compare_exchange_n(&lanes->bad_lane, &none, lane, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
        lanes->bad_state = state;
    return -1;
}

static int is_bad(const Lanes* lanes) {
    return __atomic_load_n(&lanes->bad_lane, __ATOMIC_RELAXED) >= 0;
}

static int32_t state_of(const Lane* lane) {
    return __atomic_load_n(&lane->state, __ATOMIC_ACQUIRE);
}

void lanes_send(Lanes* lanes, int32_t first, int32_t count, int32_t command) {
    for (int32_t i = first; i < first + count; i++) {
        Lane* lane = &lanes->lanes[i];
        lane->command = command;
        lanes->since[i] = 0;
        lane_post(&lane->go, ++lanes->sent[i]);
    }
}

int32_t lanes_ready(const Lanes* lanes, int32_t lane) {
    return __atomic_load_n(&lanes->lanes[lane].done.value, __ATOMIC_ACQUIRE) == lanes->sent[lane];
}

// Changes whenever a lane gets on: it steps its next env, or begins another step
static int64_t progress_of(const Lane* lane) {
    const volatile Lane* live = lane;
    return (int64_t)((uint64_t)live->pulse * 1000003u + (uint64_t)live->env);
}

// Whether nothing more comes from a lane
static int is_final(int32_t state) {
    return state == LANE_RAISED || state == LANE_DEAD || state == LANE_SILENT;
}

// Tells the monitor of a lane that is waited for and has made no progress for too long
static void check_progress(Lanes* lanes, int32_t index, int64_t time) {
    Lane* lane = &lanes->lanes[index];
    int64_t progress = progress_of(lane);
    int32_t fine = LANE_FINE, resets = lane->phase == PUFFER_RESET || lane->command == LANE_RESET;
    if (state_of(lane) != LANE_FINE || !lanes->since[index] || progress != lanes->progress[index]) {
        lanes->since[index] = time;
        lanes->progress[index] = progress;
    } else if (time - lanes->since[index] > (resets ? lanes->reset_limit : lanes->limit)) {
        __atomic_compare_exchange_n(&lane->state, &fine, LANE_LATE, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    }
}

// What whoever watches the watch should see of a lane that is waited for
static void show(PufferWatch* watch, const Lane* lane) {
    if (!watch) return;
    watch->env = lane->env;
    watch->pulse = (int32_t)progress_of(lane);
    watch->phase = lane->phase;
}

static int32_t receive_one(Lanes* lanes, int32_t index, PufferWatch* watch) {
    Lane* lane = &lanes->lanes[index];
    int32_t spins = lanes->spins;
    while (lane_wait(&lane->done, lanes->sent[index], spins, SLICE)) {
        spins = 0;
        show(watch, lane);
        if (is_final(state_of(lane))) break;
        check_progress(lanes, index, now());
    }
    int32_t state = state_of(lane);
    return is_final(state) ? fails(lanes, index, state) : 0;
}

int32_t lanes_receive(Lanes* lanes, int32_t first, int32_t count, PufferWatch* watch) {
    for (int32_t i = first; i < first + count; i++)
        if (receive_one(lanes, i, watch)) return -1;
    return 0;
}

int32_t lanes_any(Lanes* lanes, const unsigned char* busy, int32_t wanted) {
    for (int32_t spins = lanes->spins;; spins = 0) {
        int32_t rung = __atomic_load_n(&lanes->bell->value, __ATOMIC_SEQ_CST), ready = 0;
        int64_t time = now();
        for (int32_t i = 0; i < lanes->count; i++) {
            if (!busy[i]) continue;
            int32_t state = state_of(&lanes->lanes[i]);
            if (is_final(state)) return fails(lanes, i, state);
            if (lanes_ready(lanes, i)) ready++;
            else check_progress(lanes, i, time);
        }
        if (ready >= wanted) return 0;
        bell_wait(lanes->bell, rung, spins, SLICE);
    }
}

// ---- the ABI ----------------------------------------------------------------------------------

static Lanes* of(const PufferVec* vec) { return (Lanes*)vec; }

static void begin(PufferWatch* watch, int32_t phase) {
    if (!watch) return;
    watch->env = 0;
    watch->pulse++;
    watch->phase = phase;
}

static void end(PufferWatch* watch) {
    if (!watch) return;
    watch->phase = PUFFER_IDLE;
    watch->pulse++;
}

static void run(Lanes* lanes, int32_t first, int32_t count, int32_t command, PufferWatch* watch) {
    if (is_bad(lanes)) return;    // the caller learns it from bad_lane
    begin(watch, command == LANE_RESET ? PUFFER_RESET : PUFFER_STEP);
    lanes_send(lanes, first, count, command);
    if (lanes_receive(lanes, first, count, watch) && watch) lanes->bad_step = watch->step;
    end(watch);
}

static void api_reset(PufferVec* vec, int32_t first, int32_t count, PufferWatch* watch) {
    (void)first, (void)count;
    run(of(vec), 0, of(vec)->count, LANE_RESET, watch);
}

static void api_step(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                     PufferWatch* watch) {
    (void)first, (void)count, (void)flags;
    run(of(vec), 0, of(vec)->count, LANE_STEP, watch);
}

static void api_step_free(PufferVec* vec, int32_t first, int32_t count, int32_t flags,
                          PufferWatch* watch) {
    (void)flags;
    run(of(vec), first, count, LANE_STEP, watch);
}

static int32_t api_num_envs(const PufferVec* vec) { return of(vec)->num_envs; }
static int32_t api_num_lanes(const PufferVec* vec) { return of(vec)->count; }

static uint32_t api_env_seed(const PufferVec* vec, int32_t env) { return of(vec)->seeds[env]; }

static void api_bind_all(PufferVec* vec, const PufferBuffers* all, int64_t* first_row) {
    (void)all;    // workers write into the block that they share with the caller
    memcpy(first_row, of(vec)->first_row, sizeof(int64_t) * (size_t)(of(vec)->num_envs + 1));
}

const PufferApi* lanes_api(void) {
    static const PufferApi api = {.abi_version = PUFFER_ABI_VERSION,
                                  .struct_size = sizeof(PufferApi),
                                  .num_envs = api_num_envs,
                                  .env_seed = api_env_seed,
                                  .reset = api_reset,
                                  .step = api_step,
                                  .bind_all = api_bind_all};
    return &api;
}

const PufferApi* lanes_api_free(void) {
    static const PufferApi api = {.abi_version = PUFFER_ABI_VERSION,
                                  .struct_size = sizeof(PufferApi),
                                  .num_envs = api_num_lanes,
                                  .env_seed = api_env_seed,
                                  .reset = api_reset,
                                  .step = api_step_free};
    return &api;
}
