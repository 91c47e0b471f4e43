// Flak: a gun guards a row of houses by night. Bombs fall from the dark with a little wind, and
// the gun runs on rails below, shooting straight up. A bomb that is shot pays `hit_reward`, a
// house that burns costs `house_penalty`; for every `rebuild` hits the town builds a house again.
// The night is over at dawn, after `shift` ticks, or when the last house has burnt.
//
// Lengths are in pixels (x to the right, y downwards, the ground is at y = HEIGHT), speeds in
// pixels per tick.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <math.h>
#include "raylib.h"

#define WIDTH 160.0f
#define HEIGHT 120.0f
#define HOUSES 5
#define HOUSE_WIDTH 20.0f
#define BOMBS 6
#define SHELLS 3
#define BLAST 6.0f             // a shell that comes this near sets off the bomb
#define SHELL_SPEED 4.0f
#define MIN_FALL 0.8f
#define MAX_FALL 1.6f
#define MAX_WIND 1.0f
#define PAR 40.0f              // hits of a good night, perf 1

#define STAY 0
#define LEFT 1
#define RIGHT 2
#define FIRE 3

enum {
    OBS_GUN,                   // [0, 1]   where the gun is
    OBS_RELOAD,                // [0, 1]   1 = has just fired, 0 = ready
    OBS_NIGHT,                 // [0, 1]   share of the night that is left
    OBS_REBUILD,               // [0, 1]   how much of the next house is paid for
    OBS_HOUSES,                // [0, 1]   1 = stands
    OBS_BOMBS = OBS_HOUSES + HOUSES,   // [-1, 1]  x from the gun, y, vx, vy; zeros = no bomb
    OBS_SHELLS = OBS_BOMBS + 4 * BOMBS,   // [-1, 1]  x from the gun, height; 0, -1 = no shell
    OBS_LOADED = OBS_SHELLS + 2 * SHELLS,  // [0, 1]   1 = a shell is left to fire
    OBS_COUNT
};

// Required struct. Only use floats!
typedef struct {
    float perf;                // hits over PAR, at most 1
    float score;               // hits
    float episode_return;
    float episode_length;
    float accuracy;            // hits per shell
    float houses;              // that stand at the end
    float n;                   // Required as the last field
} Log;

typedef struct {
    float x, y;
    float vx, vy;
    int falling;
} Bomb;

typedef struct {
    float x, y;
    int flying;
} Shell;

typedef struct {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;

    // settings
    int shift;
    int reload;
    int rebuild;
    float bomb_rate;
    float gun_speed;
    float wind;
    float hit_reward;
    float house_penalty;

    float gun;
    int cooldown;
    int houses[HOUSES];
    Bomb bombs[BOMBS];
    Shell shells[SHELLS];
    int tick;
    int hits;
    int fired;
    int paid;                  // hits since the last house was rebuilt
    float ret;
} Flak;

static float uniform(Flak* env, float low, float high) {
    float u = (float)(rand_r(&env->rng) % 65536) / 65536.0f;
    return low + (high - low) * u;
}

static float house_x(int i) {
    return (i + 0.5f) * WIDTH / HOUSES;
}

static int standing(Flak* env) {
    int count = 0;
    for (int i = 0; i < HOUSES; i++) {
        count += env->houses[i];
    }
    return count;
}

static int free_shell(Flak* env) {
    for (int i = 0; i < SHELLS; i++) {
        if (!env->shells[i].flying) return i;
    }
    return -1;
}

static void compute_observations(Flak* env) {
    float* obs = env->observations;
    obs[OBS_GUN] = env->gun / WIDTH;
    obs[OBS_RELOAD] = (float)env->cooldown / env->reload;
    obs[OBS_NIGHT] = 1.0f - (float)env->tick / env->shift;
    obs[OBS_REBUILD] = (float)env->paid / env->rebuild;
    for (int i = 0; i < HOUSES; i++) {
        obs[OBS_HOUSES + i] = (float)env->houses[i];
    }

    int k = OBS_BOMBS;
    for (int i = 0; i < BOMBS; i++) {
        Bomb* bomb = &env->bombs[i];
        if (!bomb->falling) {
            for (int j = 0; j < 4; j++) obs[k++] = 0.0f;
            continue;
        }
        obs[k++] = (bomb->x - env->gun) / WIDTH;
        obs[k++] = bomb->y / HEIGHT;
        obs[k++] = bomb->vx / MAX_WIND;
        obs[k++] = bomb->vy / MAX_FALL;
    }
    for (int i = 0; i < SHELLS; i++) {
        Shell* shell = &env->shells[i];
        obs[k++] = shell->flying ? (shell->x - env->gun) / WIDTH : 0.0f;
        obs[k++] = shell->flying ? 1.0f - shell->y / HEIGHT : -1.0f;
    }
    obs[OBS_LOADED] = free_shell(env) >= 0 ? 1.0f : 0.0f;
}

void c_reset(Flak* env) {
    env->gun = uniform(env, 0.0f, WIDTH);
    env->cooldown = 0;
    env->tick = 0;
    env->hits = 0;
    env->fired = 0;
    env->paid = 0;
    env->ret = 0.0f;
    for (int i = 0; i < HOUSES; i++) {
        env->houses[i] = 1;
    }
    memset(env->bombs, 0, sizeof(env->bombs));
    memset(env->shells, 0, sizeof(env->shells));
    compute_observations(env);
}

