// dogs.h: a pack of sheepdogs brings a flock into a round fold.
//
// Somewhere in the fenced field lies the fold. A sheep runs from the dogs that come near; driven
// into the fold it stays there, driven against the fence in panic it jumps and is lost. When
// nobody grazes any more the day is over for all dogs, or when more sheep are lost than the farmer
// can bear (tolerance); if it gets dark first (max_ticks), the day is cut short: a truncation.
// Every dog steers with two numbers in [-1, 1]: how sharply to turn, and how hard to run
// (below 0: it stands and gets its breath back). Metres, ticks, radians throughout.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define SEEN_SHEEP 4            // a dog keeps an eye on so many sheep, the nearest first
#define SEEN_DOGS 3             // and on so many of its fellows
enum {
    OBS_STAMINA,                // [0, 1]
    OBS_SPEED,                  // [0, 1]   of DOG_SPEED
    OBS_HEADING,                // [-1, 1]  cosine, then sine
    OBS_PLACE = OBS_HEADING + 2,// [-1, 1]  x, y; 0 is the middle of the field
    OBS_DAYLIGHT = OBS_PLACE + 2, // [0, 1] of the day that is left
    OBS_GRAZING,                // [0, 1]   share of the flock that is still to be brought in
    OBS_PATIENCE,               // [0, 1]   of the farmer
    OBS_FOLD,                   // [-1, 1]  ahead, aside: as the dog sees it
    OBS_SHEEP = OBS_FOLD + 2,   // list 4 x 4, mask 0: there, ahead, aside, panic
    OBS_DOGS = OBS_SHEEP + SEEN_SHEEP * 4, // list 3 x 3, mask 0: there, ahead, aside
    OBS_COUNT = OBS_DOGS + SEEN_DOGS * 3
};
#define OBS_SIZE OBS_COUNT
enum { ACT_TURN, ACT_RUN, ACT_HEADS };
#define ACT_SIZES {1, 1}

#define DOG_SPEED 1.6f
#define DOG_TURN 0.3f
#define EFFORT 0.05f            // breath that a tick of running at full speed takes
#define RECOVERY 0.008f         // breath that comes back every tick
#define SHEEP_SPEED 1.1f
#define FOLD_RADIUS 6.0f
#define BITE 1.5f               // closer to a sheep than this, a dog is scolded
#define JUMP 0.3f               // panic with which a sheep dares the fence

#define R_PENNED 2.0f           // for all of the flock; a sheep is worth its share
#define R_LOST -1.0f
#define R_CLEAN 1.0f            // not one lost
#define R_BITE -0.01f           // for the dog that did it

typedef struct Log {
    float perf;                 // share of the flock in the fold
    float score;                // sheep in the fold
    float episode_return;
    float episode_length;
    float lost;                 // sheep over the fence
    float dark;                 // 1 if night fell first
    float n;
} Log;

typedef enum { GRAZING, PENNED, LOST } Fate;

typedef struct Sheep {
    float x, y, panic;
    Fate fate;
} Sheep;

typedef struct Dog {
    float x, y, heading, speed;
    float stamina, earned;      // earned: rewards of this episode
} Dog;

typedef struct Dogs {
    Log log;
    float* observations;
    float* final_observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    int num_agents;
    unsigned int rng;
    int num_sheep, tolerance, max_ticks;    // settings
    float field, sight, fear, shaping;

    Dog* pack;
    Sheep* flock;
    float fold_x, fold_y;
    int grazing, penned, lost, tick;
} Dogs;

typedef struct Seen { int who; float distance; } Seen;

// PCG: a linear state, a permuted output. Any seed will do
static unsigned int draw(Dogs* env) {
    unsigned int s = env->rng;
    env->rng = s * 747796405u + 2891336453u;
    unsigned int word = ((s >> ((s >> 28) + 4u)) ^ s) * 277803737u;
    return (word >> 22) ^ word;
}

static float between(Dogs* env, float low, float high) {
    return low + (high - low) * ((float)(draw(env) >> 8) * (1.0f / 16777216.0f));
}
static float limit(float v, float low, float high) { return fminf(fmaxf(v, low), high); }
static float apart(float ax, float ay, float bx, float by) {
    float dx = ax - bx, dy = ay - by;
    return sqrtf(dx * dx + dy * dy);
}

