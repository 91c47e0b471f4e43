// FLIPDISC: two agents place discs in turns on a 6x6 board and flip what they enclose.
//
//   A placement is legal on an empty cell from which, in at least one of eight directions, an
//   unbroken line of the opponent's discs leads to a disc of one's own. All such lines flip.
//   Each seat has a secret home, a cell that counts home_worth discs instead of one if
//   that seat's disc lies there in the end. The opponent's home is not shown to anybody.
//   When neither can place, more points win: +1 and -1, or 0 to both in a draw.
//
//   One step is one turn. What happens to actions that are no placement:
//     * the seat whose turn it is not: ignored. Its mask allows PASS only
//     * on turn with no legal cell: the turn passes, whatever the action was, at no cost.
//       The mask allows PASS only
//     * on turn with a legal cell, but the action is an illegal cell or PASS: a FOUL. A legal
//       cell drawn at random is played instead, so that the game goes on, and `fine` is paid
//   Since a pass is always followed by a placement (otherwise the game would be over), a game
//   takes 64 turns at most.
//
//   A game opens with 0 to `opening` random placements, so no two are alike.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

#define SIDE    6
#define CELLS   (SIDE * SIDE)
#define SEATS   2
#define PASS    CELLS               // the last action
#define MOVES   (CELLS + 1)
#define NOBODY  (-1)

#define ACT_SIZES {MOVES}

// From the view of the row's own seat
enum {
    VIEW_BOARD,                     // [-1, 1]  1 my disc, -1 the opponent's, 0 empty
    VIEW_HOME = VIEW_BOARD + CELLS, // [0, 1]   1 on my home
    VIEW_TURN = VIEW_HOME + CELLS,  // [0, 1]   1 if it is my turn
    VIEW_LEAD,                      // [-1, 1]  my discs less the opponent's, of all cells
    VIEW_CORNERS,                   // [0, 1]   my share of the corners taken, 0.5 before the first
    VIEW_COUNT
};
#define OBS_SIZE VIEW_COUNT

typedef struct Log {                // one entry per seat and game
    float perf;                     // share of a seat's turns without a foul (who wins is a
                                    // matter of one half in self-play, and says nothing)
    float score;                    // points in the end, home included
    float episode_return;
    float episode_length;           // turns of both seats
    float flips;                    // discs that a seat flipped, per placement
    float draws;
    float n;
} Log;

typedef struct Seat {
    int home;                       // puffer: private   a cell, row by row
    int turns;                      // on which it had a choice
    int fouls;
    int placed;                     // since the opening
    int flipped;
    float sum;                      // of its rewards
} Seat;

typedef struct Flipdisc {
    Log log;
    float* observations;            // (2, OBS_SIZE)
    float* actions;                 // (2)
    float* rewards;                 // (2)
    float* terminals;               // (2)
    unsigned char* action_mask;     // (2, MOVES)
    int num_agents;                 // 2: init sees to it
    unsigned int rng;

    // settings
    int opening;                    // random placements before a game, CELLS / 3 at most
    int home_worth;
    float fine;                     // for a foul

    // the game
    signed char board[SIDE][SIDE];  // NOBODY or a seat
    Seat seats[SEATS];
    int mover;
    int turn;                       // since the opening
    int options[CELLS];             // legal cells of the mover ...
    int option_count;               // ... so many
    int* trail;                     // (CELLS) cells in the order of placement, to be drawn
    int trail_length;
} Flipdisc;

static uint32_t flip_bits(uint32_t* state) {
    uint32_t x = (*state = *state * 747796405u + 2891336453u);
    x = ((x >> ((x >> 28) + 4u)) ^ x) * 277803737u;
    return (x >> 22) ^ x;
}

static int flip_pick(Flipdisc* env, int below) {
    return (int)(((uint64_t)flip_bits(&env->rng) * (uint32_t)below) >> 32);
}

// How many of the opponent's discs are enclosed from (row, col) on, going by (dr, dc)
static int flip_line(const Flipdisc* env, int seat, int row, int col, int dr, int dc) {
    int length = 0;
    for (;;) {
        row += dr;
        col += dc;
        if (row < 0 || row >= SIDE || col < 0 || col >= SIDE) return 0;
        if (env->board[row][col] == NOBODY) return 0;
        if (env->board[row][col] == seat) return length;
        length++;
    }
}

static int flip_legal(const Flipdisc* env, int seat, int cell) {
    int row = cell / SIDE, col = cell % SIDE;
    if (env->board[row][col] != NOBODY) return 0;
    for (int way = 0; way < 9; way++) {
        if (way == 4) continue;                 // no direction at all
        if (flip_line(env, seat, row, col, way / 3 - 1, way % 3 - 1) > 0) return 1;
    }
    return 0;
}

