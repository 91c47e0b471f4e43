/* foundry.h -- run a small foundry.  One agent, three heads of discrete actions.
 *
 *     truck --> [ ore ] --> furnace --> [ metal ] --> customers, first come, first served
 *
 * Each tick the manager may send the truck for ore, sets the furnace, and names the price that the
 * next customers are promised. Ore is paid when the truck leaves and comes TRUCK_TICKS later; there
 * is one truck. A hot furnace wears; a worn one breaks down, and then stands still much longer than
 * for a service. Demand has a season. Customers who wait too long walk off.
 *
 * The foundry is bankrupt where the cash falls below 0, and made where it reaches `rich`: both end
 * the episode. After `time_limit` ticks it is cut off: the manager does not see that clock, so this
 * is a truncation, and final_observations holds what was seen last.
 */
#pragma once

#include <math.h>               // sinf, cosf, fminf, fmaxf
#include <stdbool.h>
#include <stdlib.h>             // calloc, free
#include <string.h>             // memmove
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

//-- What the agent sees and does -------------------------------------------------
enum {
    OBS_ORE,                    // [0, 1]   ore in the yard, share of ORE_CAP
    OBS_METAL,                  // [0, 1]   metal in the store, share of METAL_CAP
    OBS_TRUCK_LOAD,             // [0, 1]   lots on the truck, share of the most; 0 if it is here
    OBS_TRUCK_ETA,              // [0, 1]   ticks until it is here, share of TRUCK_TICKS
    OBS_WEAR,                   // [0, 1]   of the furnace: 0 as new
    OBS_DOWN,                   // [0, 1]   ticks that it stands still, share of REPAIR_TICKS
    OBS_CASH,                   // [0, 1]   share of `rich`
    OBS_SEASON,                 // [-1, 1]  sine, then cosine, of the time of the year
    OBS_QUEUE = OBS_SEASON + 2  // [0, 1]   list env->queue_slots x 4, mask 0
};                              // a slot: is there a customer, size, patience left, price
#define SLOT_SIZE 4
#define OBS_SIZE (OBS_QUEUE + env->queue_slots * SLOT_SIZE)

enum { ORDER_NONE, ORDER_ONE, ORDER_TWO, ORDER_THREE, ORDER_COUNT };            // lots of ore
enum { FURNACE_OFF, FURNACE_LOW, FURNACE_HIGH, FURNACE_SERVICE, FURNACE_COUNT };
enum { PRICE_LOW, PRICE_FAIR, PRICE_DEAR, PRICE_COUNT };        // promised to new customers
#define ACT_SIZES {ORDER_COUNT, FURNACE_COUNT, PRICE_COUNT}

//-- Rules that are no settings ---------------------------------------------------
#define ORE_CAP       40
#define METAL_CAP     24
#define TRUCK_TICKS   6
#define SERVICE_TICKS 4
#define REPAIR_TICKS  12
#define SEASON_TICKS  60
#define SEASON_SWING  0.6f      // demand rises and falls by this share
#define MOST_PIECES   3         // pieces of metal that one customer wants: 1 to 3
#define BREAK_RATE    0.10f     // chance of a breakdown in a tick, where the wear is 1
#define LOST_REWARD   (-0.1f)   // for each customer who walks off
#define END_REWARD    1.0f      // made: plus, bankrupt: minus

static const float PRICES[PRICE_COUNT] = {3.0f, 4.0f, 5.0f};
static const float APPEAL[PRICE_COUNT] = {1.3f, 1.0f, 0.6f};            // more or fewer come
static const float WEAR[FURNACE_COUNT] = {0.0f, 0.008f, 0.03f, 0.0f};  // of a tick at work

//-- State ------------------------------------------------------------------------
typedef struct Log {
    float perf;                 // [0, 1]  cash at the end, share of `rich`
    float score;                // cash at the end
    float episode_return;
    float episode_length;       // ticks
    float n;                    // episodes
} Log;

typedef struct Customer {
    int size;                   // pieces
    int patience;               // ticks that are left
    int price;                  // a PRICE_, promised on arrival
} Customer;