static void drop_bomb(Flak* env) {
    if (uniform(env, 0.0f, 1.0f) >= env->bomb_rate) return;
    for (int i = 0; i < BOMBS; i++) {
        Bomb* bomb = &env->bombs[i];
        if (bomb->falling) continue;
        bomb->x = uniform(env, 0.0f, WIDTH);
        bomb->y = 0.0f;
        bomb->vx = uniform(env, -env->wind, env->wind);
        bomb->vy = uniform(env, MIN_FALL, MAX_FALL);
        bomb->falling = 1;
        return;
    }
}

static void act(Flak* env, int action) {
    if (env->cooldown > 0) env->cooldown--;
    if (action == LEFT) {
        env->gun = fmaxf(0.0f, env->gun - env->gun_speed);
    } else if (action == RIGHT) {
        env->gun = fminf(WIDTH, env->gun + env->gun_speed);
    } else if (action == FIRE && env->cooldown == 0) {
        int i = free_shell(env);
        if (i < 0) return;
        env->shells[i].x = env->gun;
        env->shells[i].y = HEIGHT;
        env->shells[i].flying = 1;
        env->cooldown = env->reload;
        env->fired++;
    }
}

// The town rebuilds the first house that has burnt, once enough hits are paid in
static void pay_in(Flak* env) {
    if (env->paid < env->rebuild) env->paid++;
    if (env->paid < env->rebuild) return;
    for (int i = 0; i < HOUSES; i++) {
        if (env->houses[i]) continue;
        env->houses[i] = 1;
        env->paid = 0;
        return;
    }
}

static void move_shells(Flak* env) {
    for (int i = 0; i < SHELLS; i++) {
        Shell* shell = &env->shells[i];
        if (!shell->flying) continue;
        shell->y -= SHELL_SPEED;
        if (shell->y < 0.0f) {
            shell->flying = 0;
            continue;
        }
        for (int j = 0; j < BOMBS; j++) {
            Bomb* bomb = &env->bombs[j];
            if (!bomb->falling) continue;
            float dx = bomb->x - shell->x;
            float dy = bomb->y - shell->y;
            if (dx * dx + dy * dy > BLAST * BLAST) continue;
            bomb->falling = 0;
            shell->flying = 0;
            env->hits++;
            env->rewards[0] += env->hit_reward;
            pay_in(env);
            break;
        }
    }
}

static void move_bombs(Flak* env) {
    for (int i = 0; i < BOMBS; i++) {
        Bomb* bomb = &env->bombs[i];
        if (!bomb->falling) continue;
        bomb->x += bomb->vx;
        bomb->y += bomb->vy;
        // The wind drops at the edge of the town
        if (bomb->x < 0.0f || bomb->x > WIDTH) {
            bomb->x = fminf(fmaxf(bomb->x, 0.0f), WIDTH);
            bomb->vx = 0.0f;
        }
        if (bomb->y < HEIGHT) continue;
        bomb->falling = 0;
        for (int h = 0; h < HOUSES; h++) {
            if (!env->houses[h]) continue;
            if (fabsf(bomb->x - house_x(h)) > 0.5f * HOUSE_WIDTH) continue;
            env->houses[h] = 0;
            env->rewards[0] -= env->house_penalty;
        }
    }
}

static void add_log(Flak* env) {
    env->log.perf += fminf(1.0f, env->hits / PAR);
    env->log.score += env->hits;
    env->log.episode_return += env->ret;
    env->log.episode_length += env->tick;
    env->log.accuracy += env->fired > 0 ? (float)env->hits / env->fired : 0.0f;
    env->log.houses += standing(env);
    env->log.n += 1.0f;
}

void c_step(Flak* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->tick++;

    act(env, (int)env->actions[0]);
    move_shells(env);
    move_bombs(env);
    drop_bomb(env);
    env->ret += env->rewards[0];

    if (standing(env) == 0 || env->tick >= env->shift) {
        env->terminals[0] = 1.0f;
        add_log(env);
        c_reset(env);
        return;
    }
    compute_observations(env);
}

void c_render(Flak* env) {
    const float px = 5.0f;
    if (!IsWindowReady()) {
        InitWindow((int)(WIDTH * px), (int)(HEIGHT * px) + 60, "PufferLib Flak");
        SetTargetFPS(30);
    }
    if (IsKeyDown(KEY_ESCAPE)) {
        exit(0);
    }

    int ground = (int)(HEIGHT * px);
    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int i = 0; i < HOUSES; i++) {
        DrawRectangle((int)((house_x(i) - HOUSE_WIDTH / 2) * px), ground, (int)(HOUSE_WIDTH * px), 30,
            env->houses[i] ? BEIGE : DARKGRAY);
    }
    for (int i = 0; i < BOMBS; i++) {
        Bomb* bomb = &env->bombs[i];
        if (bomb->falling) DrawCircle((int)(bomb->x * px), (int)(bomb->y * px), BLAST * px / 2, RED);
    }
    for (int i = 0; i < SHELLS; i++) {
        Shell* shell = &env->shells[i];
        if (shell->flying) DrawCircle((int)(shell->x * px), (int)(shell->y * px), 5, YELLOW);
    }
    DrawRectangle((int)(env->gun * px) - 10, ground - 12, 20, 12, SKYBLUE);
    EndDrawing();
}

void c_close(Flak* env) {
}
