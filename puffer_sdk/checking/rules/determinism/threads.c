/* threads.c -- does an env change what another env does on another thread?
 *
 * Chance would find a race now and then. Here two threads take turns: the library is compiled
 * with -fsanitize=thread, whose calls before each access of memory end up in this file, and a
 * thread that is about to touch a word which the other one touches too (and somebody writes)
 * first lets the other go on. One thread runs at any time, so every run is the same; an env
 * that keeps to itself never meets a turn, and gives the bytes of a single thread.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "system.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 16, MAX_TURNS = 20000, BOTH = 3 };

typedef struct Word {
    const void* at;
    unsigned char users, written;
} Word;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int turn;        // 0 or 1: the thread that may run
    bool busy[2];    // inside a step
    bool quit, taking_turns, stuck;
    int turns;      // taken so far
    int shared;     // accesses of shared words so far
    Word* words;    // [WORDS] a hash table that forgets
    Batch* batch;
    int env;    // that thread 1 has to step
    PufferWatch watch[2];
} duo = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static __thread int me;    // 0 or 1

// Called with the lock held. A thread that holds a lock of the env's own never gives the turn
// back: then turns come to an end, and both threads run as they like
static void wait_for_turn(void) {
    double end = now() + 0.5;
    while (duo.turn != me && !duo.stuck) {
        if (!wait_until(&duo.change, &duo.lock, end)) {
            duo.stuck = true;
            duo.taking_turns = false;
            pthread_cond_broadcast(&duo.change);
        }
    }
}

static void give_turn(void) {
    duo.turn = 1 - me;
    pthread_cond_broadcast(&duo.change);
}

static void __attribute__((noinline)) meet(bool write) {
    if (duo.shared++ == 0) {
        PufferWatch before = watch;
        watch = duo.watch[me];
        report(shared_memory, .write = write);
        watch = before;
    }
    pthread_mutex_lock(&duo.lock);
    if (duo.busy[1 - me]) {
        duo.taking_turns = ++duo.turns < MAX_TURNS;
        give_turn();
        wait_for_turn();
    }
    pthread_mutex_unlock(&duo.lock);
}

static inline void touch(const volatile void* at, bool write) {
    if (!duo.taking_turns) {
        return;
    }
    Word* w = &duo.words[mix((uint64_t)(uintptr_t)at) & (WORDS - 1)];
    if (w->at != (const void*)at) {
        *w = (Word){(const void*)at, 0, 0};
    }
    w->users |= (unsigned char)(1 << me);
    w->written |= write;
    if (w->users == BOTH && w->written) {
        meet(write);
    }
}

//------------------------------------------------------------------------------------
// What the compiler calls before each access
//------------------------------------------------------------------------------------
void __tsan_init(void) {}
void __tsan_func_entry(void* caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void** at, void* value) {
    (void)at;
    (void)value;
}
void __tsan_vptr_read(void** at) { (void)at; }

#define STORES(name, size)                                                                         \
    void __tsan_##name##size(void* at) {                                                           \
        touch(at, true);                                                                           \
        if (storing) {                                                                             \
            note_store(at, size, __builtin_return_address(0));                                     \
        }                                                                                          \
    }
#define ACCESS(size)                                                                               \
    void __tsan_read##size(void* at) { touch(at, false); }                                         \
    void __tsan_unaligned_read##size(void* at) { touch(at, false); }                               \
    STORES(write, size)                                                                            \
    STORES(unaligned_write, size)                                                                  \
    STORES(read_write, size)                                                                       \
    STORES(unaligned_read_write, size)
// clang-format off
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
    // clang-format on

    static void touch_range(const volatile char* at, size_t size, bool write) {
    for (size_t i = 0; duo.taking_turns && i < size && i < 1024; i++) {
        touch(at + i, write);
    }
}

void __tsan_read_range(void* at, size_t size) { touch_range(at, size, false); }
void __tsan_write_range(void* at, size_t size) { touch_range(at, size, true); }

void* __wrap_memset(void* to, int value, size_t size) {
    touch_range(to, size, true);
    return memset(to, value, size);
}

void* __wrap_memcpy(void* to, const void* from, size_t size) {
    touch_range(from, size, false);
    touch_range(to, size, true);
    memcpy(to, from, size);
    if (storing) {
        note_copied(to, size, __builtin_return_address(0));
    }
    return to;
}

void* __wrap_memmove(void* to, const void* from, size_t size) {
    touch_range(from, size, false);
    touch_range(to, size, true);
    memmove(to, from, size);
    if (storing) {
        note_copied(to, size, __builtin_return_address(0));
    }
    return to;
}

#define FETCH(bits, T, name)                                                                       \
    T __tsan_atomic##bits##_fetch_##name(volatile T* at, T value, int order) {                     \
        (void)order;                                                                               \
        return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST);                                 \
    }
#define ATOMICS(bits, T)                                                                           \
    T __tsan_atomic##bits##_load(const volatile T* at, int order) {                                \
        (void)order;                                                                               \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                         \
        (void)order;                                                                               \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                              \
    T __tsan_atomic##bits##_exchange(volatile T* at, T value, int order) {                         \
        (void)order;                                                                               \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                   \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* old, T value, int order,  \
                                                      int other) {                                 \
        (void)order;                                                                               \
        (void)other;                                                                               \
        return __atomic_compare_exchange_n(at, old, value, false, __ATOMIC_SEQ_CST,                \
                                           __ATOMIC_SEQ_CST);                                      \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* old, T value, int order,    \
                                                    int other) {                                   \
        return __tsan_atomic##bits##_compare_exchange_strong(at, old, value, order, other);        \
    }                                                                                              \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T old, T value, int order,        \
                                                 int other) {                                      \
        __tsan_atomic##bits##_compare_exchange_strong(at, &old, value, order, other);              \
        return old;                                                                                \
    }                                                                                              \
    FETCH(bits, T, add)                                                                            \
    FETCH(bits, T, sub)                                                                            \
    FETCH(bits, T, and) FETCH(bits, T, or) FETCH(bits, T, xor) FETCH(bits, T, nand)
// clang-format off
ATOMICS(8, uint8_t) ATOMICS(16, uint16_t) ATOMICS(32, uint32_t) ATOMICS(64, uint64_t)
    // clang-format on

    void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __sync_synchronize();
}
void __tsan_atomic_signal_fence(int order) { (void)order; }

//------------------------------------------------------------------------------------
// threads: even envs on one thread, odd ones on the other, two at a time
//------------------------------------------------------------------------------------
static void step_mine(int env) {
    api->step(duo.batch->vec, env, 1, 0, &duo.watch[me]);
    pthread_mutex_lock(&duo.lock);
    duo.busy[me] = false;
    give_turn();
    pthread_mutex_unlock(&duo.lock);
}

static void* second_thread(void* unused) {
    (void)unused;
    me = 1;
    for (;;) {
        pthread_mutex_lock(&duo.lock);
        while (!duo.quit && !(duo.busy[1] && (duo.turn == 1 || duo.stuck))) {
            pthread_cond_wait(&duo.change, &duo.lock);
        }
        pthread_mutex_unlock(&duo.lock);
        if (duo.quit) {
            return NULL;
        }
        step_mine(duo.env);
    }
}

static void step_pair(int even, int odd, int64_t t) {
    duo.watch[0].step = duo.watch[1].step = t;
    pthread_mutex_lock(&duo.lock);
    duo.env = odd;
    duo.turn = 0;
    duo.busy[0] = true;
    duo.busy[1] = odd < duo.batch->envs;
    pthread_cond_broadcast(&duo.change);
    pthread_mutex_unlock(&duo.lock);
    watch.phase = PUFFER_STEP;    // the watchdog looks at this one
    watch.env = even;
    watch.pulse = watch.pulse + 1;
    step_mine(even);
    pthread_mutex_lock(&duo.lock);
    while (duo.busy[1]) {
        pthread_cond_wait(&duo.change, &duo.lock);
    }
    pthread_mutex_unlock(&duo.lock);
    watch.phase = PUFFER_IDLE;
}

void experiment_threads(void) {
    Batch b = batch_open(PACKED);
    options.traced = b.envs;
    uint64_t* hashes = calloc((size_t)(options.steps + 1) * (size_t)b.envs, 8);
    duo.words = calloc(WORDS, sizeof *duo.words);
    duo.batch = &b;
    pthread_t other;
    if (pthread_create(&other, NULL, second_thread, NULL) != 0) {
        fail("cannot start a thread");
    }
    for (int64_t t = 0; t <= options.steps; t++) {
        watch.step = t;
        if (t == 0) {
            batch_reset(&b, -1);
        } else {
            batch_act(&b, -1, t);
            note_agents(&b, -1);
            duo.taking_turns = !duo.stuck && duo.turns < MAX_TURNS;
            for (int e = 0; e < b.envs; e += 2) {
                step_pair(e, e + 1, t);
            }
            duo.taking_turns = false;
        }
        for (int e = 0; e < b.envs; e++) {
            hashes[t * b.envs + e] = hash_env(&b, e);
        }
        if (options.dump && t == options.dump_step) {
            write_rows(&b, options.dump_env);
            break;
        }
    }
    pthread_mutex_lock(&duo.lock);
    duo.quit = true;
    pthread_cond_broadcast(&duo.change);
    pthread_mutex_unlock(&duo.lock);
    pthread_join(other, NULL);
    batch_close(&b);
    write_hashes(hashes);
}
