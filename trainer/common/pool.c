/* pool.c -- see pool.h. */
#include "pool.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_ROUND ((uint64_t)1 << 16)    // no worker takes part
#define SPINS       300    // looks at the next job before sleeping: some microseconds

typedef struct Member {
    Pool* pool;
    pthread_t thread;
    int32_t worker;
} Member;

struct Pool {
    int32_t threads;
    Member* members;    // [threads], the first one unused: the caller
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint_fast64_t round;    // number of the job << 16 | workers that take part in it
    atomic_int next;               // item to take
    atomic_int busy;               // workers that have not finished this round
    int sleepers, caller_sleeps, closing;
    pid_t process;    // a fork's copy has no workers
    PoolJob job;
    void* about;
    int32_t items;
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_items(Pool* pool, int32_t worker) {
    for (;;) {
        int32_t item = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (item >= pool->items) return;
        pool->job(pool->about, item, worker);
    }
}

// The round after `seen`, once it has begun; 0 when the pool closes
static uint64_t wait_for_round(Pool* pool, uint64_t seen) {
    uint64_t round = seen;
    for (int spin = 0; spin < SPINS && round == seen; spin++) {
        round = atomic_load_explicit(&pool->round, memory_order_acquire);
        relax();
    }
    if (round != seen) return round;
    pthread_mutex_lock(&pool->lock);
    pool->sleepers++;
    while ((round = atomic_load(&pool->round)) == seen && !pool->closing)
        pthread_cond_wait(&pool->wake, &pool->lock);
    pool->sleepers--;
    pthread_mutex_unlock(&pool->lock);
    return round == seen ? 0 : round;
}

// A worker that takes part keeps the round open; one that does not may miss it altogether
static void* work(void* argument) {
    Member* member = argument;
    Pool* pool = member->pool;
    uint64_t round = FIRST_ROUND;
    while ((round = wait_for_round(pool, round))) {
        if ((uint64_t)member->worker >= (round & 0xffff)) continue;
        take_items(pool, member->worker);
        if (atomic_fetch_sub_explicit(&pool->busy, 1, memory_order_acq_rel) != 1) continue;
        pthread_mutex_lock(&pool->lock);
        if (pool->caller_sleeps) pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

void pool_run(Pool* pool, PoolJob job, void* about, int32_t items) {
    int32_t team = items < pool->threads ? items : pool->threads;
    if (team < 2 || pool->process != getpid()) {
        for (int32_t item = 0; item < items; item++) job(about, item, 0);
        return;
    }
    pool->job = job;
    pool->about = about;
    pool->items = items;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->busy, team - 1);
    pthread_mutex_lock(&pool->lock);
    uint64_t number = (atomic_load(&pool->round) >> 16) + 1;
    atomic_store(&pool->round, number << 16 | (uint64_t)team);
    if (pool->sleepers) pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_items(pool, 0);
    for (int spin = 0; spin < SPINS; spin++) {
        if (!atomic_load_explicit(&pool->busy, memory_order_acquire)) return;
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    pool->caller_sleeps = 1;
    while (atomic_load(&pool->busy)) pthread_cond_wait(&pool->done, &pool->lock);
    pool->caller_sleeps = 0;
    pthread_mutex_unlock(&pool->lock);
}

Pool* pool_create(int32_t threads) {
    Pool* pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    pool->threads = 1;
    pool->process = getpid();
    atomic_store(&pool->round, FIRST_ROUND);
    pool->members = calloc((size_t)threads, sizeof *pool->members);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    sigset_t all, before;    // but for faults, signals are the creator's
    sigfillset(&all);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; pool->members && pool->threads < threads; pool->threads++) {
        Member* member = &pool->members[pool->threads];
        member->pool = pool;
        member->worker = pool->threads;
        if (pthread_create(&member->thread, NULL, work, member)) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pool->members && pool->threads == threads) return pool;
    pool_destroy(pool);
    return NULL;
}

void pool_destroy(Pool* pool) {
    if (!pool) return;
    if (pool->process != getpid()) {    // locks may be held by threads that are not here
        free(pool->members);
        free(pool);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->closing = 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 1; i < pool->threads; i++) pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool->members);
    free(pool);
}

int32_t pool_threads(const Pool* pool) { return pool->threads; }
