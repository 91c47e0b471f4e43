// warren: a tiny roguelike. Three levels of burrow, rats, bread and gold.
// The map lives in the observation buffer itself: moving something means editing two bytes.
#ifndef WARREN_H
#define WARREN_H

#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define W 15
#define H 11
#define CELLS (W * H)
// after the map come five status bytes
#define ST_HP    (CELLS + 0)
#define ST_FOOD  (CELLS + 1)
#define ST_GOLD  (CELLS + 2)
#define ST_DEPTH (CELLS + 3)
#define ST_MSG   (CELLS + 4)
#define OBS_SIZE (CELLS + 5)

// 0 rest, 1 north, 2 east, 3 south, 4 west, 5 swing at everything around
#define ACT_SIZES {6}

#define T_FLOOR  0
#define T_WALL   1
#define T_PLAYER 2
#define T_GOLD   3
#define T_RAT    4
#define T_EXIT   5
#define T_BREAD  6

#define MSG_NONE  0
#define MSG_BUMP  1
#define MSG_BITE  2
#define MSG_KILL  3
#define MSG_EAT   4

#define MAX_RATS  4
#define MAX_HP   10
#define MAX_FOOD 120
#define LEVELS    3

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct { int x, y, hp; } Rat;

typedef struct {
    Log log;
    unsigned char *observations;
    float *actions;
    float *rewards;
    float *terminals;
    int num_agents;
    unsigned int rng;
    // from warren.ini
    int walls;
    int gold_per_level;
    // game
    int x, y, hp, food, gold, depth;
    int cooldown;       // turns until the next swing
    int msg;
    int tick;
    float ret;
    int nrats;
    Rat rats[MAX_RATS];
} Warren;

static int roll(Warren *env, int sides) {
    env->rng = env->rng * 1664525u + 1013904223u;
    return (int)((env->rng >> 8) % (unsigned int)sides);
}

static int free_tile(Warren *env) {
    int c;
    do {
        c = roll(env, CELLS);
    } while (env->observations[c] != T_FLOOR);
    return c;
}

static void put(Warren *env, int count, int tile) {
    while (count-- > 0)
        env->observations[free_tile(env)] = (unsigned char)tile;
}

static void status(Warren *env) {
    env->observations[ST_HP] = (unsigned char)env->hp;
    env->observations[ST_FOOD] = (unsigned char)env->food;
    env->observations[ST_GOLD] = (unsigned char)env->gold;
    env->observations[ST_DEPTH] = (unsigned char)env->depth;
    env->observations[ST_MSG] = (unsigned char)env->msg;
}

static void dig_level(Warren *env) {
    unsigned char *map = env->observations;
    int i, c;
    memset(map, T_FLOOR, CELLS);
    for (i = 0; i < W; i++) map[i] = map[(H - 1) * W + i] = T_WALL;
    for (i = 0; i < H; i++) map[i * W] = map[i * W + W - 1] = T_WALL;
    put(env, env->walls, T_WALL);
    put(env, env->gold_per_level, T_GOLD);
    put(env, 2, T_BREAD);
    put(env, 2, T_EXIT);
    env->nrats = 2 + env->depth;
    for (i = 0; i < env->nrats; i++) {
        c = free_tile(env);
        map[c] = T_RAT;
        env->rats[i].x = c % W;
        env->rats[i].y = c / W;
        env->rats[i].hp = 2;
    }
    c = free_tile(env);
    map[c] = T_PLAYER;
    env->x = c % W;
    env->y = c / W;
}

void init(Warren *env) {
    // leave room to walk
    if (env->walls > 60) env->walls = 60;
    if (env->gold_per_level > 20) env->gold_per_level = 20;
}

void c_reset(Warren *env) {
    env->hp = MAX_HP;
    env->food = 60;
    env->gold = 0;
    env->depth = 0;
    env->cooldown = 0;
    env->msg = MSG_NONE;
    env->tick = 0;
    env->ret = 0;
    dig_level(env);
    status(env);
}

// a blow on whatever rat stands there; 1 if it died
static int hit(Warren *env, int x, int y, int damage) {
    int i;
    for (i = 0; i < env->nrats; i++) {
        Rat *r = &env->rats[i];
        if (r->hp <= 0 || r->x != x || r->y != y) continue;
        r->hp -= damage;
        if (r->hp > 0) return 0;
        env->observations[y * W + x] = T_FLOOR;
        env->msg = MSG_KILL;
        return 1;
    }
    return 0;
}

