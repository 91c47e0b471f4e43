/* relay.h -- a team carries a baton over a course of hurdles.  Agents that leave and come
 * back, two discrete actions each.
 *
 *      leg 0       leg 1       leg 2
 *      . . . . . . . . . . . . . . . . . . |      * 1 2   the runners; * has the baton
 *      . . * # . . 1 . . . . . 2 . . # . . |      #       a hurdle: nobody gets over it
 *      . . . . . . . # . . . . . # . . . . |      |       the finish, a column as well
 *      . # . . . . . . . . . . . . . . . . |
 *
 * Runner i may be on leg i only: the columns from i * leg to (i + 1) * leg. Both legs that meet
 * in a column share it, and there the baton changes hands: the runner who has it passes, the next
 * one takes, in the same tick, next to each other or on the same tile (runners do not block each
 * other). Who has passed the baton on is done, and leaves. The last one carries it over the
 * finish. Then, or when the time is up, all of them come back for the next race.
 *
 * In a tick hands come first, then feet. So both masks are about what was observed.
 *
 * An odd column of a leg has one hurdle or none, an even column none: there is always a way.
 *
 * Units: length in tiles, time in ticks. Rows count downward.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define VIEW         2          // tiles that a runner sees each way
#define WINDOW       (2 * VIEW + 1)
#define FAR          10         // offsets are cut off here
#define CLOCK        20         // parts that the race's time is divided into

// What a runner sees: bytes. Offsets are FAR for "here", less to the left or above
enum {
    OBS_TILES,                              // grid WINDOW x WINDOW of 4 ids: the tiles around
    OBS_AHEAD = OBS_TILES + WINDOW * WINDOW,    // [0, 20]  columns to the end of the leg
    OBS_ROW,                                // [0, 20]  tiles above it
    OBS_HAS_BATON,                          // 2 ids    1: has the baton
    OBS_IS_LAST,                            // 2 ids    1: carries it over the finish
    OBS_BATON_X,                            // [0, 20]  where the baton is: FAR + columns
    OBS_BATON_Y,                            // [0, 20]  FAR + rows
    OBS_NEXT_X,                             // [0, 20]  where the next runner is, or FAR for
    OBS_NEXT_Y,                             // [0, 20]  both if there is none
    OBS_CLOCK,                              // [0, 20]  how much of the time is over
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum {                          // what a byte of the tiles means
    TILE_OPEN,
    TILE_MATE,                  // another runner stands there
    TILE_HURDLE,
    TILE_OFF,                   // not on the leg of the one who looks
};

enum { GO_STAY, GO_LEFT, GO_RIGHT, GO_UP, GO_DOWN, GO_COUNT };      // head 0
enum { HAND_NOTHING, HAND_PASS, HAND_TAKE, HAND_COUNT };            // head 1
#define ACT_SIZES {GO_COUNT, HAND_COUNT}
enum { HEAD_GO, HEAD_HAND, HEAD_COUNT };
#define MASK_SIZE (GO_COUNT + HAND_COUNT)

typedef struct Log {            // sums over runners who were done or out of time
    float perf;                 // [0, 1]  1: passed the baton on or carried it home, 0: did not
    float score;                // columns that this runner carried the baton forward
    float episode_return;       // sum of that runner's rewards
    float episode_length;       // ticks that it was on the course
    float n;
} Log;

typedef struct Runner {
    int row, col;
    int carried;                // columns that it brought the baton ahead
    float race_return;
} Runner;

typedef struct Relay {
    Log log;
    unsigned char* observations;    // (num_agents, OBS_SIZE)
    float* actions;                 // (num_agents, HEAD_COUNT)
    float* rewards;                 // (num_agents)
    float* terminals;               // (num_agents)
    unsigned char* action_mask;     // (num_agents, MASK_SIZE)  head 0, then head 1
    unsigned char* alive;           // (num_agents)
    unsigned int rng;

    // [env]
    int num_agents;             // runners of the team
    int rows;
    int leg;                    // columns from one exchange to the next
    int hurdles;                // percent of the odd columns that have one
    int limit;                  // ticks of a race
    float reward_ahead;         // for a column that the baton comes ahead
    float reward_pass;          // for each of the two who hand it over
    float reward_finish;
    float reward_late;          // for all who are still there when the time is up

    Runner* runners;            // (num_agents)         from init to c_close
    unsigned char* hurdle;      // (rows, columns)      1 where one stands; the same
    int carrier;                // who has the baton
    int best;                   // the farthest column that the baton has seen
    int tick;
} Relay;

// Uniform in [0, count)
static inline int random_below(unsigned int* rng, int count) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((uint64_t)bits * (uint64_t)count) >> 32);
}

static inline int num_columns(const Relay* env) {
    return env->num_agents * env->leg + 1;      // the last one is the finish
}

// Whether runner r may stand there
static inline bool may_stand(const Relay* env, int r, int row, int col) {
    return row >= 0 && row < env->rows && col >= r * env->leg && col <= (r + 1) * env->leg
        && !env->hurdle[row * num_columns(env) + col];
}

static inline void target(const Runner* runner, int way, int* row, int* col) {
    *row = runner->row + (way == GO_DOWN) - (way == GO_UP);
    *col = runner->col + (way == GO_RIGHT) - (way == GO_LEFT);
}

static inline unsigned char offset(int from, int to) {
    int tiles = to - from;
    return (unsigned char)(FAR + (tiles < -FAR ? -FAR : tiles > FAR ? FAR : tiles));
}

static inline unsigned char at_most(int value, int limit) {
    return (unsigned char)(value < limit ? value : limit);
}

static void observe_tiles(const Relay* env, int r, unsigned char* out) {
    const Runner* self = &env->runners[r];
    for (int y = -VIEW; y <= VIEW; y++) {
        for (int x = -VIEW; x <= VIEW; x++) {
            int row = self->row + y, col = self->col + x;
            bool outside = row < 0 || row >= env->rows || col < r * env->leg
                        || col > (r + 1) * env->leg;
            *out++ = outside ? TILE_OFF
                   : env->hurdle[row * num_columns(env) + col] ? TILE_HURDLE : TILE_OPEN;
        }
    }
}

// Whether there is a next runner, who stands on the carrier's tile or next to it
static bool in_reach(const Relay* env) {
    const Runner* from = &env->runners[env->carrier];
    const Runner* to = from + 1;
    return env->carrier + 1 < env->num_agents
        && abs(from->row - to->row) + abs(from->col - to->col) <= 1;
}

static void observe(Relay* env, int r) {
    const Runner* self = &env->runners[r];
    unsigned char* row = env->observations + (size_t)r * OBS_SIZE;
    observe_tiles(env, r, row + OBS_TILES);
    for (int i = 0; i < env->num_agents; i++) {
        int y = env->runners[i].row - self->row, x = env->runners[i].col - self->col;
        bool near = y >= -VIEW && y <= VIEW && x >= -VIEW && x <= VIEW;
        if (i != r && env->alive[i] && near) {
            int tile = OBS_TILES + (y + VIEW) * WINDOW + x + VIEW;
            if (row[tile] != TILE_OFF) row[tile] = TILE_MATE;
        }
    }
    const Runner* carrier = &env->runners[env->carrier];
    bool last = r == env->num_agents - 1;
    const Runner* next = last ? self : self + 1;
    row[OBS_AHEAD] = at_most((r + 1) * env->leg - self->col, 20);
    row[OBS_ROW] = at_most(self->row, 20);
    row[OBS_HAS_BATON] = r == env->carrier;
    row[OBS_IS_LAST] = last;
    row[OBS_BATON_X] = offset(self->col, carrier->col);
    row[OBS_BATON_Y] = offset(self->row, carrier->row);
    row[OBS_NEXT_X] = offset(self->col, next->col);
    row[OBS_NEXT_Y] = offset(self->row, next->row);
    row[OBS_CLOCK] = (unsigned char)(CLOCK * env->tick / env->limit);

    // Standing still and doing nothing with the hands are always legal
    unsigned char* mask = env->action_mask + r * MASK_SIZE;
    for (int way = 0; way < GO_COUNT; way++) {
        int to_row, to_col;
        target(self, way, &to_row, &to_col);
        mask[way] = may_stand(env, r, to_row, to_col);
    }
    mask[GO_COUNT + HAND_NOTHING] = 1;
    mask[GO_COUNT + HAND_PASS] = r == env->carrier && in_reach(env);
    mask[GO_COUNT + HAND_TAKE] = r == env->carrier + 1 && in_reach(env);
}

void init(Relay* env) {
    if (env->leg < 1) env->leg = 1;
    if (env->limit < 1) env->limit = 1;
    env->runners = (Runner*)calloc((size_t)env->num_agents, sizeof(Runner));
    env->hurdle = (unsigned char*)calloc((size_t)env->rows * (size_t)num_columns(env), 1);
}

void c_close(Relay* env) {
    free(env->runners);
    free(env->hurdle);
}

// Begins a race: a new course, and all runners at the beginning of their legs
void c_reset(Relay* env) {
    memset(env->hurdle, 0, (size_t)env->rows * (size_t)num_columns(env));
    for (int col = 0; col < num_columns(env); col++) {
        bool odd = col % env->leg % 2 == 1 && env->rows > 1;    // with one row, no way round
        if (odd && random_below(&env->rng, 100) < env->hurdles) {
            env->hurdle[random_below(&env->rng, env->rows) * num_columns(env) + col] = 1;
        }
    }
    for (int r = 0; r < env->num_agents; r++) {
        Runner* runner = &env->runners[r];
        runner->row = random_below(&env->rng, env->rows);
        runner->col = r * env->leg;
        runner->carried = 0;
        runner->race_return = 0.0f;
        env->alive[r] = 1;
    }
    env->carrier = 0;
    env->best = 0;
    env->tick = 0;
    for (int r = 0; r < env->num_agents; r++) {
        observe(env, r);
    }
}

// The runner is done, or out of time: its race is over, and it is gone until the next one
static void leave(Relay* env, int r, bool success) {
    Runner* runner = &env->runners[r];
    env->terminals[r] = 1.0f;
    env->alive[r] = 0;
    env->log.perf += success ? 1.0f : 0.0f;
    env->log.score += (float)runner->carried;
    env->log.episode_return += runner->race_return + env->rewards[r];
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

// Who has it passes, the next one takes: then the baton changes hands, and the one who had it is
// done. If only one of them does, nothing happens
static void hand_over(Relay* env) {
    int from = env->carrier, to = from + 1;
    if (!in_reach(env)
            || (int)env->actions[from * HEAD_COUNT + HEAD_HAND] != HAND_PASS
            || (int)env->actions[to * HEAD_COUNT + HEAD_HAND] != HAND_TAKE) {
        return;
    }
    env->rewards[from] += env->reward_pass;
    env->rewards[to] += env->reward_pass;
    leave(env, from, true);
    env->carrier = to;
}

// The baton is as far as its carrier: columns that it has never seen are rewarded
static void bring_ahead(Relay* env) {
    Runner* runner = &env->runners[env->carrier];
    int ahead = runner->col - env->best;
    if (ahead > 0) {
        env->best = runner->col;
        runner->carried += ahead;
        env->rewards[env->carrier] += env->reward_ahead * (float)ahead;
    }
}

// One tick: the baton changes hands, runners go, the race ends or goes on
void c_step(Relay* env) {
    env->tick += 1;
    memset(env->rewards, 0, (size_t)env->num_agents * sizeof(float));
    memset(env->terminals, 0, (size_t)env->num_agents * sizeof(float));
    hand_over(env);
    for (int r = 0; r < env->num_agents; r++) {
        if (!env->alive[r]) continue;
        int row, col;
        target(&env->runners[r], (int)env->actions[r * HEAD_COUNT + HEAD_GO], &row, &col);
        if (may_stand(env, r, row, col)) {
            env->runners[r].row = row;
            env->runners[r].col = col;
        }
    }
    bring_ahead(env);
    bool home = env->best == num_columns(env) - 1;
    bool late = env->tick >= env->limit && !home;
    if (home) {
        env->rewards[env->carrier] += env->reward_finish;
        leave(env, env->carrier, true);
    }
    for (int r = 0; r < env->num_agents; r++) {
        if (late && env->alive[r]) {
            env->rewards[r] += env->reward_late;
            leave(env, r, false);
        }
        env->runners[r].race_return += env->rewards[r];
    }
    if (home || late) {
        c_reset(env);               // all come back, and see the next race
        return;
    }
    for (int r = 0; r < env->num_agents; r++) {
        if (env->alive[r]) observe(env, r);
    }
}

void c_render(Relay* env) {
    const Color night = {16, 24, 32, 255}, lane = {30, 44, 56, 255}, wall = {150, 105, 60, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255};
    const int tile = 28, hud = 36, columns = num_columns(env);
    if (!IsWindowReady()) {
        InitWindow(tile * columns, hud + tile * env->rows, "relay");
        SetTargetFPS(8);
    }
    BeginDrawing();
    ClearBackground(night);
    for (int row = 0; row < env->rows; row++) {
        for (int col = 0; col < columns; col++) {
            Color paint = env->hurdle[row * columns + col] ? wall : lane;
            DrawRectangle(col * tile + 1, hud + row * tile + 1, tile - 2, tile - 2, paint);
        }
    }
    for (int r = 0; r < env->num_agents; r++) {
        if (env->alive[r]) {
            DrawCircle(env->runners[r].col * tile + tile / 2,
                       hud + env->runners[r].row * tile + tile / 2, 10.0f,
                       r == env->carrier ? gold : teal);
        }
    }
    DrawText(TextFormat("tick %d of %d", env->tick, env->limit), 10, 8, 20, RAYWHITE);
    EndDrawing();
}