// The mover's legal cells
static void flip_list(Flipdisc* env) {
    env->option_count = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        if (flip_legal(env, env->mover, cell)) env->options[env->option_count++] = cell;
    }
}

// Put the mover's disc there and flip. Returns the number of discs flipped
static int flip_place(Flipdisc* env, int cell) {
    int row = cell / SIDE, col = cell % SIDE, flipped = 0;
    for (int way = 0; way < 9; way++) {
        int dr = way / 3 - 1, dc = way % 3 - 1;
        if (way == 4) continue;
        int length = flip_line(env, env->mover, row, col, dr, dc);
        for (int i = 1; i <= length; i++) {
            env->board[row + i * dr][col + i * dc] = (signed char)env->mover;
        }
        flipped += length;
    }
    env->board[row][col] = (signed char)env->mover;
    env->trail[env->trail_length++] = cell;
    return flipped;
}

// The turn goes over. Returns 0 if neither seat can place: then it is over altogether
static int flip_hand_over(Flipdisc* env) {
    env->mover = 1 - env->mover;
    flip_list(env);
    if (env->option_count > 0) return 1;
    for (int cell = 0; cell < CELLS; cell++) {
        if (flip_legal(env, 1 - env->mover, cell)) return 1;
    }
    return 0;
}

static int flip_discs(const Flipdisc* env, int seat) {
    int discs = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        discs += env->board[cell / SIDE][cell % SIDE] == seat;
    }
    return discs;
}

static int flip_points(const Flipdisc* env, int seat) {
    int home = env->seats[seat].home;
    int points = flip_discs(env, seat);
    if (env->board[home / SIDE][home % SIDE] == seat) points += env->home_worth - 1;
    return points;
}

// Both rows of observations and masks
static void flip_show(Flipdisc* env) {
    static const int corners[4] = {0, SIDE - 1, CELLS - SIDE, CELLS - 1};
    for (int seat = 0; seat < SEATS; seat++) {
        float* view = env->observations + seat * VIEW_COUNT;
        for (int cell = 0; cell < CELLS; cell++) {
            int owner = env->board[cell / SIDE][cell % SIDE];
            view[VIEW_BOARD + cell] = owner == NOBODY ? 0.0f : owner == seat ? 1.0f : -1.0f;
            view[VIEW_HOME + cell] = cell == env->seats[seat].home ? 1.0f : 0.0f;
        }
        int mine = 0, taken = 0;
        for (int i = 0; i < 4; i++) {
            int owner = env->board[corners[i] / SIDE][corners[i] % SIDE];
            mine += owner == seat;
            taken += owner != NOBODY;
        }
        int lead = flip_discs(env, seat) - flip_discs(env, 1 - seat);
        view[VIEW_TURN] = seat == env->mover ? 1.0f : 0.0f;
        view[VIEW_LEAD] = (float)lead / (float)CELLS;
        view[VIEW_CORNERS] = taken > 0 ? (float)mine / (float)taken : 0.5f;

        unsigned char* mask = env->action_mask + seat * MOVES;
        memset(mask, 0, MOVES);
        if (seat != env->mover || env->option_count == 0) {
            mask[PASS] = 1;
        } else {
            for (int i = 0; i < env->option_count; i++) mask[env->options[i]] = 1;
        }
    }
}

// The arrays have one row per seat, whatever the settings say
void init(Flipdisc* env) {
    env->num_agents = SEATS;
    env->trail = (int*)calloc(CELLS, sizeof(int));
}

void c_close(Flipdisc* env) {
    free(env->trail);
    env->trail = NULL;
}

// A home is any cell but the four in the centre, which are taken when a game begins
static int flip_draw_home(Flipdisc* env) {
    for (;;) {
        int cell = flip_pick(env, CELLS), row = cell / SIDE, col = cell % SIDE;
        int centre = row >= SIDE / 2 - 1 && row <= SIDE / 2 && col >= SIDE / 2 - 1 && col <= SIDE / 2;
        if (!centre) return cell;
    }
}

