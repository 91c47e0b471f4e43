// Reach the buoy against the wind. Idioms: raymath in the simulation, drawing in a second
// header that the binding includes.
#include <stdlib.h>
#include "raylib.h"
#include "raymath.h"

typedef struct {
    float perf;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Window Window;

typedef struct {
    Window* window;
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    float gusts;
    Vector2 boat;
    Vector2 buoy;
    Vector2 wind;
    float heading;
    int tick;
} Sailor;

static float chance(Sailor* env) {
    env->rng = env->rng * 747796405u + 2891336453u;
    return (float)(env->rng >> 8) / (float)(1 << 24);
}

static void look(Sailor* env) {
    Vector2 way = Vector2Subtract(env->buoy, env->boat);
    Vector2 ahead = Vector2Rotate((Vector2){1, 0}, env->heading);
    env->observations[0] = Vector2Length(way) / 100.0f;
    env->observations[1] = Vector2DotProduct(Vector2Normalize(way), ahead);
    env->observations[2] = Vector2DotProduct(env->wind, ahead);
    env->observations[3] = Wrap(env->heading, -PI, PI) / PI;
}

void c_reset(Sailor* env) {
    env->tick = 0;
    env->boat = Vector2Zero();
    env->buoy = Vector2Rotate((Vector2){50, 0}, chance(env) * 2 * PI);
    env->wind = Vector2Scale(Vector2Rotate((Vector2){1, 0}, chance(env) * 2 * PI), env->gusts);
    env->heading = 0;
    look(env);
}

void c_step(Sailor* env) {
    float before = Vector2Distance(env->boat, env->buoy);
    env->heading += Clamp(env->actions[0], -1, 1) * 0.3f;
    Vector2 ahead = Vector2Rotate((Vector2){1.5f, 0}, env->heading);
    env->boat = Vector2Add(env->boat, Vector2Add(ahead, env->wind));
    float after = Vector2Distance(env->boat, env->buoy);
    env->rewards[0] = (before - after) * 0.1f;
    env->terminals[0] = 0;
    env->tick++;
    if (after < 5 || env->tick == 120) {
        env->terminals[0] = 1;
        env->log.perf += after < 5;
        env->log.episode_return += (50 - after) * 0.1f;
        env->log.episode_length += env->tick;
        env->log.n++;
        c_reset(env);
        return;
    }
    look(env);
}