// Puts a newcomer in its place among the `room` nearest, if it belongs there
static int rank(Seen* list, int count, int room, int who, float distance) {
    if (count == room && distance >= list[room - 1].distance) return count;
    int at = count < room ? count : room - 1;
    while (at > 0 && list[at - 1].distance > distance) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = (Seen){who, distance};
    return count < room ? count + 1 : room;
}

// (dx, dy) on the field as the dog sees it: ahead of it, and to its side
static void sighted(const Dog* dog, float dx, float dy, float scale, float* out) {
    float c = cosf(dog->heading), s = sinf(dog->heading);
    out[0] = limit((dx * c + dy * s) / scale, -1.0f, 1.0f);
    out[1] = limit((dy * c - dx * s) / scale, -1.0f, 1.0f);
}

static void look(Dogs* env, int d, float* row) {
    const Dog* dog = &env->pack[d];
    row[OBS_STAMINA] = dog->stamina;
    row[OBS_SPEED] = dog->speed / DOG_SPEED;
    row[OBS_HEADING] = cosf(dog->heading);
    row[OBS_HEADING + 1] = sinf(dog->heading);
    row[OBS_PLACE] = 2.0f * dog->x / env->field - 1.0f;
    row[OBS_PLACE + 1] = 2.0f * dog->y / env->field - 1.0f;
    row[OBS_DAYLIGHT] = 1.0f - (float)env->tick / (float)env->max_ticks;
    row[OBS_GRAZING] = (float)env->grazing / (float)env->num_sheep;
    row[OBS_PATIENCE] = 1.0f - (float)env->lost / (float)(env->tolerance + 1);
    sighted(dog, env->fold_x - dog->x, env->fold_y - dog->y, 1.4143f * env->field, &row[OBS_FOLD]);

    Seen near_sheep[SEEN_SHEEP], near_dogs[SEEN_DOGS];
    int sheep_count = 0, dog_count = 0;
    for (int i = 0; i < env->num_sheep; i++) {
        const Sheep* sheep = &env->flock[i];
        float distance = apart(sheep->x, sheep->y, dog->x, dog->y);
        if (sheep->fate != GRAZING || distance > env->sight) continue;
        sheep_count = rank(near_sheep, sheep_count, SEEN_SHEEP, i, distance);
    }
    for (int i = 0; i < env->num_agents; i++) {
        float distance = apart(env->pack[i].x, env->pack[i].y, dog->x, dog->y);
        if (i == d || distance > env->sight) continue;
        dog_count = rank(near_dogs, dog_count, SEEN_DOGS, i, distance);
    }

    for (int k = 0; k < SEEN_SHEEP; k++) {
        float* slot = &row[OBS_SHEEP + 4 * k];
        memset(slot, 0, 4 * sizeof(float));
        if (k >= sheep_count) continue;
        const Sheep* sheep = &env->flock[near_sheep[k].who];
        slot[0] = 1.0f;
        sighted(dog, sheep->x - dog->x, sheep->y - dog->y, env->sight, slot + 1);
        slot[3] = sheep->panic;
    }
    float* slot = &row[OBS_DOGS];
    for (int k = 0; k < dog_count; k++, slot += 3) {
        const Dog* fellow = &env->pack[near_dogs[k].who];
        slot[0] = 1.0f;
        sighted(dog, fellow->x - dog->x, fellow->y - dog->y, env->sight, slot + 1);
    }
    for (int k = dog_count; k < SEEN_DOGS; k++, slot += 3) slot[0] = slot[1] = slot[2] = 0.0f;
}

static void look_all(Dogs* env, float* rows) {
    for (int d = 0; d < env->num_agents; d++) look(env, d, rows + d * OBS_SIZE);
}

void init(Dogs* env) {
    if (env->num_sheep < 1) env->num_sheep = 1;
    if (env->tolerance < 0) env->tolerance = 0;
    if (env->max_ticks < 1) env->max_ticks = 1;
    if (!(env->field >= 4.0f * FOLD_RADIUS)) env->field = 4.0f * FOLD_RADIUS;
    if (!(env->sight >= 1.0f)) env->sight = 1.0f;
    if (!(env->fear >= 1.0f)) env->fear = 1.0f;
    env->pack = calloc((size_t)env->num_agents, sizeof(Dog));
    env->flock = calloc((size_t)env->num_sheep, sizeof(Sheep));
}