typedef struct Foundry {
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [3]  an ORDER_, a FURNACE_, a PRICE_
    float* rewards;             // out [1]
    float* terminals;           // out [1]
    float* truncations;         // out [1]  1 where the time limit ended the episode
    float* final_observations;  // out [OBS_SIZE]  written with a truncation
    unsigned char* action_mask; // out [ORDER_COUNT + FURNACE_COUNT + PRICE_COUNT]
    int num_agents;
    unsigned int rng;

    // Settings
    int queue_slots;            // customers who can wait
    int patience;               // ticks, at most
    int time_limit;             // ticks
    int lot;                    // ore in a lot
    float lot_cost, service_cost, repair_cost;
    float upkeep, holding;      // a tick; a tick and piece in stock
    float demand;               // chance of a customer in a tick, at a fair price
    float start_cash, rich;
    float reward_scale;         // cash that is worth a reward of 1

    // The episode
    Customer* queue;            // (queue_slots), the first `waiting` are real
    int waiting;
    int ore, metal, truck_lots, truck_eta, tick;
    int down;                   // ticks that the furnace still stands
    int season;                 // [0, SEASON_TICKS)
    float wear, cash, episode_return;
} Foundry;

//-- Chance: a multiply, an add, and a stir ---------------------------------------
static inline unsigned int dice(Foundry* env) {
    env->rng = env->rng * 1664525u + 1013904223u;
    unsigned int mixed = env->rng ^ (env->rng >> 16);
    mixed *= 0x7feb352du;
    return mixed ^ (mixed >> 15);
}

static inline float chance(Foundry* env) { return (float)(dice(env) >> 8) / 16777216.0f; }
static inline int below(Foundry* env, int count) { return (int)(dice(env) % (unsigned int)count); }

//-- What is shown ----------------------------------------------------------------
static inline float share(float part, float whole) {
    return fminf(fmaxf(part / whole, 0.0f), 1.0f);
}

static inline void observe(const Foundry* env, float* out) {
    float angle = 6.2831853f * (float)env->season / SEASON_TICKS;
    out[OBS_ORE] = share((float)env->ore, ORE_CAP);
    out[OBS_METAL] = share((float)env->metal, METAL_CAP);
    out[OBS_TRUCK_LOAD] = share((float)env->truck_lots, ORDER_COUNT - 1);
    out[OBS_TRUCK_ETA] = share((float)env->truck_eta, TRUCK_TICKS);
    out[OBS_WEAR] = share(env->wear, 1.0f);
    out[OBS_DOWN] = share((float)env->down, REPAIR_TICKS);
    out[OBS_CASH] = share(env->cash, env->rich);
    out[OBS_SEASON] = fminf(fmaxf(sinf(angle), -1.0f), 1.0f);
    out[OBS_SEASON + 1] = fminf(fmaxf(cosf(angle), -1.0f), 1.0f);
    for (int k = 0; k < env->queue_slots; k++) {
        const Customer* who = &env->queue[k];
        float* slot = out + OBS_QUEUE + k * SLOT_SIZE;
        bool there = k < env->waiting;
        slot[0] = there ? 1.0f : 0.0f;
        slot[1] = there ? share((float)who->size, MOST_PIECES) : 0.0f;
        slot[2] = there ? share((float)who->patience, (float)env->patience) : 0.0f;
        slot[3] = there ? share((float)who->price, PRICE_COUNT - 1) : 0.0f;
    }
}

static inline bool can_order(const Foundry* env, int lots) {
    return lots == ORDER_NONE
        || (env->truck_eta == 0 && env->cash >= (float)lots * env->lot_cost);
}

static inline void show_legal(Foundry* env) {
    unsigned char* furnace = env->action_mask + ORDER_COUNT;
    unsigned char* price = furnace + FURNACE_COUNT;
    bool up = env->down == 0;
    for (int n = 0; n < ORDER_COUNT; n++) env->action_mask[n] = can_order(env, n);
    for (int n = 0; n < FURNACE_COUNT; n++) furnace[n] = n == FURNACE_OFF || up;
    for (int n = 0; n < PRICE_COUNT; n++) price[n] = 1;
}

//-- The parts of a tick ----------------------------------------------------------
static inline void drive(Foundry* env) {
    if (env->truck_eta > 0 && --env->truck_eta == 0) {  // what the yard cannot hold is lost
        int total = env->ore + env->truck_lots * env->lot;
        env->ore = total < ORE_CAP ? total : ORE_CAP;
        env->truck_lots = 0;
    }
}

static inline void order(Foundry* env, int lots) {
    if (lots != ORDER_NONE && can_order(env, lots)) {
        env->cash -= (float)lots * env->lot_cost;
        env->truck_lots = lots;
        env->truck_eta = TRUCK_TICKS;
    }
}

