/* Ice fishing. Several fishers share a frozen lake and each has a day of their own:
 * it begins when they walk onto the ice and ends when the bucket is full (good), when
 * they are frozen stiff (bad) or when the ice gives way (worse). Then that one fisher
 * starts a new day somewhere else, while the others go on.
 *
 * Standing on ice wears it, moving off lets it grow back. Drilling for fish wears it more. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define PATCH 3                                 // ice seen around oneself
#define NUM_OBS (PATCH * PATCH + 8)
#define OBS_SIZE NUM_OBS
#define ACT_SIZES {6}

enum { ACTION_STAY, ACTION_NORTH, ACTION_SOUTH, ACTION_WEST, ACTION_EAST, ACTION_FISH };

#define COMPANY 3           // fishers this near chat, which keeps warm

typedef struct Log {
    float perf, score, episode_return, episode_length, n;
} Log;

typedef struct Fisher {
    int x, y;
    int bucket;
    int day;                // ticks since stepping onto the ice
    float warmth, income;   // 1 .. 0; sum of rewards of the day
    int nibble;             // did the last cast catch something?
} Fisher;

typedef struct IceFish {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int width, height, quota;
    float frost;            // warmth lost per tick
    float wear;             // ice worn per cast
    Fisher* fishers;        // num_agents
    float* ice;             // width * height, 0 .. 1
    float* shoal;           // width * height, chance of a bite
} IceFish;

static float random_unit(IceFish* env) {
    unsigned int x = env->rng;
    x = x * 747796405u + 2891336453u;
    env->rng = x;
    x = ((x >> ((x >> 28) + 4u)) ^ x) * 277803737u;
    x = (x >> 22) ^ x;
    return (float)(x >> 8) / 16777216.0f;
}

static int random_int(IceFish* env, int n) {
    int k = (int)(random_unit(env) * (float)n);
    return k < n ? k : n - 1;
}

void init(IceFish* env) {
    if (env->quota < 1) env->quota = 1;
    int cells = env->width * env->height;
    env->fishers = (Fisher*)calloc(env->num_agents, sizeof(Fisher));
    env->ice = (float*)calloc(cells, sizeof(float));
    env->shoal = (float*)calloc(cells, sizeof(float));
}

void c_close(IceFish* env) {
    free(env->fishers);
    free(env->ice);
    free(env->shoal);
}

static float ice_at(IceFish* env, int x, int y) {
    if (x < 0 || y < 0 || x >= env->width || y >= env->height) return -1.0f;    // the shore
    return env->ice[y * env->width + x];
}

static void new_day(IceFish* env, Fisher* f) {
    f->x = random_int(env, env->width);
    f->y = random_int(env, env->height);
    f->bucket = f->day = 0;
    f->warmth = 1.0f;
    f->income = 0.0f;
    f->nibble = 0;
    env->ice[f->y * env->width + f->x] = 1.0f;      // they look before they step
}

// How many others are near, and which way they are on average
static int company(IceFish* env, int who, float* east, float* south) {
    Fisher* me = &env->fishers[who];
    int count = 0;
    *east = *south = 0.0f;
    for (int i = 0; i < env->num_agents; i++) {
        Fisher* other = &env->fishers[i];
        int dx = other->x - me->x, dy = other->y - me->y;
        if (i == who || abs(dx) > COMPANY || abs(dy) > COMPANY) continue;
        *east += (float)dx / COMPANY;
        *south += (float)dy / COMPANY;
        count++;
    }
    if (count > 0) {
        *east /= (float)count;
        *south /= (float)count;
    }
    return count;
}

static void compute_observations(IceFish* env) {
    for (int i = 0; i < env->num_agents; i++) {
        float* obs = &env->observations[i * NUM_OBS];
        Fisher* f = &env->fishers[i];
        int k = 0;
        for (int c = 0; c < PATCH * PATCH; c++) obs[k++] = ice_at(env, f->x + c % PATCH - 1, f->y + c / PATCH - 1);
        float east, south;
        int near = company(env, i, &east, &south);
        obs[k++] = east;
        obs[k++] = south;
        obs[k++] = near / (float)env->num_agents;
        obs[k++] = f->warmth;
        obs[k++] = (float)f->bucket / (float)env->quota;
        obs[k++] = (float)f->nibble;
        obs[k++] = (float)f->x / (float)env->width;
        obs[k++] = (float)f->y / (float)env->height;
    }
}

void c_reset(IceFish* env) {
    int cells = env->width * env->height;
    for (int i = 0; i < cells; i++) {
        env->ice[i] = 0.4f + 0.6f * random_unit(env);
        env->shoal[i] = 0.5f * random_unit(env);
    }
    for (int i = 0; i < env->num_agents; i++) new_day(env, &env->fishers[i]);
    compute_observations(env);
}

static void end_day(IceFish* env, Fisher* f) {
    env->log.perf += (float)f->bucket / (float)env->quota;
    env->log.score += (float)f->bucket;
    env->log.episode_return += f->income;
    env->log.episode_length += (float)f->day;
    env->log.n += 1.0f;
    new_day(env, f);
}

void c_step(IceFish* env) {
    int cells = env->width * env->height;
    for (int i = 0; i < cells; i++) env->ice[i] = fminf(1.0f, env->ice[i] + 0.004f);
    for (int i = 0; i < env->num_agents; i++) {
        Fisher* f = &env->fishers[i];
        int action = (int)env->actions[i];
        float reward = 0.0f;
        int done = 0;
        f->day++;
        f->nibble = 0;
        if (action == ACTION_NORTH && f->y > 0) f->y--;
        if (action == ACTION_SOUTH && f->y < env->height - 1) f->y++;
        if (action == ACTION_WEST && f->x > 0) f->x--;
        if (action == ACTION_EAST && f->x < env->width - 1) f->x++;
        int cell = f->y * env->width + f->x;
        env->ice[cell] -= 0.02f;
        if (action == ACTION_FISH) {
            env->ice[cell] -= env->wear;
            if (random_unit(env) < env->shoal[cell]) {
                env->shoal[cell] *= 0.9f;
                f->nibble = 1;
                f->bucket++;
                reward += 0.2f;
            }
        } else {
            env->shoal[cell] = fminf(0.5f, env->shoal[cell] + 0.01f);
        }
        float east, south;
        int chatting = company(env, i, &east, &south) > 0;
        f->warmth -= chatting ? 0.5f * env->frost : env->frost;
        if (env->ice[cell] <= 0.0f) {
            env->ice[cell] = 0.0f;
            reward -= 1.0f, done = 1;
        } else if (f->bucket >= env->quota) {
            reward += 1.0f, done = 1;
        } else if (f->warmth <= 0.0f) {
            reward -= 0.5f, done = 1;
        }
        f->income += reward;
        env->rewards[i] = reward;
        env->terminals[i] = (float)done;
        if (done) end_day(env, f);
    }
    compute_observations(env);
}

void c_render(IceFish* env) {
    const int px = 40;
    if (!IsWindowReady()) InitWindow(env->width * px, env->height * px, "ice fishing");
    BeginDrawing(), ClearBackground(DARKBLUE);
    for (int i = 0; i < env->num_agents; i++) {
        DrawCircle(env->fishers[i].x * px + px / 2, env->fishers[i].y * px + px / 2, 12.0f, BROWN);
    }
    EndDrawing();
}