void c_close(Dogs* env) {
    free(env->pack);
    free(env->flock);
}

void c_reset(Dogs* env) {
    float side = env->field;
    env->tick = env->penned = env->lost = 0;
    env->grazing = env->num_sheep;
    env->fold_x = between(env, 1.5f * FOLD_RADIUS, side - 1.5f * FOLD_RADIUS);
    env->fold_y = between(env, 1.5f * FOLD_RADIUS, side - 1.5f * FOLD_RADIUS);
    for (int i = 0; i < env->num_sheep; i++) {
        Sheep* sheep = &env->flock[i];
        do {                    // the fold takes less than a quarter of the field
            sheep->x = between(env, 0.1f * side, 0.9f * side);
            sheep->y = between(env, 0.1f * side, 0.9f * side);
        } while (apart(sheep->x, sheep->y, env->fold_x, env->fold_y) <= FOLD_RADIUS);
        sheep->panic = 0.0f;
        sheep->fate = GRAZING;
    }
    for (int d = 0; d < env->num_agents; d++) {
        Dog* dog = &env->pack[d];
        dog->x = between(env, 0.0f, side);
        dog->y = between(env, 0.0f, side);
        dog->heading = between(env, -PI, PI);
        dog->speed = 0.0f;
        dog->stamina = 1.0f;
        dog->earned = 0.0f;
    }
    look_all(env, env->observations);
}

static void run_dog(Dogs* env, int d) {
    Dog* dog = &env->pack[d];
    const float* wish = &env->actions[d * ACT_HEADS];
    float turn = limit(wish[ACT_TURN], -1.0f, 1.0f);
    float run = limit(wish[ACT_RUN], 0.0f, 1.0f);
    dog->heading = remainderf(dog->heading + turn * DOG_TURN, 2.0f * PI);
    dog->stamina = limit(dog->stamina + RECOVERY - EFFORT * run * run, 0.0f, 1.0f);
    dog->speed = run * DOG_SPEED * (0.4f + 0.6f * sqrtf(dog->stamina));
    dog->x = limit(dog->x + dog->speed * cosf(dog->heading), 0.0f, env->field);
    dog->y = limit(dog->y + dog->speed * sinf(dog->heading), 0.0f, env->field);
}

// All sheep that graze take a step. Returns how many metres nearer to the fold they came
static float run_flock(Dogs* env) {
    float mid_x = 0.0f, mid_y = 0.0f, gained = 0.0f;
    for (int i = 0; i < env->num_sheep; i++) {
        if (env->flock[i].fate != GRAZING) continue;
        mid_x += env->flock[i].x / (float)env->grazing;
        mid_y += env->flock[i].y / (float)env->grazing;
    }
    for (int i = 0; i < env->num_sheep; i++) {
        Sheep* sheep = &env->flock[i];
        if (sheep->fate != GRAZING) continue;
        float push_x = 0.0f, push_y = 0.0f, fright = 0.0f;
        for (int d = 0; d < env->num_agents; d++) {
            const Dog* dog = &env->pack[d];
            float away = apart(sheep->x, sheep->y, dog->x, dog->y);
            if (away >= env->fear) continue;
            float force = 1.0f - away / env->fear;
            push_x += force * (sheep->x - dog->x) / fmaxf(away, 0.01f);
            push_y += force * (sheep->y - dog->y) / fmaxf(away, 0.01f);
            fright = fmaxf(fright, force);
        }
        sheep->panic = fmaxf(0.85f * sheep->panic, fright);
        float way_x = push_x + 0.004f * (mid_x - sheep->x) + between(env, -0.15f, 0.15f);
        float way_y = push_y + 0.004f * (mid_y - sheep->y) + between(env, -0.15f, 0.15f);
        float stride = SHEEP_SPEED * (0.2f + 0.8f * sheep->panic);
        float length = fmaxf(1.0f, sqrtf(way_x * way_x + way_y * way_y));
        float before = apart(sheep->x, sheep->y, env->fold_x, env->fold_y);
        float to_x = sheep->x + stride * way_x / length, to_y = sheep->y + stride * way_y / length;
        bool fence = to_x < 0.0f || to_x > env->field || to_y < 0.0f || to_y > env->field;
        sheep->x = limit(to_x, 0.0f, env->field);
        sheep->y = limit(to_y, 0.0f, env->field);
        float after = apart(sheep->x, sheep->y, env->fold_x, env->fold_y);
        gained += before - after;
        if (after <= FOLD_RADIUS) sheep->fate = PENNED;
        else if (fence && sheep->panic > JUMP) sheep->fate = LOST;
        env->penned += sheep->fate == PENNED;
        env->lost += sheep->fate == LOST;
        env->grazing -= sheep->fate != GRAZING;
    }
    return gained;
}