static inline void run_furnace(Foundry* env, int level) {
    if (env->down > 0) {
        env->down -= 1;
        return;
    }
    if (level == FURNACE_SERVICE) {
        env->cash -= env->service_cost;
        env->wear = 0.0f;
        env->down = SERVICE_TICKS;
        return;
    }
    int room = METAL_CAP - env->metal, melt = level;    // low melts 1 piece a tick, high 2
    melt = melt < env->ore ? melt : env->ore;
    melt = melt < room ? melt : room;
    env->ore -= melt;
    env->metal += melt;
    env->wear = fminf(env->wear + WEAR[level], 1.0f);
    if (level != FURNACE_OFF && chance(env) < BREAK_RATE * env->wear * env->wear) {
        env->cash -= env->repair_cost;
        env->wear = 0.0f;
        env->down = REPAIR_TICKS;
    }
}

// Returns how many walked off
static inline int trade(Foundry* env, int price) {
    float angle = 6.2831853f * (float)env->season / SEASON_TICKS;
    int lost = 0, kept = 0;
    if (env->waiting > 0 && env->metal >= env->queue[0].size) {
        env->metal -= env->queue[0].size;
        env->cash += (float)env->queue[0].size * PRICES[env->queue[0].price];
        env->waiting -= 1;
        memmove(env->queue, env->queue + 1, (size_t)env->waiting * sizeof(Customer));
    }
    for (int k = 0; k < env->waiting; k++) {
        Customer who = env->queue[k];
        if (--who.patience > 0) env->queue[kept++] = who;
        else lost += 1;
    }
    env->waiting = kept;
    if (chance(env) < env->demand * APPEAL[price] * (1.0f + SEASON_SWING * sinf(angle))) {
        int patience = env->patience - below(env, env->patience / 2 + 1);
        Customer who = {1 + below(env, MOST_PIECES), patience, price};
        if (env->waiting < env->queue_slots) {
            env->queue[env->waiting++] = who;
        } else {
            lost += 1;                  // no chair is free
        }
    }
    return lost;
}

//-- init, c_close, c_reset, c_step -----------------------------------------------
void init(Foundry* env) {
    env->queue = (Customer*)calloc((size_t)env->queue_slots, sizeof(Customer));
}

void c_close(Foundry* env) {
    free(env->queue);
}

void c_reset(Foundry* env) {
    env->waiting = 0;
    env->ore = 2 * env->lot < ORE_CAP ? 2 * env->lot : ORE_CAP;
    env->metal = below(env, 5);
    env->truck_lots = env->truck_eta = 0;
    env->wear = 0.5f * chance(env);
    env->down = 0;
    env->season = below(env, SEASON_TICKS);
    env->cash = env->start_cash;
    env->episode_return = 0.0f;
    env->tick = 0;
    observe(env, env->observations);
    show_legal(env);
}

static inline void add_log(Foundry* env) {
    env->log.perf += share(env->cash, env->rich);
    env->log.score += env->cash;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

void c_step(Foundry* env) {
    int lots = (int)env->actions[0];
    int level = (int)env->actions[1];
    int price = (int)env->actions[2];
    float before = env->cash;
    drive(env);
    order(env, lots);
    run_furnace(env, level);
    int lost = trade(env, price);
    env->cash -= env->upkeep + env->holding * (float)(env->ore + env->metal);
    env->season = (env->season + 1) % SEASON_TICKS;
    env->tick += 1;

    bool bankrupt = env->cash < 0.0f, made = env->cash >= env->rich;
    bool over = bankrupt || made, late = !over && env->tick >= env->time_limit;
    env->rewards[0] = (env->cash - before) / env->reward_scale + LOST_REWARD * (float)lost;
    env->rewards[0] += made ? END_REWARD : bankrupt ? -END_REWARD : 0.0f;
    env->episode_return += env->rewards[0];
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!over && !late) {
        observe(env, env->observations);
        show_legal(env);
        return;
    }
    if (late) {
        observe(env, env->final_observations);
    }
    add_log(env);
    c_reset(env);
}

#ifndef PUFFER_DEVICE           // drawing reads the state and changes nothing
void c_render(Foundry* env) {
    if (!IsWindowReady()) {
        InitWindow(480, 240, "foundry");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    DrawRectangle(20, 220 - 4 * env->ore, 60, 4 * env->ore, BROWN);
    DrawRectangle(110, 140, 60, 80, env->down > 0 ? DARKGRAY : RED);
    DrawRectangle(200, 220 - 6 * env->metal, 60, 6 * env->metal, LIGHTGRAY);
    for (int k = 0; k < env->waiting; k++) DrawRectangle(290 + 28 * k, 200, 20, 20, SKYBLUE);
    DrawText(TextFormat("cash %.0f", (double)env->cash), 20, 12, 20, RAYWHITE);
    EndDrawing();
}
#endif
