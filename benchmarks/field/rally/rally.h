// rally.h : up to 8 cars on a wavy ring road, seen through seven range finders.
// The race is one episode for everybody: it ends when somebody is home, when all are wrecked
// or when the marshals call it a day.
#pragma once

#include <math.h>
#include <string.h>
#include "raylib.h"

#define MAX_CARS   8
#define RAYS       7
#define OBS_SIZE   (RAYS + 8)
#define ACT_SIZES  {3, 3}            // wheel: left, straight, right; pedal: brake, coast, gas

#define TAU        6.2831853f
#define SECTORS    24
#define HALF_ROAD  7.0f
#define RAY_LENGTH 40.0f
#define RAY_STEP   0.5f
#define TOP_SPEED  1.6f

typedef struct Log {
    float perf;            // share of the race that was driven
    float score;           // sectors passed
    float episode_return;
    float episode_length;
    float wrecks;
    float n;
} Log;

typedef struct Car {
    float x, y, heading, speed;
    int sector;            // where it is
    int passed;            // sectors passed, forward only; goes down when driving back
    int best;              // the most it ever was: only new ground pays
    int wrecked;
    int lastTurn;
    float ret;
} Car;

typedef struct Rally {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int laps;
    int max_ticks;
    float radius;
    float wave;            // how far the road swings in and out
    Car cars[MAX_CARS];
    float phase;           // of the wave: every race has its own road
    int tick;
    int limit;
} Rally;

static float randf(Rally* env) {
    unsigned int x = env->rng;
    env->rng = x * 1103515245u + 12345u;
    x = env->rng ^ (env->rng >> 15);
    x *= 0x2C1B3C6Du;
    x ^= x >> 12;
    return (float)(x >> 8) / 16777216.0f;
}

static float roadRadius(const Rally* env, float angle) {
    return env->radius + env->wave * sinf(3.0f * angle + env->phase);
}

static int onRoad(const Rally* env, float x, float y) {
    float r = sqrtf(x * x + y * y);
    return fabsf(r - roadRadius(env, atan2f(y, x))) < HALF_ROAD;
}

static int sectorOf(float x, float y) {
    float angle = atan2f(y, x);
    if (angle < 0.0f) angle += TAU;
    int s = (int)(angle / TAU * SECTORS);
    return s >= SECTORS ? SECTORS - 1 : s;
}

// How far the road goes on in a direction, in [0, RAY_LENGTH]
static float castRay(const Rally* env, float x, float y, float angle) {
    float dx = cosf(angle) * RAY_STEP, dy = sinf(angle) * RAY_STEP;
    float length = 0.0f;
    while (length < RAY_LENGTH && onRoad(env, x + dx, y + dy)) {
        x += dx;
        y += dy;
        length += RAY_STEP;
    }
    return length;
}

static void observe(Rally* env) {
    int lead = -SECTORS;
    for (int i = 0; i < env->num_agents; i++) {
        if (env->cars[i].passed > lead) lead = env->cars[i].passed;
    }
    for (int i = 0; i < env->num_agents; i++) {
        const Car* car = &env->cars[i];
        float* row = env->observations + i * OBS_SIZE;
        for (int k = 0; k < RAYS; k++) {
            float angle = car->heading + (float)(k - RAYS / 2) * (TAU / 16.0f);
            row[k] = castRay(env, car->x, car->y, angle) / RAY_LENGTH;
        }
        // along: +1 if the nose points down the road, -1 against it; across: to which side
        float r = sqrtf(car->x * car->x + car->y * car->y);
        float nx = car->x / r, ny = car->y / r;
        float cx = cosf(car->heading), cy = sinf(car->heading);
        row[RAYS + 0] = car->speed / TOP_SPEED;
        row[RAYS + 1] = nx * cy - ny * cx;
        row[RAYS + 2] = nx * cx + ny * cy;
        row[RAYS + 3] = (float)(lead - car->passed) / SECTORS;
        row[RAYS + 4] = (float)car->passed / (float)(SECTORS * env->laps);
        row[RAYS + 5] = (float)car->lastTurn;
        row[RAYS + 6] = car->wrecked ? 1.0f : 0.0f;
        row[RAYS + 7] = (float)env->tick / (float)env->limit;
    }
}

void init(Rally* env) {
    if (env->num_agents > MAX_CARS) env->num_agents = MAX_CARS;
    if (env->laps < 1) env->laps = 1;
    if (env->max_ticks < 2) env->max_ticks = 2;
}