static bool bites(const Dogs* env, const Dog* dog) {
    for (int i = 0; i < env->num_sheep; i++) {
        const Sheep* sheep = &env->flock[i];
        if (sheep->fate == GRAZING && apart(sheep->x, sheep->y, dog->x, dog->y) < BITE) return true;
    }
    return false;
}

// One entry for each dog: they share the day, not the scoldings
static void report(Dogs* env, bool dark) {
    for (int d = 0; d < env->num_agents; d++) {
        env->log.perf += (float)env->penned / (float)env->num_sheep;
        env->log.score += (float)env->penned;
        env->log.episode_return += env->pack[d].earned;
        env->log.episode_length += (float)env->tick;
        env->log.lost += (float)env->lost;
        env->log.dark += dark ? 1.0f : 0.0f;
        env->log.n += 1.0f;
    }
}

void c_step(Dogs* env) {
    int penned = env->penned, lost = env->lost;
    env->tick++;
    for (int d = 0; d < env->num_agents; d++) run_dog(env, d);
    float gained = run_flock(env);

    bool over = env->grazing == 0 || env->lost > env->tolerance;
    bool dark = !over && env->tick >= env->max_ticks;
    float flock = (float)env->num_sheep;
    float shared = env->shaping * gained / (env->field * flock);
    shared += R_PENNED * (float)(env->penned - penned) / flock;
    shared += R_LOST * (float)(env->lost - lost) / flock;
    if (env->penned == env->num_sheep) shared += R_CLEAN;

    for (int d = 0; d < env->num_agents; d++) {
        Dog* dog = &env->pack[d];
        float reward = shared + (bites(env, dog) ? R_BITE : 0.0f);
        dog->earned += reward;
        env->rewards[d] = reward;
        env->terminals[d] = over || dark ? 1.0f : 0.0f;
        env->truncations[d] = dark ? 1.0f : 0.0f;
    }

    if (!over && !dark) {
        look_all(env, env->observations);
        return;
    }
    if (dark) look_all(env, env->final_observations);
    report(env, dark);
    c_reset(env);
}

void c_render(Dogs* env) {
    const float px = 720.0f / env->field;
    if (!IsWindowReady()) {
        InitWindow(720, 750, "dogs");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground((Color){58, 92, 52, 255});
    DrawCircle((int)(env->fold_x * px), (int)(env->fold_y * px), FOLD_RADIUS * px, BROWN);
    for (int i = 0; i < env->num_sheep; i++) {
        const Sheep* sheep = &env->flock[i];
        Color wool = sheep->panic > JUMP ? ORANGE : RAYWHITE;
        if (sheep->fate != LOST) DrawCircle((int)(sheep->x * px), (int)(sheep->y * px), 7.0f, wool);
    }
    for (int d = 0; d < env->num_agents; d++) {
        const Dog* dog = &env->pack[d];
        int x = (int)(dog->x * px), y = (int)(dog->y * px);
        DrawCircle(x, y, 5.0f, BLACK);
        DrawCircle(x + (int)(7.0f * cosf(dog->heading)), y + (int)(7.0f * sinf(dog->heading)), 3.0f, BLACK);
    }
    DrawText(TextFormat("in the fold %d, lost %d", env->penned, env->lost), 10, 726, 18, RAYWHITE);
    EndDrawing();
}
