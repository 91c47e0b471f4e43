/* pool.h -- a team of threads that takes the items of a job one by one, and sleeps in between.
 *
 * Which worker gets which item is chance: a job's items write to places of their own, so that
 * the result does not depend on it. The caller is worker 0. */
#pragma once
#include <stdint.h>

typedef struct Pool Pool;
typedef void (*PoolJob)(void* about, int32_t item, int32_t worker);

Pool* pool_create(int32_t threads);    // NULL when the system cannot start them
void pool_destroy(Pool* pool);
int32_t pool_threads(const Pool* pool);

// Runs job(about, i, worker) for each i in [0, items), and returns when all are done
void pool_run(Pool* pool, PoolJob job, void* about, int32_t items);
