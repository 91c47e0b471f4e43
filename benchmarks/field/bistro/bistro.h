/* bistro: three or four cooks share one small kitchen.
 *
 *      # # P # P # #       P  pot: two ingredients, then it cooks by itself, then it burns
 *      T . . . . . S       T  tomatoes    O  onions    D  plates    B  bin, for anything
 *      # . . . . . #       S  the hatch: soups that a guest has ordered go out here
 *      O . . . . . D       #  counter: holds one thing
 *      # # # B # # #       .  floor: one cook each
 *
 * A soup is named by its tomatoes: 0, 1 or 2 of two ingredients. Guests come at random, order one
 * of the three and leave when their patience ends. All cooks earn for each soup that goes out and
 * pay for each guest that leaves. The cook who hands out the soup gets a tip if it is the one that
 * this cook likes best, which nobody else knows.
 *
 * A shift ends when too many guests have left, when the quota is served, or by the clock, which
 * everybody sees. The order of what happens in a tick: guests, pots, cooks, the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "raylib.h"

#define ROWS 5
#define COLS 7
#define MAX_COOKS 4
#define POTS 2
#define KINDS 3                 // of soup
#define MAX_ORDERS 4

#define PAY_SERVED   1.0f       // to every cook
#define PAY_TIP      0.5f       // to the one at the hatch
#define PAY_PREPARED 0.1f       // to a cook who fills a pot or a plate with what somebody ordered
#define PAY_LEFT    -0.2f       // to every cook

enum { DO_WAIT, DO_NORTH, DO_SOUTH, DO_WEST, DO_EAST, DO_USE };
enum { NOTHING, TOMATO, ONION, PLATE, SOUP, THINGS = SOUP + KINDS };

// One row of bytes per cook
enum {
    SEE_X,
    SEE_Y,
    SEE_FACING,                             // 4, one of them is 1
    SEE_HAND = SEE_FACING + 4,              // THINGS, one of them is 1
    SEE_TASTE = SEE_HAND + THINGS,          // KINDS, one of them is 1: the cook's own
    SEE_MATES = SEE_TASTE + KINDS,          // the others: there, x, y, what they hold
    SEE_POTS = SEE_MATES + 4 * (MAX_COOKS - 1),     // tomatoes, onions, tenths done, ready, burnt
    SEE_ORDERS = SEE_POTS + 5 * POTS,       // there, one of KINDS, tenths of the patience used up
    SEE_COUNTERS = SEE_ORDERS + (2 + KINDS) * MAX_ORDERS,   // the thing on each tile
    SEE_CLOCK = SEE_COUNTERS + ROWS * COLS, // twentieths of the shift
    SEE_LEFT,                               // guests who may yet leave
    SEE_TODO,                               // soups to serve
    SEE_BYTES
};

typedef struct Log {
    float perf;                 // share of the quota served
    float score;                // soups served
    float episode_return;       // of one cook
    float episode_length;
    float left;                 // guests who left
    float n;                    // one per cook and shift
} Log;

typedef struct Cook {
    int x, y;
    int facing;                 // DO_NORTH to DO_EAST
    int hand;
    int taste;                  // puffer: private
    float pay;                  // of this tick
    float earned;               // in this shift
} Cook;

typedef struct Pot { int tomatoes, onions, heat; } Pot;         // heat: ticks since it was full
typedef struct Order { bool there; int kind, waited; } Order;   // waited: ticks

typedef struct Bistro {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    int arrival, patience;          // ticks from guest to guest on average; that a guest waits
    int cook_time, burn_time;       // ticks until a full pot is ready; from then until it burns
    int max_left, quota, shift;     // guests who left, soups served, ticks: each ends the shift

    Cook cooks[MAX_COOKS];
    Pot pots[POTS];
    Order orders[MAX_ORDERS];
    int on_counter[ROWS][COLS];
    int num_orders, served, left, tick;
} Bistro;

static const char KITCHEN[ROWS][COLS + 1] = {
    "##P#P##",
    "T.....S",
    "#.....#",
    "O.....D",
    "###B###",
};

static int any_of(Bistro* env, int count) {         // 0 to count - 1
    unsigned int z = (env->rng += 0x6D2B79F5u);
    z = (z ^ (z >> 15)) * 0x2C1B3C6Du;
    z = (z ^ (z >> 12)) * 0x297A2D39u;
    z ^= z >> 15;
    return (int)((uint64_t)z * (uint64_t)count >> 32);
}

static int pot_at(int x) { return x > COLS / 2; }

// A pot heats only while it is full
static bool pot_full(const Pot* pot) { return pot->tomatoes + pot->onions == 2; }
static bool pot_burnt(const Bistro* env, const Pot* pot) {
    return pot->heat >= env->cook_time + env->burn_time;
}
static bool pot_ready(const Bistro* env, const Pot* pot) {
    return pot->heat >= env->cook_time && !pot_burnt(env, pot);
}

// The guest who has waited longest for this kind of soup, or -1
static int guest_for(const Bistro* env, int kind) {
    int found = -1;
    for (int o = 0; o < MAX_ORDERS; o++) {
        const Order* order = &env->orders[o];
        if (!order->there || order->kind != kind) continue;
        if (found < 0 || order->waited > env->orders[found].waited) found = o;
    }
    return found;
}

static void look_around(Bistro* env) {
    for (int i = 0; i < env->num_agents; i++) {
        unsigned char* row = env->observations + i * SEE_BYTES;
        const Cook* cook = &env->cooks[i];
        const Cook* mate = cook;
        memset(row, 0, SEE_BYTES);
        row[SEE_X] = cook->x;
        row[SEE_Y] = cook->y;
        row[SEE_FACING + cook->facing - DO_NORTH] = 1;
        row[SEE_HAND + cook->hand] = 1;

        unsigned char* out = row + SEE_MATES;
        for (int k = 1; k < env->num_agents; k++, out += 4) {
            mate = &env->cooks[(i + k) % env->num_agents];
            out[0] = 1, out[1] = mate->x, out[2] = mate->y, out[3] = mate->hand;
        }
        row[SEE_TASTE + cook->taste] = 1;
        out = row + SEE_POTS;
        for (int p = 0; p < POTS; p++, out += 5) {
            const Pot* pot = &env->pots[p];
            int done = pot->heat < env->cook_time ? 10 * pot->heat / env->cook_time : 10;
            out[0] = pot->tomatoes, out[1] = pot->onions, out[2] = done;
            out[3] = pot_ready(env, pot), out[4] = pot_burnt(env, pot);
        }
        out = row + SEE_ORDERS;
        for (int o = 0; o < MAX_ORDERS; o++, out += 2 + KINDS) {
            const Order* order = &env->orders[o];
            if (!order->there) continue;
            out[0] = out[1 + order->kind] = 1;
            out[1 + KINDS] = 10 * order->waited / env->patience;
        }
        out = row + SEE_COUNTERS;
        for (int tile = 0; tile < ROWS * COLS; tile++) {
            out[tile] = env->on_counter[tile / COLS][tile % COLS];
        }
        row[SEE_CLOCK] = 20 * env->tick / env->shift;
        row[SEE_LEFT] = env->max_left - env->left;
        row[SEE_TODO] = env->quota - env->served;
    }
}

void c_close(Bistro* env) { (void)env; }

static bool somebody_at(const Bistro* env, int x, int y, int among) {
    bool found = false;
    for (int i = 0; i < among; i++) found |= env->cooks[i].x == x && env->cooks[i].y == y;
    return found;
}

void c_reset(Bistro* env) {
    for (int i = 0; i < env->num_agents; i++) {
        Cook* cook = &env->cooks[i];
        do {
            cook->x = 1 + any_of(env, COLS - 2);
            cook->y = 1 + any_of(env, ROWS - 2);
        } while (somebody_at(env, cook->x, cook->y, i));
        cook->facing = DO_NORTH + any_of(env, 4);
        cook->hand = NOTHING;
        cook->taste = any_of(env, KINDS);
        cook->pay = cook->earned = 0.0f;
    }
    for (int p = 0; p < POTS; p++) {        // the shift before may have left something in them
        env->pots[p].tomatoes = any_of(env, 2);
        env->pots[p].onions = any_of(env, 2);
        env->pots[p].heat = 0;
    }
    memset(env->orders, 0, sizeof(env->orders));
    memset(env->on_counter, 0, sizeof(env->on_counter));
    env->num_orders = env->served = env->left = env->tick = 0;
    look_around(env);
}

static void pay_all(Bistro* env, float pay) {
    for (int i = 0; i < env->num_agents; i++) env->cooks[i].pay += pay;
}

static void guests_come_and_go(Bistro* env) {
    for (int o = 0; o < MAX_ORDERS; o++) {
        Order* order = &env->orders[o];
        if (!order->there || ++order->waited < env->patience) continue;
        order->there = false;
        env->num_orders--;
        env->left++;
        pay_all(env, PAY_LEFT);
    }
    if (env->num_orders >= MAX_ORDERS || any_of(env, env->arrival) != 0) return;
    int seat;
    do seat = any_of(env, MAX_ORDERS); while (env->orders[seat].there);
    env->orders[seat] = (Order){.there = true, .kind = any_of(env, KINDS)};
    env->num_orders++;
}

static void use_pot(Bistro* env, Cook* cook, Pot* pot) {
    if (!pot_full(pot) && (cook->hand == TOMATO || cook->hand == ONION)) {
        *(cook->hand == TOMATO ? &pot->tomatoes : &pot->onions) += 1;
        cook->hand = NOTHING;
        if (pot_full(pot) && guest_for(env, pot->tomatoes) >= 0) cook->pay += PAY_PREPARED;
    } else if (pot_ready(env, pot) && cook->hand == PLATE) {
        if (guest_for(env, pot->tomatoes) >= 0) cook->pay += PAY_PREPARED;
        cook->hand = SOUP + pot->tomatoes;
        memset(pot, 0, sizeof(*pot));
    } else if (pot_burnt(env, pot) && cook->hand == NOTHING) {
        memset(pot, 0, sizeof(*pot));       // scraped out
    }
}

static void hand_out(Bistro* env, Cook* cook) {
    if (cook->hand < SOUP) return;
    int kind = cook->hand - SOUP, guest = guest_for(env, kind);
    if (guest < 0) return;
    env->orders[guest].there = false;
    env->num_orders--;
    env->served++;
    cook->hand = NOTHING;
    pay_all(env, PAY_SERVED);
    if (kind == cook->taste) cook->pay += PAY_TIP;
}

static void swap(int* counter, int* hand) {
    if (*counter != NOTHING && *hand != NOTHING) return;
    int thing = *counter;
    *counter = *hand;
    *hand = thing;
}

static void use(Bistro* env, Cook* cook, int x, int y) {
    switch (KITCHEN[y][x]) {
        case 'P': use_pot(env, cook, &env->pots[pot_at(x)]); break;
        case 'S': hand_out(env, cook); break;
        case 'T': if (cook->hand == NOTHING) cook->hand = TOMATO; break;
        case 'O': if (cook->hand == NOTHING) cook->hand = ONION; break;
        case 'D': if (cook->hand == NOTHING) cook->hand = PLATE; break;
        case 'B': cook->hand = NOTHING; break;
        case '#': swap(&env->on_counter[y][x], &cook->hand); break;
    }
}

static void act(Bistro* env, Cook* cook, int action) {
    if (action >= DO_NORTH && action <= DO_EAST) cook->facing = action;
    int x = cook->x + (cook->facing == DO_EAST) - (cook->facing == DO_WEST);
    int y = cook->y + (cook->facing == DO_SOUTH) - (cook->facing == DO_NORTH);
    bool clear = KITCHEN[y][x] == '.' && !somebody_at(env, x, y, env->num_agents);
    if (action == DO_USE) use(env, cook, x, y);
    if (action == cook->facing && clear) {
        cook->x = x;
        cook->y = y;
    }
}

static void write_log(Bistro* env) {
    for (int i = 0; i < env->num_agents; i++) {
        env->terminals[i] = 1.0f;
        env->log.perf += (float)env->served / (float)env->quota;
        env->log.score += (float)env->served;
        env->log.episode_return += env->cooks[i].earned;
        env->log.episode_length += (float)env->tick;
        env->log.left += (float)env->left;
        env->log.n += 1.0f;
    }
}

void c_step(Bistro* env) {
    memset(env->terminals, 0, (size_t)env->num_agents * sizeof(float));
    for (int i = 0; i < env->num_agents; i++) env->cooks[i].pay = 0.0f;
    env->tick++;
    guests_come_and_go(env);
    for (int p = 0; p < POTS; p++) {
        if (pot_full(&env->pots[p])) env->pots[p].heat++;
    }
    for (int i = 0; i < env->num_agents; i++) {
        act(env, &env->cooks[i], (int)env->actions[i]);
    }
    for (int i = 0; i < env->num_agents; i++) {
        env->rewards[i] = env->cooks[i].pay;
        env->cooks[i].earned += env->cooks[i].pay;
    }
    bool lost = env->left >= env->max_left, won = env->served >= env->quota;
    if (lost || won || env->tick >= env->shift) {
        write_log(env);
        c_reset(env);
        return;
    }
    look_around(env);
}

void c_render(Bistro* env) {
    const Color paint[THINGS] = {BLANK, RED, GOLD, RAYWHITE, YELLOW, ORANGE, MAROON};
    const int side = 80, half = 40;
    if (!IsWindowReady()) {
        InitWindow(COLS * side, (ROWS + 1) * side, "bistro");
        SetTargetFPS(8);
    }
    BeginDrawing();
    ClearBackground(DARKGRAY);
    for (int tile = 0; tile < ROWS * COLS; tile++) {
        int row = tile / COLS, col = tile % COLS, x = col * side, y = row * side;
        DrawRectangle(x, y, side, side, KITCHEN[row][col] == '.' ? DARKGRAY : BROWN);
        DrawText(TextFormat("%c", KITCHEN[row][col]), x + 6, y + 4, 20, RAYWHITE);
        DrawCircle(x + half, y + half, 16.0f, paint[env->on_counter[row][col]]);
        if (KITCHEN[row][col] != 'P') continue;
        const Pot* pot = &env->pots[pot_at(col)];
        Color soup = pot_burnt(env, pot) ? BLACK : pot_ready(env, pot) ? GREEN : GRAY;
        DrawCircle(x + half, y + half, 26.0f, soup);
    }
    for (int i = 0; i < env->num_agents; i++) {
        int x = env->cooks[i].x * side + half, y = env->cooks[i].y * side + half;
        DrawCircle(x, y, 28.0f, i == 0 ? WHITE : SKYBLUE);
        DrawCircle(x, y, 12.0f, paint[env->cooks[i].hand]);
    }
    for (int o = 0; o < MAX_ORDERS; o++) {
        Color guest = env->orders[o].there ? paint[SOUP + env->orders[o].kind] : BLANK;
        DrawCircle(40 + 50 * o, ROWS * side + half, 20.0f, guest);
    }
    DrawText(TextFormat("%d served", env->served), 260, ROWS * side + 28, 24, RAYWHITE);
    EndDrawing();
}
