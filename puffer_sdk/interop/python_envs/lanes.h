/* lanes.h -- environments in worker processes, as the trainer steps them.
 *
 * A lane is one worker process and the envs in it. Both sides see its two counters in shared
 * memory: `go` says which step is wanted, `done` which one has been made. Who waits spins for a
 * moment, then sleeps in the kernel (a futex; on macOS, __ulock_wait).
 *
 *     parent    writes actions and `command`, then posts go = n, and waits until done = n
 *     worker    waits until go = n, works, writes its rows, then posts done = n
 *
 * What a worker does is written where the parent can read it at any time: `env`, `phase`, and a
 * `pulse` that changes with each step. So a parent that waits knows which env hangs.
 *
 * A lane that is late or dead is the business of a thread of the parent, the monitor (monitor.py).
 * It starts another process for the lane, whose first answer is the one that is waited for, or
 * makes the lane LANE_SILENT or LANE_DEAD for good. Who waits goes on waiting until then.
 */
#pragma once
#include "puffer_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {    // what a worker is asked for
    LANE_STEP,
    LANE_RESET,
    LANE_CALL    // a message waits in the lane's socket
};

enum {    // how a lane is
    LANE_FINE,
    LANE_RAISED,     // an exception waits in the lane's socket
    LANE_DEAD,       // its process has ended
    LANE_SILENT,     // it has made no progress for too long
    LANE_LATE,       // the same, seen by who waits for it; the monitor decides what becomes of it
    LANE_REPLACED    // the monitor starts another process in its place
};

typedef struct LaneCounter {    // a cache line
    int32_t value;
    int32_t sleeper;    // 1: somebody sleeps until the value changes
    char pad[56];
} LaneCounter;

typedef struct Lane {
    LaneCounter go, done;
    int32_t command;
    int32_t state;    // LANE_FINE, ...
    int64_t env;      // that the worker is in: its index over all lanes
    int64_t pulse;    // changes with each step: this and `env` say that the worker gets on
    int32_t phase;    // PUFFER_INIT, PUFFER_RESET, PUFFER_STEP, ...
    int32_t pad[9];
} Lane;

typedef struct Lanes {    // the parent's side
    Lane* lanes;          // [count]
    LaneCounter* bell;    // changes whenever a lane is done
    int32_t* sent;        // [count] the last value of go
    int32_t count;
    int32_t num_envs;
    int32_t spins;               // times to look before sleeping
    int32_t bad_lane;            // the first lane that failed, or -1
    int32_t bad_state;           // how
    int64_t bad_step;            // in which step, as the watch counts them
    int64_t limit;               // nanoseconds without progress after which a lane is late
    int64_t reset_limit;         // the same in a reset
    int64_t* since;              // [count] when a lane that is waited for last made progress, or 0
    int64_t* progress;           // [count] how far it was then
    const uint32_t* seeds;       // [num_envs]
    const int64_t* first_row;    // [num_envs + 1]
} Lanes;

// For a worker: 0 once the counter is `wanted`, 1 after `timeout` nanoseconds
int32_t lane_wait(LaneCounter* counter, int32_t wanted, int32_t spins, int64_t timeout);
void lane_post(LaneCounter* counter, int32_t value);
void lane_ring(LaneCounter* bell);

// For the parent. Ranges are of lanes. 0, or -1 with bad_lane and bad_state set
void lanes_send(Lanes* lanes, int32_t first, int32_t count, int32_t command);
int32_t lanes_receive(Lanes* lanes, int32_t first, int32_t count, PufferWatch* watch);
int32_t lanes_ready(const Lanes* lanes, int32_t lane);
// Waits until `wanted` of the lanes with busy[lane] are done; -1 as above
int32_t lanes_any(Lanes* lanes, const unsigned char* busy, int32_t wanted);

// How VecEnv (every step takes all envs) and a trainer (an env is a lane) step them
const PufferApi* lanes_api(void);
const PufferApi* lanes_api_free(void);

#ifdef __cplusplus
}
#endif
