/* parking.h -- bring a car into the free bay, between parked ones, without a scratch.
 *
 *    0 +-----+-----+-----+-----+-----+-----+  x = bays * bay_width
 *      |[###]|     |[###]| BAY |     |[###]|
 *      |[###]|     |[###]|     |     |[###]|     bays along one side; any that is free may be
 *      +  -  +  -  +  -  +  -  +  -  +  -  +     the one to take, and the car knows which
 *      |                                   |
 *      |      ==>                          |     the lane, in which the car starts
 *      |                                   |
 *    y +-----------------------------------+
 *
 * Parked is: the middle of the car near the middle of its bay, the car upright in it (nose first
 * or tail first), and almost at rest.  Touching a wall or another car is a crash.
 *
 * Metres, seconds, radians.  y grows downwards; heading 0 looks along x, and grows clockwise.
 */
#pragma once
#include <math.h>
#include <stdint.h>
#include "raylib.h"

/* ---- what the driver sees ---- */
#define RAYS 12
enum {
    OBS_X,                      // [0, 1]   the middle of the car, as a part of the lot
    OBS_Y,
    OBS_COS,                    // [-1, 1]  heading
    OBS_SIN,
    OBS_SPEED,                  //          forwards is positive
    OBS_WHEEL,
    OBS_BAY_AHEAD,              //          the way to the bay, from the driver's seat
    OBS_BAY_RIGHT,
    OBS_CLOCK,                  // [0, 1]   1 when the time is up
    OBS_RAY,                    // [0, 1]   free way around the car, all of `sight` is 1
    OBS_SIZE_ = OBS_RAY + RAYS
};
#define OBS_SIZE OBS_SIZE_

/* ---- what the driver does ---- */
#define STEERS 5                // turns the wheel by (id - 2) * WHEEL_STEP
#define PEDALS 3                // backwards, nothing, forwards
#define ACT_SIZES {STEERS, PEDALS}

#define DT 0.1f
#define WHEEL_STEP 0.12f
#define WHEEL_MAX 0.6f
#define CAR_LENGTH 3.6f
#define CAR_WIDTH 1.6f
#define AXLES 2.2f              // from one to the other
#define BAY_DEPTH 5.0f
#define LANE 8.0f
#define STILL 0.6f              // a speed that counts as at rest
#define MAX_BAYS 16
#define TAU 6.2831853f

#define R_PARKED 1.0f
#define R_CRASH -1.0f
#define R_METRE 0.05f           // for each metre nearer to the bay

typedef struct Log {
    float perf;                 // [0, 1]  1 for parked, else up to 0.5 for having come nearer
    float score;                // [0, 1]  1 for parked
    float episode_return;
    float episode_length;
    float crashed;              // [0, 1]
    float n;
} Log;

typedef struct Box { float x0, y0, x1, y1; } Box;

typedef struct Car {
    float x, y, heading, speed, wheel;
} Car;

typedef struct Parking {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    float* final_observations;
    int num_agents;
    unsigned int rng;

    /* settings */
    int bays;
    float bay_width;
    float crowding;             // chance that a bay is taken
    float easy;                 // share of episodes that start right before the bay
    float power;                // m/s^2 of either pedal
    float drag;                 // part of the speed lost in a second
    float top_speed;            // m/s, either way
    float tolerance;            // metres from the middle of the bay, and half of it in radians
    float sight;                // metres
    int patience;               // ticks until it is called off

    /* one episode */
    Car car;
    char taken[MAX_BAYS];
    int bay;
    int tick;
    float start;                // metres to the bay at first,
    float distance;             // and now
    float total;                // of the rewards
} Parking;

