/* skiff.h -- sail a small boat round a few buoys without tipping it over.  One agent,
 * two continuous actions: the rudder and the sheet (the rope that lets the sail out).
 *
 * The lake is a square from -1 to 1. Wind comes from one direction, which wanders, with a
 * strength that gusts. The sail drives best if it is let out about half as far as the wind
 * comes round from the bow; hauled in too tight it pushes the boat over instead. Within the
 * no-go zone around the wind it only flaps, so the way upwind is a zigzag.
 *
 * An episode ends when the last buoy is rounded, when the boat capsizes, when it runs ashore,
 * and after max_ticks, which is a truncation.
 *
 * Units: length in half lakes; angles in radians, counterclockwise; speeds per tick.
 */
#pragma once

#include <math.h>               // sinf, cosf, atan2f, remainderf, fminf, fmaxf, hypotf
#include <stdbool.h>
#include <stdlib.h>             // calloc, free
#ifndef PUFFER_DEVICE
#include "raylib.h"
#endif

//-- Interface --------------------------------------------------------------------
enum {                          // observations, one float each
    OBS_BUOY_AHEAD,             // [-1, 1]  cosine of the buoy's bearing, seen from the bow
    OBS_BUOY_ASIDE,             // [-1, 1]  its sine: positive on the left
    OBS_BUOY_DISTANCE,          // [ 0, 1]  share of the lake's diagonal
    OBS_WIND_AHEAD,             // [-1, 1]  cosine of where the wind comes from, off the bow
    OBS_WIND_ASIDE,             // [-1, 1]  its sine: positive if it comes from the left
    OBS_WIND,                   // [ 0, 1]  its strength
    OBS_SPEED,                  // [ 0, 1]  share of the top speed
    OBS_TURN,                   // [-1, 1]  turning rate, share of the greatest: positive left
    OBS_HEEL,                   // [-1, 1]  how far it leans: positive right, capsizes at 1
    OBS_HEEL_RATE,              // [-1, 1]  how fast it leans over, clipped
    OBS_SHEET,                  // [ 0, 1]  how far the sail is out: 0 hauled in
    OBS_X,                      // [-1, 1]  where the boat is
    OBS_Y,                      // [-1, 1]
    OBS_HEADING_X,              // [-1, 1]  cosine of its heading
    OBS_HEADING_Y,              // [-1, 1]  sine of its heading
    OBS_LEFT,                   // [ 0, 1]  share of the buoys that are still to round
    OBS_COUNT
};
#define OBS_SIZE OBS_COUNT

enum {                          // actions, each clamped to [-1, 1]
    ACT_RUDDER,                 // 1 turns hard left, -1 hard right
    ACT_SHEET                   // 1 lets the sail out at the full rate, -1 hauls it in
};
#define ACT_SIZES {1, 1}

//-- Rules: those that are no settings --------------------------------------------
#define TWO_PI        6.2831853f
#define TOP_SPEED     0.04f     // a tick, straight before a full wind
#define TURN_MAX      0.15f     // turning rate at top speed with the rudder hard over
#define TURN_KEPT     0.7f      // share of the turning rate that lasts to the next tick
#define STEERAGE      0.2f      // share of the rudder's force left when lying still
#define PICK_UP       0.05f     // how fast the speed follows the drive
#define HEEL_SPRING   0.03f     // the keel
#define HEEL_DAMPING  0.15f
#define HEEL_PUSH     1.3f      // lasting heel under a full push from the side
#define HEEL_RATE_TOP 0.2f      // observed as 1
#define BOOM_LEAST    0.1f      // sail's angle off the middle: hauled in,
#define BOOM_MOST     1.5f      // and let out
#define WIND_SHIFT    0.02f     // most that its direction changes in a tick
#define DIAGONAL      2.8284272f
#define BUOY_FIELD    0.8f      // buoys lie within this of the middle, on either axis
#define BUOY_GAP      0.5f      // at least so far from the one before
#define ROUNDED       0.1f      // that close counts
#define WAY_REWARD    0.5f      // for each half lake that the boat comes closer
#define BUOY_REWARD   1.0f
#define LOST_REWARD   -1.0f     // capsized or ashore

//-- State ------------------------------------------------------------------------
typedef struct Log {            // sums over finished episodes
    float perf;                 // [0, 1]  share of the buoys rounded
    float score;                // buoys rounded
    float episode_return;
    float episode_length;       // ticks
    float capsized;             // [0, 1]  ended upside down
    float n;                    // episodes; last
} Log;

typedef struct Buoy {
    float x, y;
} Buoy;