void c_reset(Flipdisc* env) {
    memset(env->board, NOBODY, sizeof env->board);
    env->board[SIDE / 2 - 1][SIDE / 2 - 1] = env->board[SIDE / 2][SIDE / 2] = 1;
    env->board[SIDE / 2 - 1][SIDE / 2] = env->board[SIDE / 2][SIDE / 2 - 1] = 0;
    memset(env->seats, 0, sizeof env->seats);
    for (int seat = 0; seat < SEATS; seat++) {
        env->seats[seat].home = flip_draw_home(env);
    }
    env->turn = 0;
    env->trail_length = 0;
    env->mover = flip_pick(env, SEATS);
    flip_list(env);

    // A short opening never fills the board, but it can, rarely, leave the mover without a cell
    int most = env->opening < 0 ? 0 : env->opening > CELLS / 3 ? CELLS / 3 : env->opening;
    int placements = flip_pick(env, most + 1);
    for (int i = 0; i < placements && env->option_count > 0; i++) {
        int cell = env->options[flip_pick(env, env->option_count)];
        flip_place(env, cell);
        if (!flip_hand_over(env)) {             // or wipe a seat out: then open anew
            c_reset(env);
            return;
        }
    }
    flip_show(env);
}

// Rewards and terminals of the last turn, and the log
static void flip_settle(Flipdisc* env) {
    int points[SEATS] = {flip_points(env, 0), flip_points(env, 1)};
    for (int seat = 0; seat < SEATS; seat++) {
        Seat* s = &env->seats[seat];
        int margin = points[seat] - points[1 - seat];
        float prize = margin > 0 ? 1.0f : margin < 0 ? -1.0f : 0.0f;
        env->rewards[seat] += prize;
        env->terminals[seat] = 1.0f;
        s->sum += prize;

        env->log.perf += s->turns > 0 ? 1.0f - (float)s->fouls / (float)s->turns : 1.0f;
        env->log.score += (float)points[seat];
        env->log.episode_return += s->sum;
        env->log.episode_length += (float)env->turn;
        env->log.flips += s->placed > 0 ? (float)s->flipped / (float)s->placed : 0.0f;
        env->log.draws += margin == 0 ? 1.0f : 0.0f;
        env->log.n += 1.0f;
    }
}

void c_step(Flipdisc* env) {
    for (int seat = 0; seat < SEATS; seat++) {
        env->rewards[seat] = 0.0f;
        env->terminals[seat] = 0.0f;
    }
    env->turn++;

    int mover = env->mover;
    Seat* s = &env->seats[mover];
    if (env->option_count > 0) {
        int cell = (int)env->actions[mover];
        s->turns++;
        if (cell < 0 || cell >= CELLS || !flip_legal(env, mover, cell)) {
            cell = env->options[flip_pick(env, env->option_count)];
            s->fouls++;
            s->sum -= env->fine;
            env->rewards[mover] = -env->fine;
        }
        s->flipped += flip_place(env, cell);
        s->placed++;
    }

    if (flip_hand_over(env)) {
        flip_show(env);
    } else {
        flip_settle(env);
        c_reset(env);
    }
}

#ifndef PUFFER_DEVICE
void c_render(Flipdisc* env) {
    const int cell_size = 96, bar = 40;
    if (!IsWindowReady()) {
        InitWindow(SIDE * cell_size, SIDE * cell_size + bar, "flipdisc");
        SetTargetFPS(3);
    }
    BeginDrawing();
    ClearBackground((Color){20, 60, 44, 255});
    for (int cell = 0; cell < CELLS; cell++) {
        int x = cell % SIDE * cell_size, y = bar + cell / SIDE * cell_size;
        int owner = env->board[cell / SIDE][cell % SIDE];
        DrawRectangle(x + 2, y + 2, cell_size - 4, cell_size - 4, (Color){32, 92, 66, 255});
        for (int seat = 0; seat < SEATS; seat++) {
            if (env->seats[seat].home == cell) {
                DrawRectangle(x + 6 + 70 * seat, y + 6, 14, 14, seat == 0 ? BLACK : RAYWHITE);
            }
        }
        if (owner != NOBODY) {
            DrawCircle(x + cell_size / 2, y + cell_size / 2, 36.0f, owner == 0 ? BLACK : RAYWHITE);
        }
    }
    for (int i = 0; i < env->trail_length; i++) {       // in which order they came
        int x = env->trail[i] % SIDE * cell_size, y = bar + env->trail[i] / SIDE * cell_size;
        DrawText(TextFormat("%d", i + 1), x + 40, y + 40, 18, i + 1 == env->trail_length ? RED : GRAY);
    }
    DrawText(TextFormat("black %d   white %d   %s to move", flip_points(env, 0), flip_points(env, 1),
                        env->mover == 0 ? "black" : "white"), 12, 10, 20, RAYWHITE);
    EndDrawing();
}
#endif
