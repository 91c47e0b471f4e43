/* elevator.h -- three lifts carry people through a building.  One agent, three heads.
 *
 *      5 |   [ ]     |  o o            [3]  a lift with three riders
 *      4 |           |  o               o   somebody who waits on that floor
 *      3 |       [3] |
 *      2 |           |  o o o          A lift goes up or down a floor a tick, or stops and
 *      1 |           |                 opens: those who have arrived get out, and those who
 *      0 |[1]        |  o o o o o      wait get in, first come first served, while there is
 *                                      room.
 *
 * People come at random, many of them at the ground floor, and want to go to some other floor.
 * Who waits longer than `patience` takes the stairs and is lost, as is who finds the queue of
 * a floor full. A shift lasts `shift` ticks; with more than `max_lost` people lost it ends at
 * once. Both are terminals: the agent sees the clock and the number of lost people.
 *
 * Units: floors from 0 at the bottom, time in ticks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>             // uint64_t
#include <stdlib.h>             // calloc, free
#include <string.h>             // memmove, memset
#ifndef PUFFER_DEVICE           // an env that lives on the GPU is not drawn there
#include "raylib.h"
#endif

//-- Interface: what the agent sees and does --------------------------------------
#define LIFTS 3
// Floats, in this order, all of them in [0, 1]
//     each floor    waiting to go up / queue_size   waiting to go down / queue_size
//                   longest wait there / patience
//     each lift     floor / (floors - 1)   riders / capacity   1 if its door is open
//                   for each floor: riders who want to go there / capacity
//     tick / shift   people lost / (max_lost + 1)
#define OBS_SIZE (3 * env->floors + LIFTS * (3 + env->floors) + 2)

enum {                          // what a lift does, one head each
    ACT_OPEN,
    ACT_UP,                     // stays where it is at the top,
    ACT_DOWN,                   // and at the bottom
    ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT, ACT_COUNT, ACT_COUNT}

//-- State: one building ------------------------------------------------------------
typedef struct Log {            // sums over finished episodes, divided by n when reported
    float perf;                 // [0, 1]  share of the people of a whole shift: see finish
    float score;                // people delivered
    float episode_return;       // what the trainer maximises
    float episode_length;       // ticks
    float wait;                 // ticks that the delivered had waited for a lift, on average
    float lost;                 // people lost
    float n;                    // episodes summed here; must stay the last field
} Log;

typedef struct Person {
    int to;                     // floor
    int waited;                 // ticks in the queue
} Person;

typedef struct Lift {
    int floor;
    int load;                   // riders
    bool open;                  // it did ACT_OPEN on the last tick
} Lift;

typedef struct Elevator {
    // Shared with the trainer, which owns the arrays: fill them, never free them
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [LIFTS]  an ACT_ value for each lift
    float* rewards;             // out [1]
    float* terminals;           // out [1]  1 on the step that ended an episode, else 0
    int num_agents;             // always 1
    unsigned int rng;           // this copy's seed, then its generator state

    // Settings, from [env] in elevator.ini: matched by name, set before init
    int floors;                 // at least 2
    int queue_size;             // people who can wait on a floor
    int capacity;               // riders of a lift
    int shift;                  // ticks
    int patience;               // ticks
    int max_lost;               // people
    float arrival;              // [0, 1]  probability that somebody comes, per tick
    float lobby;                // [0, 1]  share of people who come at the ground floor
    float reward_delivered;
    float reward_lost;          // below 0
    float reward_failed;        // below 0: too many were lost

    // From init to c_close
    Person* queues;             // (floors, queue_size)  first in the queue first
    int* waiting;               // (floors)              how many of them there are
    Person* riders;             // (LIFTS, capacity)     in no order

    // Private to this file. c_reset sets all of it, and what the arrays hold
    Lift lifts[LIFTS];
    int tick;
    int came, delivered, lost;  // people of this shift
    int total_wait;             // ticks, of those delivered
    float episode_return;
} Elevator;

// Uniform in [0, 2^24): the state lives in the env, so an episode depends only on its seed
static inline unsigned int random_bits(unsigned int* rng) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    return (bits ^ (bits >> 15)) >> 8;
}

// Uniform in [0, count)
static inline int random_below(unsigned int* rng, int count) {
    return (int)(((uint64_t)random_bits(rng) * (uint64_t)count) >> 24);
}

static inline bool chance(unsigned int* rng, float probability) {
    return (float)random_bits(rng) / 16777216.0f < probability;
}

static inline Person* queue_of(const Elevator* env, int floor) {
    return env->queues + (size_t)floor * (size_t)env->queue_size;
}

static inline Person* riders_of(const Elevator* env, int lift) {
    return env->riders + (size_t)lift * (size_t)env->capacity;
}

// Takes somebody out of a queue; who stands behind moves up
static Person leave_queue(Elevator* env, int floor, int place) {
    Person* queue = queue_of(env, floor);
    Person person = queue[place];
    int behind = env->waiting[floor] - place - 1;
    memmove(queue + place, queue + place + 1, (size_t)behind * sizeof(Person));
    env->waiting[floor] -= 1;
    return person;
}

//-- What the agent sees: every float, in the order that OBS_SIZE documents ---------
static void observe(Elevator* env) {
    const float places = (float)env->queue_size, seats = (float)env->capacity;
    float* obs = env->observations;
    for (int floor = 0; floor < env->floors; floor++) {
        const Person* queue = queue_of(env, floor);
        int up = 0, longest = 0;
        for (int i = 0; i < env->waiting[floor]; i++) {
            up += queue[i].to > floor;
            longest = queue[i].waited > longest ? queue[i].waited : longest;
        }
        *obs++ = (float)up / places;
        *obs++ = (float)(env->waiting[floor] - up) / places;
        *obs++ = (float)longest / (float)env->patience;
    }
    for (int a = 0; a < LIFTS; a++) {
        const Lift* lift = &env->lifts[a];
        const Person* riders = riders_of(env, a);
        *obs++ = (float)lift->floor / (float)(env->floors - 1);
        *obs++ = (float)lift->load / seats;
        *obs++ = lift->open ? 1.0f : 0.0f;
        memset(obs, 0, (size_t)env->floors * sizeof(float));
        for (int i = 0; i < lift->load; i++) {
            obs[riders[i].to] += 1.0f;
        }
        for (int floor = 0; floor < env->floors; floor++) {
            *obs++ /= seats;
        }
    }
    *obs++ = (float)env->tick / (float)env->shift;
    *obs++ = (float)env->lost / (float)(env->max_lost + 1);
}

//-- Functions: init, c_close, then the two that matter -----------------------------
// Runs once, when the settings are known. The shared arrays are not bound yet
void init(Elevator* env) {
    env->floors = env->floors < 2 ? 2 : env->floors;
    env->queue_size = env->queue_size < 1 ? 1 : env->queue_size;
    env->capacity = env->capacity < 1 ? 1 : env->capacity;
    env->shift = env->shift < 1 ? 1 : env->shift;
    env->patience = env->patience < 1 ? 1 : env->patience;
    env->max_lost = env->max_lost < 0 ? 0 : env->max_lost;
    size_t floors = (size_t)env->floors;
    env->queues = (Person*)calloc(floors * (size_t)env->queue_size, sizeof(Person));
    env->waiting = (int*)calloc(floors, sizeof(int));
    env->riders = (Person*)calloc(LIFTS * (size_t)env->capacity, sizeof(Person));
}

// Runs last. Free what init allocated, and nothing else
void c_close(Elevator* env) {
    free(env->queues);
    free(env->waiting);
    free(env->riders);
}

// Begin a shift: nobody waits, the lifts are empty and somewhere. Leaves rewards and terminals
// alone: when c_step calls this, they still describe the step that just ended
void c_reset(Elevator* env) {
    for (int floor = 0; floor < env->floors; floor++) {
        env->waiting[floor] = 0;
    }
    for (int a = 0; a < LIFTS; a++) {
        Lift* lift = &env->lifts[a];
        lift->floor = random_below(&env->rng, env->floors);
        lift->load = 0;
        lift->open = false;
    }
    env->tick = 0;
    env->came = env->delivered = env->lost = 0;
    env->total_wait = 0;
    env->episode_return = 0.0f;
    observe(env);
}

// The door opens: out, then in. Returns how many got out
static int exchange(Elevator* env, int a) {
    Lift* lift = &env->lifts[a];
    Person* riders = riders_of(env, a);
    int out = 0;
    for (int i = lift->load - 1; i >= 0; i--) {
        if (riders[i].to == lift->floor) {
            env->total_wait += riders[i].waited;
            lift->load -= 1;
            riders[i] = riders[lift->load];
            out += 1;
        }
    }
    while (lift->load < env->capacity && env->waiting[lift->floor] > 0) {
        riders[lift->load] = leave_queue(env, lift->floor, 0);
        lift->load += 1;
    }
    return out;
}

// One lift's tick. Returns how many people it delivered
static int move(Elevator* env, int a, int action) {
    Lift* lift = &env->lifts[a];
    lift->open = action == ACT_OPEN;
    if (lift->open) {
        return exchange(env, a);
    }
    int next = lift->floor + (action == ACT_UP ? 1 : -1);
    if (next >= 0 && next < env->floors) {
        lift->floor = next;
    }
    return 0;
}

// Everybody waits a tick longer. Returns how many lose patience
static int lose_patience(Elevator* env) {
    int gone = 0;
    for (int floor = 0; floor < env->floors; floor++) {
        for (int i = env->waiting[floor] - 1; i >= 0; i--) {
            Person* person = &queue_of(env, floor)[i];
            person->waited += 1;
            if (person->waited > env->patience) {
                leave_queue(env, floor, i);
                gone += 1;
            }
        }
    }
    return gone;
}

// Perhaps somebody comes. Returns 1 if they find the queue full, else 0
static int arrive(Elevator* env) {
    if (!chance(&env->rng, env->arrival)) return 0;
    int from = chance(&env->rng, env->lobby) ? 0 : random_below(&env->rng, env->floors);
    int to = (from + 1 + random_below(&env->rng, env->floors - 1)) % env->floors;
    env->came += 1;
    if (env->waiting[from] >= env->queue_size) {
        return 1;
    }
    Person person = {to, 0};
    queue_of(env, from)[env->waiting[from]] = person;
    env->waiting[from] += 1;
    return 0;
}

// perf: the share of those who came that was delivered, times the share of the shift that was
// worked. Those still on their way at the end count against it, as they do for everybody
static void finish(Elevator* env) {
    float share = env->came > 0 ? (float)env->delivered / (float)env->came : 1.0f;
    env->log.perf += share * (float)env->tick / (float)env->shift;
    env->log.score += (float)env->delivered;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.wait += env->delivered > 0 ? (float)env->total_wait / (float)env->delivered : 0.0f;
    env->log.lost += (float)env->lost;
    env->log.n += 1.0f;
}

// Advance one tick: the lifts in order, then those who wait, then those who come
void c_step(Elevator* env) {
    int delivered = 0;
    for (int a = 0; a < LIFTS; a++) {
        delivered += move(env, a, (int)env->actions[a]);
    }
    int lost = lose_patience(env);
    lost += arrive(env);
    env->delivered += delivered;
    env->lost += lost;
    env->tick += 1;

    bool failed = env->lost > env->max_lost, over = failed || env->tick >= env->shift;
    float reward = env->reward_delivered * (float)delivered + env->reward_lost * (float)lost;
    if (failed) reward += env->reward_failed;
    env->rewards[0] = reward;
    env->terminals[0] = over ? 1.0f : 0.0f;
    env->episode_return += reward;
    if (!over) {
        observe(env);
        return;
    }
    finish(env);
    c_reset(env);               // the next observation opens the next shift
}

//-- Drawing: reads the state and never changes it ----------------------------------
#ifndef PUFFER_DEVICE
void c_render(Elevator* env) {
    const Color night = {16, 24, 32, 255}, shaft = {30, 44, 56, 255};
    const Color gold = {255, 190, 60, 255}, teal = {0, 205, 190, 255};
    const int hud = 44, tile = 64, across = 90 * LIFTS + 24 * env->queue_size + 40;
    if (!IsWindowReady()) {
        InitWindow(across, hud + env->floors * tile, "elevator");
        SetTargetFPS(8);
    }

    BeginDrawing();
    ClearBackground(night);
    for (int floor = 0; floor < env->floors; floor++) {
        int y = hud + (env->floors - 1 - floor) * tile;
        DrawRectangle(0, y + 2, 90 * LIFTS, tile - 4, shaft);
        for (int i = 0; i < env->waiting[floor]; i++) {
            DrawText(TextFormat("%d", queue_of(env, floor)[i].to), 90 * LIFTS + 20 + 24 * i,
                     y + 22, 20, gold);
        }
    }
    for (int a = 0; a < LIFTS; a++) {
        const Lift* lift = &env->lifts[a];
        int x = 90 * a + 10, y = hud + (env->floors - 1 - lift->floor) * tile;
        DrawRectangle(x, y + 6, 70, tile - 12, lift->open ? RAYWHITE : teal);
        DrawText(TextFormat("%d", lift->load), x + 28, y + 22, 20, night);
    }
    DrawText(TextFormat("tick %d  delivered %d  lost %d", env->tick, env->delivered, env->lost),
             12, 12, 20, RAYWHITE);
    EndDrawing();
}
#endif