typedef struct Skiff {
    Log log;
    float* observations;        // out [OBS_SIZE]
    float* actions;             // in  [2]
    float* rewards;             // out [1]
    float* terminals;           // out [1]
    float* truncations;         // out [1]  1 where max_ticks ended it
    float* final_observations;  // out [OBS_SIZE]  what was seen last before a truncation
    int num_agents;
    unsigned int rng;

    // Settings
    int num_buoys;
    int max_ticks;
    float wind_min, wind_max;   // bounds of its strength, within 0 to 1
    float wind_gust;            // most that the strength changes in a tick
    float sheet_rate;           // share of the sheet's length let out in a tick

    Buoy* buoys;                // (num_buoys), from init to c_close

    // The rest is set by c_reset
    float x, y, heading, turn;
    float speed;                // share of TOP_SPEED
    float heel, heel_rate;
    float sheet;                // [0, 1]
    float wind_from, wind;
    float distance;             // to the next buoy, as the last tick left it
    int rounded;
    int tick;
    float episode_return;
} Skiff;

//-- Chance -----------------------------------------------------------------------
// PCG: takes any seed. Uniform from low up to high
static inline float random_between(Skiff* env, float low, float high) {
    unsigned int old = env->rng;
    env->rng = old * 747796405u + 2891336453u;
    unsigned int word = ((old >> ((old >> 28) + 4u)) ^ old) * 277803737u;
    word = (word >> 22) ^ word;
    return low + (high - low) * (float)(word >> 8) / 16777216.0f;
}

static inline float clamp(float value, float low, float high) {
    return fminf(fmaxf(value, low), high);
}

static inline float wrapped(float angle) {      // to [-pi, pi]
    return remainderf(angle, TWO_PI);
}

static inline float distance_to_buoy(const Skiff* env) {
    const Buoy* buoy = &env->buoys[env->rounded];
    return hypotf(buoy->x - env->x, buoy->y - env->y);
}

//-- What the agent sees ----------------------------------------------------------
// Call it only while there is a buoy to round
static inline void observe(const Skiff* env, float* obs) {
    const Buoy* buoy = &env->buoys[env->rounded];
    float bearing = atan2f(buoy->y - env->y, buoy->x - env->x) - env->heading;
    float wind_angle = env->wind_from - env->heading;
    obs[OBS_BUOY_AHEAD] = cosf(bearing);
    obs[OBS_BUOY_ASIDE] = sinf(bearing);
    obs[OBS_BUOY_DISTANCE] = clamp(distance_to_buoy(env) / DIAGONAL, 0.0f, 1.0f);
    obs[OBS_WIND_AHEAD] = cosf(wind_angle);
    obs[OBS_WIND_ASIDE] = sinf(wind_angle);
    obs[OBS_WIND] = env->wind;
    obs[OBS_SPEED] = env->speed;
    obs[OBS_TURN] = env->turn / TURN_MAX;
    obs[OBS_HEEL] = env->heel;
    obs[OBS_HEEL_RATE] = clamp(env->heel_rate / HEEL_RATE_TOP, -1.0f, 1.0f);
    obs[OBS_SHEET] = env->sheet;
    obs[OBS_X] = env->x;
    obs[OBS_Y] = env->y;
    obs[OBS_HEADING_X] = cosf(env->heading);
    obs[OBS_HEADING_Y] = sinf(env->heading);
    obs[OBS_LEFT] = (float)(env->num_buoys - env->rounded) / (float)env->num_buoys;
}

//-- init, c_close, c_reset -------------------------------------------------------
void init(Skiff* env) {
    env->buoys = (Buoy*)calloc((size_t)env->num_buoys, sizeof(Buoy));
}

void c_close(Skiff* env) {
    free(env->buoys);
    env->buoys = NULL;
}

// Each at some distance from the one before, the first from the boat
static inline void lay_buoys(Skiff* env) {
    float from_x = env->x, from_y = env->y;
    for (int i = 0; i < env->num_buoys; i++) {
        Buoy* buoy = &env->buoys[i];
        do {
            buoy->x = random_between(env, -BUOY_FIELD, BUOY_FIELD);
            buoy->y = random_between(env, -BUOY_FIELD, BUOY_FIELD);
        } while (hypotf(buoy->x - from_x, buoy->y - from_y) < BUOY_GAP);
        from_x = buoy->x;
        from_y = buoy->y;
    }
}

void c_reset(Skiff* env) {
    env->x = random_between(env, -0.5f, 0.5f);
    env->y = random_between(env, -0.5f, 0.5f);
    env->heading = random_between(env, -0.5f * TWO_PI, 0.5f * TWO_PI);
    env->turn = 0.0f;
    env->speed = 0.3f;
    env->heel = 0.0f;
    env->heel_rate = 0.0f;
    env->sheet = 0.5f;
    env->wind_from = random_between(env, -0.5f * TWO_PI, 0.5f * TWO_PI);
    env->wind = random_between(env, env->wind_min, env->wind_max);
    env->rounded = 0;
    env->tick = 0;
    env->episode_return = 0.0f;
    lay_buoys(env);
    env->distance = distance_to_buoy(env);
    observe(env, env->observations);
}

