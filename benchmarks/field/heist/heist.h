/* heist.h -- steal gems in a dark museum, and leave by the door you came in.  One agent.
 *
 *      #################       @   the thief, who begins on the door
 *      #@...#....*.....#       D   the door: with a gem in the bag, stepping on it ends the night
 *      #..#.....##..G>.#       *   a gem
 *      #...*..#........#       G>  a guard, who sees along a straight line, the way it faces
 *      #################
 *
 * The museum is drawn anew each night. The thief sees a square around itself, and there only
 * what no wall hides. A guard that sees it raises the alarm by one a tick; at NERVE, or at a
 * guard's touch, it is caught and the bag is lost. Time runs out unseen: that is a truncation.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

//-- What the agent sees and does -------------------------------------------------
enum {                          // observations, one byte each
    OBS_ALARM,                  // 4 ids     ticks that guards have seen the thief, less those since
    OBS_BAG,                    // [0, 255]  share of the gems that are in the bag
    OBS_COMPASS,                // 9 ids     where the door lies: (north, level, south) x (west, same, east)
    OBS_VIEW                    // grid env->view x env->view of 9 ids    a CELL_, the thief in the middle
};
#define OBS_SIZE (OBS_VIEW + env->view * env->view)

enum {                          // what a cell of the view may be
    CELL_DARK,                  // hidden by a wall
    CELL_FLOOR,
    CELL_WALL,                  // the museum is surrounded by it
    CELL_GEM,
    CELL_DOOR,
    CELL_GUARD                  // + the direction it faces: 5 to 8
};

enum {                          // actions, pick one
    ACT_WAIT,                   // stand still; always legal
    ACT_NORTH,                  // the others move by one cell, and are illegal towards a wall
    ACT_EAST, ACT_SOUTH, ACT_WEST, ACT_COUNT
};
#define ACT_SIZES {ACT_COUNT}

//-- Rules that are no settings ---------------------------------------------------
#define NERVE       3           // alarm at which the thief is caught
#define MAX_GUARDS  8
#define TRIES       20          // maps drawn before the museum is left without inner walls
#define WALL_ODDS   4           // one cell in so many is a wall
#define TURN_ODDS   8           // a guard turns at one step in so many

static const int DX[4] = {0, 1, 0, -1}, DY[4] = {-1, 0, 1, 0};      // north, east, south, west

//-- State ------------------------------------------------------------------------
typedef struct Log {            // sums over finished episodes
    float perf;                 // [0, 1] share of the gems that were carried out
    float score;                // gems carried out
    float episode_return;
    float episode_length;       // ticks
    float caught;               // 1 if a guard ended it
    float n;                    // last
} Log;

typedef struct Guard { int x, y, facing; } Guard;

typedef struct Heist {
    Log log;
    unsigned char* observations;        // out [OBS_SIZE]
    unsigned char* final_observations;  // out [OBS_SIZE]  what a truncated night looked like at its end
    unsigned char* action_mask;         // out [ACT_COUNT]  0 towards a wall
    float* actions;                     // in  [1]
    float* rewards;                     // out [1]
    float* terminals;                   // out [1]
    float* truncations;                 // out [1]
    int num_agents;
    unsigned int rng;

    // settings
    int size, view, guards, gems, guard_sight, guard_pace, patience;
    float reward_gem, reward_escape, reward_caught, step_cost;

    // allocated by init: size * size each
    unsigned char* map;         // CELL_FLOOR, _WALL, _GEM or _DOOR
    unsigned char* marked;      // while flooding: 1 where the water was
    int* reached;               // cells that can be walked to, nearest to the door first

    // of this episode
    int x, y, door_x, door_y;
    Guard guard[MAX_GUARDS];
    int num_reached, bag, alarm, tick;
    float episode_return;
} Heist;

// Uniform in 0 .. count - 1
static inline int random_below(Heist* env, int count) {
    unsigned int bits = (env->rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return (int)(((unsigned long long)bits * (unsigned long long)count) >> 32);
}

static inline bool inside(const Heist* env, int x, int y) {
    return x >= 0 && x < env->size && y >= 0 && y < env->size;
}

static inline bool is_open(const Heist* env, int x, int y) {
    return inside(env, x, y) && env->map[y * env->size + x] != CELL_WALL;
}

//-- Sight ------------------------------------------------------------------------
// Does no wall stand strictly between the thief and this cell? (Bresenham's line)
static inline bool in_sight(const Heist* env, int to_x, int to_y) {
    int x = env->x, y = env->y, dx = abs(to_x - x), dy = -abs(to_y - y), error = dx + dy;
    int step_x = x < to_x ? 1 : -1, step_y = y < to_y ? 1 : -1;
    while (x != to_x || y != to_y) {
        if ((x != env->x || y != env->y) && !is_open(env, x, y)) return false;
        int twice = 2 * error;
        if (twice >= dy) error += dy, x += step_x;
        if (twice <= dx) error += dx, y += step_y;
    }
    return true;
}

// Writes every byte of the observation and of the mask
static inline void observe(Heist* env) {
    unsigned char* obs = env->observations;
    const int half = env->view / 2;
    obs[OBS_ALARM] = (unsigned char)env->alarm;
    obs[OBS_BAG] = (unsigned char)(255 * env->bag / env->gems);
    int south = (env->door_y > env->y) - (env->door_y < env->y);
    int east = (env->door_x > env->x) - (env->door_x < env->x);
    obs[OBS_COMPASS] = (unsigned char)(3 * (south + 1) + east + 1);
    for (int row = 0; row < env->view; row++) {
        for (int col = 0; col < env->view; col++) {
            int x = env->x + col - half, y = env->y + row - half, cell = CELL_WALL;
            if (inside(env, x, y)) cell = in_sight(env, x, y) ? env->map[y * env->size + x] : CELL_DARK;
            obs[OBS_VIEW + row * env->view + col] = (unsigned char)cell;
        }
    }
    for (int i = 0; i < env->guards; i++) {
        const Guard* guard = &env->guard[i];
        int col = guard->x - env->x + half, row = guard->y - env->y + half;
        bool near = col >= 0 && col < env->view && row >= 0 && row < env->view;
        if (near && in_sight(env, guard->x, guard->y)) {
            obs[OBS_VIEW + row * env->view + col] = (unsigned char)(CELL_GUARD + guard->facing);
        }
    }
    env->action_mask[ACT_WAIT] = 1;
    for (int d = 0; d < 4; d++) env->action_mask[ACT_NORTH + d] = is_open(env, env->x + DX[d], env->y + DY[d]);
}

//-- The guards -------------------------------------------------------------------
static inline void walk(Heist* env, Guard* guard) {
    int x = guard->x + DX[guard->facing], y = guard->y + DY[guard->facing];
    if (is_open(env, x, y) && random_below(env, TURN_ODDS) > 0) {
        guard->x = x, guard->y = y;
        return;
    }
    int first = random_below(env, 4);
    for (int k = 0; k < 4; k++) {
        int d = (first + k) % 4;
        if (!is_open(env, guard->x + DX[d], guard->y + DY[d])) continue;
        guard->facing = d;
        return;
    }
}

static inline bool sees_thief(const Heist* env, const Guard* guard) {
    int x = guard->x, y = guard->y;
    for (int k = 0; k <= env->guard_sight && is_open(env, x, y); k++) {
        if (x == env->x && y == env->y) return true;
        x += DX[guard->facing], y += DY[guard->facing];
    }
    return false;
}

static inline bool touched(const Heist* env) {
    bool touch = false;
    for (int i = 0; i < env->guards; i++) touch |= env->guard[i].x == env->x && env->guard[i].y == env->y;
    return touch;
}

//-- The museum -------------------------------------------------------------------
// Lists the cells that can be walked to from the door
static inline void flood(Heist* env) {
    const int size = env->size;
    memset(env->marked, 0, (size_t)(size * size));
    env->reached[0] = env->door_y * size + env->door_x;
    env->marked[env->reached[0]] = 1;
    env->num_reached = 1;
    for (int i = 0; i < env->num_reached; i++) {
        int x = env->reached[i] % size, y = env->reached[i] / size;
        for (int d = 0; d < 4; d++) {
            int next = (y + DY[d]) * size + x + DX[d];
            if (!is_open(env, x + DX[d], y + DY[d]) || env->marked[next]) continue;
            env->marked[next] = 1;
            env->reached[env->num_reached++] = next;
        }
    }
}

static inline void draw_museum(Heist* env) {
    const int size = env->size, inner = (size - 2) * (size - 2);
    env->door_x = 1 + random_below(env, size - 2);
    env->door_y = 1 + random_below(env, size - 2);
    env->num_reached = 0;
    for (int k = 0; k <= TRIES && env->num_reached <= inner / 2; k++) {
        for (int cell = 0; cell < size * size; cell++) {
            int x = cell % size, y = cell / size;
            bool edge = x == 0 || y == 0 || x == size - 1 || y == size - 1;
            bool wall = edge || (k < TRIES && random_below(env, WALL_ODDS) == 0);
            env->map[cell] = wall ? CELL_WALL : CELL_FLOOR;
        }
        env->map[env->door_y * size + env->door_x] = CELL_DOOR;
        flood(env);
    }
}

//-- The four functions -----------------------------------------------------------
void init(Heist* env) {
    size_t cells = (size_t)(env->size * env->size);
    env->map = (unsigned char*)calloc(cells, sizeof(unsigned char));
    env->marked = (unsigned char*)calloc(cells, sizeof(unsigned char));
    env->reached = (int*)calloc(cells, sizeof(int));
    env->guards = env->guards > MAX_GUARDS ? MAX_GUARDS : env->guards;
}

void c_close(Heist* env) {
    free(env->map), free(env->marked), free(env->reached);
}

void c_reset(Heist* env) {
    draw_museum(env);
    const int count = env->num_reached, near = count / 2;
    for (int i = 0; i < env->guards; i++) {     // in the farther half of the museum
        int cell = env->reached[near + random_below(env, count - near)];
        env->guard[i] = (Guard){cell % env->size, cell / env->size, random_below(env, 4)};
    }
    for (int i = 1; i <= env->gems; i++) {      // on cells of their own, never on the door
        int other = i + random_below(env, count - i), cell = env->reached[other];
        env->reached[other] = env->reached[i];
        env->reached[i] = cell;
        env->map[cell] = CELL_GEM;
    }
    env->x = env->door_x, env->y = env->door_y;
    env->bag = 0;
    env->alarm = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    observe(env);
}

void c_step(Heist* env) {
    const int action = (int)env->actions[0];
    if (action >= ACT_NORTH && action < ACT_COUNT) {
        int x = env->x + DX[action - ACT_NORTH], y = env->y + DY[action - ACT_NORTH];
        if (is_open(env, x, y)) env->x = x, env->y = y;
    }
    env->tick += 1;
    env->rewards[0] = -env->step_cost;
    unsigned char* here = &env->map[env->y * env->size + env->x];
    if (*here == CELL_GEM) {
        *here = CELL_FLOOR;
        env->bag += 1;
        env->rewards[0] += env->reward_gem;
    }

    bool escaped = *here == CELL_DOOR && env->bag > 0, caught = !escaped && touched(env);
    if (!escaped && !caught) {
        bool seen = false;
        for (int i = 0; i < env->guards; i++) {
            if (env->tick % env->guard_pace == 0) walk(env, &env->guard[i]);
            seen = seen || sees_thief(env, &env->guard[i]);
        }
        env->alarm = seen ? env->alarm + 1 : env->alarm > 0 ? env->alarm - 1 : 0;
        caught = touched(env) || env->alarm >= NERVE;
    }
    if (escaped) env->rewards[0] += env->reward_escape * (float)env->bag / (float)env->gems;
    if (caught) env->rewards[0] += env->reward_caught;
    env->episode_return += env->rewards[0];

    bool over = escaped || caught, late = !over && env->tick >= env->patience;
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!over) observe(env);
    if (late) memcpy(env->final_observations, env->observations, (size_t)(OBS_SIZE));
    if (over || late) {
        float carried = escaped ? (float)env->bag : 0.0f;
        env->log.perf += carried / (float)env->gems;
        env->log.score += carried;
        env->log.episode_return += env->episode_return;
        env->log.episode_length += (float)env->tick;
        env->log.caught += caught ? 1.0f : 0.0f;
        env->log.n += 1.0f;
        c_reset(env);
    }
}

void c_render(Heist* env) {
    const int cell = 32, hud = 32;
    if (!IsWindowReady()) InitWindow(cell * env->size, hud + cell * env->size, "heist");
    SetTargetFPS(8);
    const Color colours[] = {BLACK, {40, 44, 60, 255}, {110, 110, 120, 255}, GOLD, {90, 60, 40, 255}};
    BeginDrawing();
    ClearBackground(BLACK);
    for (int i = 0; i < env->size * env->size; i++) {
        DrawRectangle(i % env->size * cell, hud + i / env->size * cell, cell - 1, cell - 1, colours[env->map[i]]);
    }
    for (int i = 0; i < env->guards; i++)
        DrawRectangle(env->guard[i].x * cell + 8, hud + env->guard[i].y * cell + 8, 16, 16, RED);
    DrawRectangle(env->x * cell + 8, hud + env->y * cell + 8, 16, 16, SKYBLUE);
    DrawText(TextFormat("bag %d of %d, alarm %d", env->bag, env->gems, env->alarm), 8, 6, 20, RAYWHITE);
    EndDrawing();
}
