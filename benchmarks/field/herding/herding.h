/* herding.h -- dogs lead sheep into a fold in the middle of a field.  Many agents, two
 * continuous actions each.
 *
 *      +------------------------------------+
 *      |   s  s                       D     |     D   a dog: an agent
 *      | D                  s               |     s   a sheep: follows a dog that is near
 *      |               ( )            s     |    ( )  the fold: +1 for the dog that led it in
 *      |        s                   s       |
 *      |  D                    D            |
 *      +------------------------------------+
 *
 * A sheep follows the nearest dog that it hears, a little slower than a dog can run: whoever
 * runs too fast loses it, and whoever comes nearer takes it over.
 *
 * Each dog has a day of its own. It begins fresh somewhere along the fence, and ends when the
 * dog has brought in its quota of sheep, or when it is too tired to go on. Then that dog, and
 * no other, begins anew; the field and the sheep stay as they are. A sheep that was brought in
 * is replaced by another one somewhere on the field.
 *
 * Units: length in pixels, time in ticks, speed in pixels per tick. x to the right, y down.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "raylib.h"

#define NEAR_SHEEP   4          // so many sheep are seen
#define NEAR_DOGS    3          // and so many other dogs
#define SHEEP_WIDTH  5
#define DOG_WIDTH    3

// What a dog sees. Things farther away than `sight` are not seen; those in sight are listed by
// distance, the nearest first, and the rest of a list is 0
enum {
    OBS_FOLD_X,                 // [-1, 1]  the fold's centre from here, in half widths
    OBS_FOLD_Y,                 // [-1, 1]  in half heights
    OBS_SPEED_X,                // [-1, 1]  own speed, share of the greatest
    OBS_SPEED_Y,                // [-1, 1]
    OBS_STAMINA,                // [ 0, 1]  what is left of it
    OBS_QUOTA,                  // [ 0, 1]  share of the quota brought in
    OBS_SHEEP,                  // list NEAR_SHEEP x SHEEP_WIDTH, mask 0
                                // 1, dx / sight, dy / sight, vx, vy
    OBS_DOGS = OBS_SHEEP + NEAR_SHEEP * SHEEP_WIDTH,    // list NEAR_DOGS x DOG_WIDTH, mask 0
                                // 1, dx / sight, dy / sight
    OBS_COUNT = OBS_DOGS + NEAR_DOGS * DOG_WIDTH
};
#define OBS_SIZE OBS_COUNT

#define ACT_SIZES {1, 1}        // the speed to aim at, x and y, in shares of dog_speed: [-1, 1]
enum { AIM_X, AIM_Y, AIM_COUNT };

#define HEEL         12.0f      // a sheep that follows comes as near as this
#define GRIP         0.5f       // share of the way to the speed aimed at that a tick makes
#define WANDER       0.4f       // pixels a tick each way that a sheep strays
#define TRIES        64         // at a place outside of the fold; where there is none, inside

typedef struct Log {            // sums over the days of dogs, divided by n when reported
    float perf;                 // [0, 1]  share of the quota that was brought in
    float score;                // sheep brought in
    float episode_return;       // sum of that dog's rewards
    float episode_length;       // ticks of that dog's day
    float n;
} Log;

typedef struct Dog {
    float x, y;                 // [0, width], [0, height]
    float vx, vy;               // at most dog_speed long
    float stamina;              // [0, stamina]
    int brought;                // sheep of this day, [0, quota]
    int tick;                   // of this day
    float day_return;
} Dog;

typedef struct Sheep {
    float x, y;
    float vx, vy;               // [-1, 1] its last tick's way, share of the longest possible
    int leader;                 // the dog that it followed last, or -1
} Sheep;

typedef struct Near { int index; float distance; } Near;     // an entry of a list by distance

typedef struct Herding {
    Log log;
    float* observations;        // (num_agents, OBS_SIZE)
    float* actions;             // (num_agents, AIM_COUNT)
    float* rewards;             // (num_agents)
    float* terminals;           // (num_agents)
    unsigned int rng;

    // [env]
    int num_agents;             // dogs
    int num_sheep;
    float width, height;
    float fold_radius;
    float sight;
    float call;                 // a sheep follows the nearest dog, if it is nearer than this
    float dog_speed, sheep_speed;
    float stamina;              // a tick takes 1, and up to 1 more at full speed
    int quota;
    float reward_progress;      // for leading a sheep as far as half the field's width
    float reward_tired;

    Dog* dogs;                  // (num_agents)     from init to c_close
    Sheep* sheep;               // (num_sheep)      the same
} Herding;

// Uniform in [low, high)
static inline float random_between(unsigned int* rng, float low, float high) {
    unsigned int bits = (*rng += 0x9E3779B9u);
    bits = (bits ^ (bits >> 16)) * 0x21F0AAADu;
    bits = (bits ^ (bits >> 15)) * 0x735A2D97u;
    bits ^= bits >> 15;
    return low + (high - low) * ((float)(bits >> 8) / 16777216.0f);
}

static inline float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

static inline float fold_distance(const Herding* env, float x, float y) {
    return hypotf(x - 0.5f * env->width, y - 0.5f * env->height);
}

// Somewhere on the field, outside of the fold and with some room around it
static void place_sheep(Herding* env, Sheep* sheep) {
    for (int i = 0; i < TRIES; i++) {
        sheep->x = random_between(&env->rng, 0.0f, env->width);
        sheep->y = random_between(&env->rng, 0.0f, env->height);
        if (fold_distance(env, sheep->x, sheep->y) >= 2.0f * env->fold_radius) break;
    }
    sheep->vx = sheep->vy = 0.0f;
    sheep->leader = -1;
}

// At a random place of the fence, fresh
static void place_dog(Herding* env, Dog* dog) {
    float side = random_between(&env->rng, 0.0f, 4.0f);
    float along = side - floorf(side);
    if (side < 2.0f) {
        dog->x = along * env->width;
        dog->y = side < 1.0f ? 0.0f : env->height;
    } else {
        dog->x = side < 3.0f ? 0.0f : env->width;
        dog->y = along * env->height;
    }
    dog->vx = dog->vy = 0.0f;
    dog->stamina = env->stamina;
    dog->brought = 0;
    dog->tick = 0;
    dog->day_return = 0.0f;
}

// Puts something into a list of at most `limit` entries by distance, the nearest first; what
// no longer fits falls off the end. Returns the new length
static inline int insert(Near* list, int length, int limit, int index, float distance) {
    int place = length < limit ? length : limit;
    while (place > 0 && list[place - 1].distance > distance) {
        if (place < limit) list[place] = list[place - 1];
        place -= 1;
    }
    if (place < limit) {
        list[place].index = index;
        list[place].distance = distance;
    }
    return length < limit ? length + 1 : length;
}

static void observe_dog(Herding* env, int d) {
    const Dog* dog = &env->dogs[d];
    float* row = env->observations + (size_t)d * OBS_SIZE;
    row[OBS_FOLD_X] = (0.5f * env->width - dog->x) / (0.5f * env->width);
    row[OBS_FOLD_Y] = (0.5f * env->height - dog->y) / (0.5f * env->height);
    row[OBS_SPEED_X] = dog->vx / env->dog_speed;
    row[OBS_SPEED_Y] = dog->vy / env->dog_speed;
    row[OBS_STAMINA] = dog->stamina / env->stamina;
    row[OBS_QUOTA] = (float)dog->brought / (float)env->quota;

    Near flock[NEAR_SHEEP];
    int seen = 0;
    for (int s = 0; s < env->num_sheep; s++) {
        float distance = hypotf(env->sheep[s].x - dog->x, env->sheep[s].y - dog->y);
        if (distance <= env->sight) {
            seen = insert(flock, seen, NEAR_SHEEP, s, distance);
        }
    }
    float* out = row + OBS_SHEEP;
    for (int i = 0; i < NEAR_SHEEP; i++, out += SHEEP_WIDTH) {
        const Sheep* sheep = i < seen ? &env->sheep[flock[i].index] : NULL;
        out[0] = sheep ? 1.0f : 0.0f;
        out[1] = sheep ? (sheep->x - dog->x) / env->sight : 0.0f;
        out[2] = sheep ? (sheep->y - dog->y) / env->sight : 0.0f;
        out[3] = sheep ? sheep->vx : 0.0f;
        out[4] = sheep ? sheep->vy : 0.0f;
    }

    Near pack[NEAR_DOGS];
    int mates = 0;
    for (int other = 0; other < env->num_agents; other++) {
        float distance = hypotf(env->dogs[other].x - dog->x, env->dogs[other].y - dog->y);
        if (other != d && distance <= env->sight) {
            mates = insert(pack, mates, NEAR_DOGS, other, distance);
        }
    }
    out = row + OBS_DOGS;
    for (int i = 0; i < NEAR_DOGS; i++, out += DOG_WIDTH) {
        const Dog* mate = i < mates ? &env->dogs[pack[i].index] : NULL;
        out[0] = mate ? 1.0f : 0.0f;
        out[1] = mate ? (mate->x - dog->x) / env->sight : 0.0f;
        out[2] = mate ? (mate->y - dog->y) / env->sight : 0.0f;
    }
}

static void observe(Herding* env) {
    for (int d = 0; d < env->num_agents; d++) observe_dog(env, d);
}

void init(Herding* env) {
    if (env->quota < 1) env->quota = 1;
    env->dogs = (Dog*)calloc((size_t)env->num_agents, sizeof(Dog));
    env->sheep = (Sheep*)calloc((size_t)env->num_sheep, sizeof(Sheep));
}

void c_close(Herding* env) {
    free(env->dogs);
    free(env->sheep);
}

// Begins the whole field. Happens once: from then on single dogs begin anew
void c_reset(Herding* env) {
    for (int s = 0; s < env->num_sheep; s++) {
        place_sheep(env, &env->sheep[s]);
    }
    for (int d = 0; d < env->num_agents; d++) {
        place_dog(env, &env->dogs[d]);
    }
    observe(env);
}

// Takes up the speed aimed at, bit by bit, and pays for it. Aims longer than 1 count as 1
static void move_dog(Herding* env, Dog* dog, const float* aim) {
    float x = clamp(aim[AIM_X], -1.0f, 1.0f), y = clamp(aim[AIM_Y], -1.0f, 1.0f);
    float length = hypotf(x, y);
    if (length > 1.0f) {
        x /= length;
        y /= length;
    }
    dog->vx += GRIP * (x * env->dog_speed - dog->vx);
    dog->vy += GRIP * (y * env->dog_speed - dog->vy);
    dog->x = clamp(dog->x + dog->vx, 0.0f, env->width);
    dog->y = clamp(dog->y + dog->vy, 0.0f, env->height);
    float effort = hypotf(dog->vx, dog->vy) / env->dog_speed;
    dog->stamina = fmaxf(0.0f, dog->stamina - 1.0f - fminf(effort, 1.0f));
    dog->tick += 1;
}

// A sheep strays, or follows the nearest dog that it hears, which is its leader from now on
static void move_sheep(Herding* env, Sheep* sheep) {
    float vx = random_between(&env->rng, -WANDER, WANDER);
    float vy = random_between(&env->rng, -WANDER, WANDER);
    float nearest = env->call;
    int leader = -1;
    for (int d = 0; d < env->num_agents; d++) {
        float distance = hypotf(env->dogs[d].x - sheep->x, env->dogs[d].y - sheep->y);
        if (distance < nearest) {
            nearest = distance;
            leader = d;
        }
    }
    if (leader >= 0 && nearest > HEEL) {
        float speed = fminf(env->sheep_speed, nearest - HEEL);
        vx += speed * (env->dogs[leader].x - sheep->x) / nearest;
        vy += speed * (env->dogs[leader].y - sheep->y) / nearest;
    }
    float x = clamp(sheep->x + vx, 0.0f, env->width);
    float y = clamp(sheep->y + vy, 0.0f, env->height);
    if (leader >= 0) {
        float nearer = fold_distance(env, sheep->x, sheep->y) - fold_distance(env, x, y);
        env->rewards[leader] += env->reward_progress * nearer / (0.5f * env->width);
        sheep->leader = leader;
    }
    float limit = env->sheep_speed + WANDER;
    sheep->vx = clamp((x - sheep->x) / limit, -1.0f, 1.0f);
    sheep->vy = clamp((y - sheep->y) / limit, -1.0f, 1.0f);
    sheep->x = x;
    sheep->y = y;
}

static void end_day(Herding* env, int d) {
    Dog* dog = &env->dogs[d];
    env->terminals[d] = 1.0f;
    env->log.perf += (float)dog->brought / (float)env->quota;
    env->log.score += (float)dog->brought;
    env->log.episode_return += dog->day_return;
    env->log.episode_length += (float)dog->tick;
    env->log.n += 1.0f;
    for (int s = 0; s < env->num_sheep; s++) {      // those are not to the credit of its next day
        if (env->sheep[s].leader == d) env->sheep[s].leader = -1;
    }
    place_dog(env, dog);
}

// One tick: dogs run, sheep run, sheep in the fold are counted, days end, all dogs look
void c_step(Herding* env) {
    for (int d = 0; d < env->num_agents; d++) {
        env->rewards[d] = 0.0f;
        env->terminals[d] = 0.0f;
        move_dog(env, &env->dogs[d], &env->actions[d * AIM_COUNT]);
    }
    for (int s = 0; s < env->num_sheep; s++) {
        Sheep* sheep = &env->sheep[s];
        move_sheep(env, sheep);
        if (fold_distance(env, sheep->x, sheep->y) > env->fold_radius) {
            continue;
        }
        if (sheep->leader >= 0 && env->dogs[sheep->leader].brought < env->quota) {
            env->dogs[sheep->leader].brought += 1;
            env->rewards[sheep->leader] += 1.0f;
        }
        place_sheep(env, sheep);
    }
    for (int d = 0; d < env->num_agents; d++) {
        Dog* dog = &env->dogs[d];
        bool done = dog->brought >= env->quota;
        bool tired = dog->stamina <= 0.0f && !done;
        if (tired) env->rewards[d] += env->reward_tired;
        dog->day_return += env->rewards[d];
        if (done || tired) end_day(env, d);
    }
    observe(env);                   // last: some of them may just have moved to the fence
}

void c_render(Herding* env) {
    const Color grass = {34, 68, 40, 255}, wood = {150, 105, 60, 255};
    const Color teal = {0, 205, 190, 255}, red = {235, 70, 80, 255};
    if (!IsWindowReady()) {
        InitWindow((int)env->width, (int)env->height, "herding");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground(grass);
    DrawCircleLines((int)(0.5f * env->width), (int)(0.5f * env->height), env->fold_radius, wood);
    for (int s = 0; s < env->num_sheep; s++) {
        DrawCircle((int)env->sheep[s].x, (int)env->sheep[s].y, 5.0f, RAYWHITE);
    }
    for (int d = 0; d < env->num_agents; d++) {
        const Dog* dog = &env->dogs[d];
        DrawCircle((int)dog->x, (int)dog->y, 6.0f, d == 0 ? red : teal);
        DrawRectangle((int)dog->x - 8, (int)dog->y - 12,
                      (int)(16.0f * dog->stamina / env->stamina), 3, teal);
    }
    DrawText(TextFormat("dog 0: %d of %d", env->dogs[0].brought, env->quota), 10, 8, 20, red);
    EndDrawing();
}