void c_reset(Rally* env) {
    env->tick = 0;
    env->limit = env->max_ticks / 2 + (int)(randf(env) * (float)(env->max_ticks / 2));
    env->phase = randf(env) * TAU;
    for (int i = 0; i < env->num_agents; i++) {
        Car* car = &env->cars[i];
        float angle = 0.02f + 0.08f * (float)i;
        float r = roadRadius(env, angle) + (randf(env) - 0.5f) * 4.0f;
        car->x = r * cosf(angle);
        car->y = r * sinf(angle);
        car->heading = angle + TAU / 4.0f;      // counter-clockwise is forward
        car->speed = 0.0f;
        car->sector = sectorOf(car->x, car->y);
        car->passed = 0;
        car->best = 0;
        car->wrecked = 0;
        car->lastTurn = 0;
        car->ret = 0.0f;
    }
    observe(env);
}

void c_step(Rally* env) {
    int home = -1, running = 0;
    memset(env->rewards, 0, (size_t)env->num_agents * sizeof(float));
    memset(env->terminals, 0, (size_t)env->num_agents * sizeof(float));
    env->tick++;

    for (int i = 0; i < env->num_agents; i++) {
        Car* car = &env->cars[i];
        if (car->wrecked) continue;

        // drive
        int turn = (int)env->actions[2 * i] - 1;
        int pedal = (int)env->actions[2 * i + 1];
        car->lastTurn = turn;
        switch (pedal) {
            case 0: car->speed -= 0.06f; break;
            case 2: car->speed += 0.06f; break;
            default: car->speed *= 0.98f; break;
        }
        if (car->speed < -0.3f) car->speed = -0.3f;     // reverse gear
        if (car->speed > TOP_SPEED) car->speed = TOP_SPEED;
        car->heading += 0.09f * (float)turn;
        if (car->heading < 0.0f) car->heading += TAU;
        if (car->heading >= TAU) car->heading -= TAU;
        car->x += car->speed * cosf(car->heading);
        car->y += car->speed * sinf(car->heading);

        // off the road, or into the back of somebody
        float reward = 0.0f;
        int hit = !onRoad(env, car->x, car->y);
        for (int j = 0; j < env->num_agents && !hit; j++) {
            const Car* other = &env->cars[j];
            if (j == i || other->wrecked) continue;
            float dx = other->x - car->x, dy = other->y - car->y;
            float ahead = dx * cosf(car->heading) + dy * sinf(car->heading);
            if (dx * dx + dy * dy < 0.8f && ahead > 0.0f && car->speed > 0.3f) hit = 1;
        }
        if (hit) {
            car->wrecked = 1;
            car->speed = 0.0f;
            reward = -0.5f;
        } else {
            // sectors: a step is far shorter than one, so it is the next, the same or the one before
            int s = sectorOf(car->x, car->y);
            if (s != car->sector) {
                int forward = (s - car->sector + SECTORS) % SECTORS == 1;
                car->passed += forward ? 1 : -1;
                car->sector = s;
                if (car->passed > car->best) {
                    car->best = car->passed;
                    reward = 0.1f;
                }
            }
            if (car->passed >= SECTORS * env->laps && home < 0) {
                home = i;
                reward += 1.0f;
            }
            running++;
        }
        env->rewards[i] = reward;
        car->ret += reward;
    }

    if (home < 0 && running > 0 && env->tick < env->limit) {
        observe(env);
        return;
    }
    for (int i = 0; i < env->num_agents; i++) {
        const Car* car = &env->cars[i];
        env->terminals[i] = 1.0f;
        env->log.perf += (float)car->best / (float)(SECTORS * env->laps);
        env->log.score += (float)car->best;
        env->log.episode_return += car->ret;
        env->log.episode_length += (float)env->tick;
        env->log.wrecks += (float)car->wrecked;
        env->log.n += 1.0f;
    }
    c_reset(env);
}

void c_render(Rally* env) {
    const float scale = 4.0f, mid = 300.0f;
    if (!IsWindowReady()) {
        InitWindow(600, 600, "rally");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground(DARKGREEN);
    for (int k = 0; k < 360; k++) {
        float a = (float)k * TAU / 360.0f, r = roadRadius(env, a);
        DrawCircle((int)(mid + scale * r * cosf(a)), (int)(mid - scale * r * sinf(a)), scale * HALF_ROAD, DARKGRAY);
    }
    for (int i = 0; i < env->num_agents; i++) {
        const Car* car = &env->cars[i];
        DrawCircle((int)(mid + scale * car->x), (int)(mid - scale * car->y), 5.0f, car->wrecked ? BLACK : ORANGE);
    }
    EndDrawing();
}

void c_close(Rally* env) {
    (void)env;
}