/* A congruential step, its bits mixed (PCG). [0, 1) */
static inline float draw(Parking* env) {
    uint32_t s = env->rng;
    env->rng = s * 747796405u + 2891336453u;
    uint32_t word = ((s >> ((s >> 28) + 4)) ^ s) * 277803737u;
    word ^= word >> 22;
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

static inline float bound(float v, float low, float high) {
    return fminf(fmaxf(v, low), high);
}

static inline float lot_width(const Parking* env)  { return (float)env->bays * env->bay_width; }
static inline float lot_height(void)               { return BAY_DEPTH + LANE; }
static inline float bay_x(const Parking* env, int b) { return ((float)b + 0.5f) * env->bay_width; }

static inline Box parked_car(const Parking* env, int b) {
    Box box = {bay_x(env, b) - CAR_WIDTH / 2, BAY_DEPTH / 2 - CAR_LENGTH / 2,
               bay_x(env, b) + CAR_WIDTH / 2, BAY_DEPTH / 2 + CAR_LENGTH / 2};
    return box;
}

static inline float to_bay(const Parking* env) {
    return hypotf(bay_x(env, env->bay) - env->car.x, BAY_DEPTH / 2 - env->car.y);
}

/* ---- touching ---- */

/* Our car against an upright box: apart if they are along one of the four sides' directions */
static int overlaps(const Car* car, Box box) {
    float c = cosf(car->heading), s = sinf(car->heading);
    float dx = (box.x0 + box.x1) / 2 - car->x, dy = (box.y0 + box.y1) / 2 - car->y;
    float w = (box.x1 - box.x0) / 2, h = (box.y1 - box.y0) / 2;
    float l = CAR_LENGTH / 2, b = CAR_WIDTH / 2;
    if (fabsf(dx) > w + fabsf(c) * l + fabsf(s) * b) return 0;
    if (fabsf(dy) > h + fabsf(s) * l + fabsf(c) * b) return 0;
    if (fabsf(dx * c + dy * s) > l + fabsf(c) * w + fabsf(s) * h) return 0;
    if (fabsf(dy * c - dx * s) > b + fabsf(s) * w + fabsf(c) * h) return 0;
    return 1;
}

static int crashed(const Parking* env) {
    const Car* car = &env->car;
    float c = fabsf(cosf(car->heading)), s = fabsf(sinf(car->heading));
    float reach_x = (c * CAR_LENGTH + s * CAR_WIDTH) / 2;
    float reach_y = (s * CAR_LENGTH + c * CAR_WIDTH) / 2;
    if (car->x < reach_x || car->x > lot_width(env) - reach_x) return 1;
    if (car->y < reach_y || car->y > lot_height() - reach_y) return 1;
    for (int b = 0; b < env->bays; b++) {
        if (env->taken[b] && overlaps(car, parked_car(env, b))) return 1;
    }
    return 0;
}

static int parked(const Parking* env) {
    return to_bay(env) < env->tolerance
        && fabsf(cosf(env->car.heading)) < sinf(env->tolerance / 2)
        && fabsf(env->car.speed) < STILL;
}

/* ---- seeing ---- */

/* How far a ray goes from outside of a box before it meets it; `far` if it does not */
static float ray_to_box(float x, float y, float dx, float dy, Box box, float far) {
    float in = 0, out = far;
    if (fabsf(dx) < 1e-6f) {
        if (x < box.x0 || x > box.x1) return far;
    } else {
        float a = (box.x0 - x) / dx, b = (box.x1 - x) / dx;
        in = fmaxf(in, fminf(a, b));
        out = fminf(out, fmaxf(a, b));
    }
    if (fabsf(dy) < 1e-6f) {
        if (y < box.y0 || y > box.y1) return far;
    } else {
        float a = (box.y0 - y) / dy, b = (box.y1 - y) / dy;
        in = fmaxf(in, fminf(a, b));
        out = fminf(out, fmaxf(a, b));
    }
    return in <= out ? in : far;
}

static float free_way(const Parking* env, float angle) {
    float x = env->car.x, y = env->car.y, dx = cosf(angle), dy = sinf(angle);
    float way = lot_width(env) + lot_height();
    if (dx > 1e-6f)  way = fminf(way, (lot_width(env) - x) / dx);
    if (dx < -1e-6f) way = fminf(way, -x / dx);
    if (dy > 1e-6f)  way = fminf(way, (lot_height() - y) / dy);
    if (dy < -1e-6f) way = fminf(way, -y / dy);
    for (int b = 0; b < env->bays; b++) {
        if (env->taken[b]) way = ray_to_box(x, y, dx, dy, parked_car(env, b), way);
    }
    return fmaxf(way, 0.0f);
}

static void look(const Parking* env, float* obs) {
    const Car* car = &env->car;
    float c = cosf(car->heading), s = sinf(car->heading);
    float dx = bay_x(env, env->bay) - car->x, dy = BAY_DEPTH / 2 - car->y;
    float span = hypotf(lot_width(env), lot_height());
    obs[OBS_X] = bound(car->x / lot_width(env), 0, 1);
    obs[OBS_Y] = bound(car->y / lot_height(), 0, 1);
    obs[OBS_COS] = c;
    obs[OBS_SIN] = s;
    obs[OBS_SPEED] = car->speed / env->top_speed;
    obs[OBS_WHEEL] = car->wheel / WHEEL_MAX;
    obs[OBS_BAY_AHEAD] = bound((dx * c + dy * s) / span, -1, 1);
    obs[OBS_BAY_RIGHT] = bound((dy * c - dx * s) / span, -1, 1);
    obs[OBS_CLOCK] = (float)env->tick / (float)env->patience;
    for (int r = 0; r < RAYS; r++) {
        float way = free_way(env, car->heading + TAU * (float)r / RAYS);
        obs[OBS_RAY + r] = fminf(way / env->sight, 1.0f);
    }
}

/* ---- the four functions, and init ---- */

void init(Parking* env) {
    if (env->bays < 3) env->bays = 3;
    if (env->bays > MAX_BAYS) env->bays = MAX_BAYS;
    env->bay_width = fmaxf(env->bay_width, 2.6f);
}

void c_close(Parking* env) {
    (void)env;
}

void c_reset(Parking* env) {
    for (int b = 0; b < env->bays; b++) {
        env->taken[b] = draw(env) < env->crowding;
    }
    env->taken[(int)(draw(env) * (float)env->bays)] = 0;       // one at least is free
    env->bay = (int)(draw(env) * (float)env->bays);
    while (env->taken[env->bay]) {
        env->bay = (env->bay + 1) % env->bays;
    }

    /* Right before the bay, or in the lane and more or less along it. Clear of everything */
    if (draw(env) < env->easy) {
        env->car.x = bay_x(env, env->bay) + 0.4f * (draw(env) - 0.5f);
        env->car.y = BAY_DEPTH - 0.5f + 1.5f * draw(env);
        env->car.heading = 0.75f * TAU + 0.2f * (draw(env) - 0.5f);
    } else {
        env->car.x = 2.6f + (lot_width(env) - 5.2f) * draw(env);
        env->car.y = BAY_DEPTH + LANE * (0.45f + 0.2f * draw(env));
        env->car.heading = (draw(env) - 0.5f) * 1.2f;
        if (draw(env) < 0.5f) env->car.heading += TAU / 2;
    }
    env->car.speed = 0;
    env->car.wheel = 0;
    env->tick = 0;
    env->total = 0;
    env->start = env->distance = to_bay(env);
    look(env, env->observations);
}

/* The rear axle follows, the front one steers */
static void drive(Parking* env, int steer, int pedal) {
    Car* car = &env->car;
    car->wheel = bound(car->wheel + (float)(steer - STEERS / 2) * WHEEL_STEP, -WHEEL_MAX, WHEEL_MAX);
    car->speed += (float)(pedal - PEDALS / 2) * env->power * DT;
    car->speed -= car->speed * env->drag * DT;
    car->speed = bound(car->speed, -env->top_speed, env->top_speed);
    car->heading += car->speed * tanf(car->wheel) / AXLES * DT;
    if (car->heading >= TAU) car->heading -= TAU;
    if (car->heading < 0) car->heading += TAU;
    car->x += car->speed * cosf(car->heading) * DT;
    car->y += car->speed * sinf(car->heading) * DT;
}

static void tally(Parking* env, int won, int crash) {
    float nearer = bound(1.0f - env->distance / env->start, 0, 1);
    env->log.perf += won ? 1.0f : 0.5f * nearer;
    env->log.score += won ? 1.0f : 0.0f;
    env->log.crashed += crash ? 1.0f : 0.0f;
    env->log.episode_return += env->total;
    env->log.episode_length += (float)env->tick;
    env->log.n += 1.0f;
}

void c_step(Parking* env) {
    int steer = (int)env->actions[0];
    int pedal = (int)env->actions[1];
    drive(env, steer, pedal);
    env->tick += 1;

    float distance = to_bay(env);
    float reward = R_METRE * (env->distance - distance);
    env->distance = distance;

    int crash = crashed(env);
    int won = !crash && parked(env);
    int late = !crash && !won && env->tick >= env->patience;
    if (crash) reward += R_CRASH;
    if (won) reward += R_PARKED;
    env->total += reward;

    env->rewards[0] = reward;
    env->terminals[0] = crash || won || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (late) {
        look(env, env->final_observations);
    }
    if (crash || won || late) {
        tally(env, won, crash);
        c_reset(env);
    } else {
        look(env, env->observations);
    }
}

void c_render(Parking* env) {
    const float m = 40;         // pixels in a metre
    if (!IsWindowReady()) {
        InitWindow((int)(m * lot_width(env)), (int)(m * lot_height()), "parking");
        SetTargetFPS(20);
    }
    BeginDrawing();
    ClearBackground((Color){52, 54, 58, 255});
    for (int b = 0; b < env->bays; b++) {
        int x = (int)(m * (float)b * env->bay_width), w = (int)(m * env->bay_width);
        if (b == env->bay) DrawRectangle(x, 0, w, (int)(m * BAY_DEPTH), (Color){40, 110, 70, 255});
        DrawRectangle(x - 2, 0, 4, (int)(m * BAY_DEPTH), RAYWHITE);
        if (!env->taken[b]) continue;
        Box box = parked_car(env, b);
        DrawRectangle((int)(m * box.x0), (int)(m * box.y0), (int)(m * CAR_WIDTH),
                      (int)(m * CAR_LENGTH), (Color){120, 130, 160, 255});
    }
    Rectangle body = {m * env->car.x, m * env->car.y, m * CAR_LENGTH, m * CAR_WIDTH};
    DrawRectanglePro(body, (Vector2){m * CAR_LENGTH / 2, m * CAR_WIDTH / 2},
                     env->car.heading * 360 / TAU, (Color){230, 80, 60, 255});
    DrawCircle((int)(m * (env->car.x + 1.4f * cosf(env->car.heading))),
               (int)(m * (env->car.y + 1.4f * sinf(env->car.heading))), 6, RAYWHITE);
    DrawText(TextFormat("%d of %d", env->tick, env->patience), 12, (int)(m * lot_height()) - 30, 20, RAYWHITE);
    EndDrawing();
}