//-- c_step -----------------------------------------------------------------------
static inline void blow(Skiff* env) {
    float shift = random_between(env, -WIND_SHIFT, WIND_SHIFT);
    float gust = random_between(env, -env->wind_gust, env->wind_gust);
    env->wind_from = wrapped(env->wind_from + shift);
    env->wind = clamp(env->wind + gust, env->wind_min, env->wind_max);
}

// The sail's force is square to the sail: part of it drives, the rest pushes the boat over
static inline void sail(Skiff* env, float rudder, float haul) {
    env->sheet = clamp(env->sheet + env->sheet_rate * haul, 0.0f, 1.0f);
    float wind_angle = wrapped(env->wind_from - env->heading);
    float boom = BOOM_LEAST + env->sheet * (BOOM_MOST - BOOM_LEAST);
    float attack = clamp(fabsf(wind_angle) - boom, 0.0f, 0.25f * TWO_PI);
    float force = env->wind * env->wind * sinf(attack);
    float side = force * cosf(boom) * (wind_angle > 0.0f ? 1.0f : -1.0f);

    env->heel_rate += HEEL_SPRING * (HEEL_PUSH * side - env->heel) - HEEL_DAMPING * env->heel_rate;
    env->heel += env->heel_rate;
    env->speed += PICK_UP * (force * sinf(boom) - env->speed);
    float grip = STEERAGE + (1.0f - STEERAGE) * env->speed;
    env->turn = TURN_KEPT * env->turn + (1.0f - TURN_KEPT) * TURN_MAX * rudder * grip;
    env->heading = wrapped(env->heading + env->turn);
    env->x += TOP_SPEED * env->speed * cosf(env->heading);
    env->y += TOP_SPEED * env->speed * sinf(env->heading);
}

void c_step(Skiff* env) {
    float rudder = clamp(env->actions[ACT_RUDDER], -1.0f, 1.0f);
    float haul = clamp(env->actions[ACT_SHEET], -1.0f, 1.0f);
    env->tick += 1;
    blow(env);
    sail(env, rudder, haul);

    float now = distance_to_buoy(env);
    env->rewards[0] = WAY_REWARD * (env->distance - now);
    env->distance = now;
    bool capsized = fabsf(env->heel) > 1.0f;
    bool ashore = fabsf(env->x) > 1.0f || fabsf(env->y) > 1.0f;
    bool lost = capsized || ashore;
    if (lost) {
        env->rewards[0] += LOST_REWARD;
    } else if (now < ROUNDED) {
        env->rewards[0] += BUOY_REWARD;
        env->rounded += 1;
        if (env->rounded < env->num_buoys) {
            env->distance = distance_to_buoy(env);      // from here on to the next one
        }
    }
    env->episode_return += env->rewards[0];

    bool over = lost || env->rounded == env->num_buoys;
    bool late = !over && env->tick >= env->max_ticks;
    env->terminals[0] = over || late ? 1.0f : 0.0f;
    env->truncations[0] = late ? 1.0f : 0.0f;
    if (!over && !late) {
        observe(env, env->observations);
        return;
    }
    if (late) {
        observe(env, env->final_observations);
    }
    env->log.perf += (float)env->rounded / (float)env->num_buoys;
    env->log.score += (float)env->rounded;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += (float)env->tick;
    env->log.capsized += capsized ? 1.0f : 0.0f;
    env->log.n += 1.0f;
    c_reset(env);
}

//-- Drawing ----------------------------------------------------------------------
#ifndef PUFFER_DEVICE
static inline int pixel(float place) {
    return (int)(300.0f + 300.0f * place);
}

void c_render(Skiff* env) {
    if (!IsWindowReady()) {
        InitWindow(600, 600, "skiff");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground(DARKBLUE);
    for (int i = env->rounded; i < env->num_buoys; i++) {
        int size = i == env->rounded ? 16 : 8;
        DrawRectangle(pixel(env->buoys[i].x) - size / 2, pixel(-env->buoys[i].y) - size / 2,
                      size, size, ORANGE);
    }
    float bow_x = env->x + 0.05f * cosf(env->heading), bow_y = env->y + 0.05f * sinf(env->heading);
    DrawRectangle(pixel(env->x) - 6, pixel(-env->y) - 6, 12, 12, RAYWHITE);
    DrawRectangle(pixel(bow_x) - 3, pixel(-bow_y) - 3, 6, 6, RAYWHITE);
    DrawText(TextFormat("wind %.2f  heel %.2f  buoys %d", env->wind, env->heel, env->rounded),
             10, 10, 20, RAYWHITE);
    EndDrawing();
}
#endif