static void rats_turn(Warren *env) {
    unsigned char *map = env->observations;
    int i;
    for (i = 0; i < env->nrats; i++) {
        Rat *r = &env->rats[i];
        if (r->hp <= 0) continue;
        int dx = env->x - r->x, dy = env->y - r->y;
        if (abs(dx) + abs(dy) == 1) {
            if (roll(env, 3) == 0) {
                env->hp--;
                env->msg = MSG_BITE;
            }
            continue;
        }
        int nx = r->x, ny = r->y;
        if (abs(dx) + abs(dy) < 5 && roll(env, 2)) {        // smells you
            if (abs(dx) > abs(dy)) nx += dx > 0 ? 1 : -1;
            else ny += dy > 0 ? 1 : -1;
        } else {
            switch (roll(env, 4)) {
                case 0: nx++; break;
                case 1: nx--; break;
                case 2: ny++; break;
                default: ny--; break;
            }
        }
        if (map[ny * W + nx] != T_FLOOR) continue;
        map[r->y * W + r->x] = T_FLOOR;
        map[ny * W + nx] = T_RAT;
        r->x = nx;
        r->y = ny;
    }
}

void c_step(Warren *env) {
    static const int DX[5] = {0, 0, 1, 0, -1};
    static const int DY[5] = {0, -1, 0, 1, 0};
    unsigned char *map = env->observations;
    int a = (int)env->actions[0];
    int new_level = 0, won = 0;
    float r = 0;

    env->rewards[0] = 0;
    env->terminals[0] = 0;
    env->tick++;
    env->msg = MSG_NONE;
    if (env->cooldown > 0) env->cooldown--;

    if (a >= 1 && a <= 4) {
        int nx = env->x + DX[a], ny = env->y + DY[a];
        int t = map[ny * W + nx];
        if (t == T_WALL) {
            env->msg = MSG_BUMP;
        } else if (t == T_RAT) {
            if (hit(env, nx, ny, 1)) r += 0.1f;
        } else {
            map[env->y * W + env->x] = T_FLOOR;
            map[ny * W + nx] = T_PLAYER;
            env->x = nx;
            env->y = ny;
            if (t == T_GOLD) {
                env->gold++;
                r += 0.2f;
            } else if (t == T_BREAD) {
                env->food += 40;
                if (env->food > MAX_FOOD) env->food = MAX_FOOD;
                env->msg = MSG_EAT;
            } else if (t == T_EXIT) {
                r += 0.5f;
                env->depth++;
                if (env->depth == LEVELS) won = 1;
                else new_level = 1;
            }
        }
    } else if (a == 5 && env->cooldown == 0) {
        int dx, dy;
        for (dy = -1; dy <= 1; dy++)
            for (dx = -1; dx <= 1; dx++)
                if (map[(env->y + dy) * W + env->x + dx] == T_RAT)
                    if (hit(env, env->x + dx, env->y + dy, 2)) r += 0.1f;
        env->cooldown = 3;
    }

    if (new_level) dig_level(env);
    else if (!won) rats_turn(env);

    if (env->food > 0) env->food--;
    else if (env->tick % 2 == 0) env->hp--;         // starving

    if (won) r += 1.0f;
    else if (env->hp <= 0) r -= 1.0f;
    env->rewards[0] = r;
    env->ret += r;

    if (won || env->hp <= 0) {
        env->terminals[0] = 1;
        env->log.perf += won ? 1.0f : env->depth / (float)LEVELS;
        env->log.score += env->gold;
        env->log.episode_return += env->ret;
        env->log.episode_length += env->tick;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    status(env);
}

void c_render(Warren *env) {
    static const char glyph[] = ".#@$r>%";
    int i;
    if (!IsWindowReady()) {
        InitWindow(W * 32, H * 32 + 40, "warren");
        SetTargetFPS(10);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (i = 0; i < CELLS; i++) {
        char s[2] = {glyph[env->observations[i]], 0};
        DrawText(s, i % W * 32 + 8, i / W * 32, 28, s[0] == '@' ? WHITE : GRAY);
    }
    DrawText(TextFormat("hp %d food %d gold %d", env->hp, env->food, env->gold), 8, H * 32 + 8, 20, WHITE);
    EndDrawing();
}

void c_close(Warren *env) {
    (void)env;
}

#endif
