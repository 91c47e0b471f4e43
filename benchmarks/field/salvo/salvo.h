/* SALVO, a fixed shooter.
 *
 * The ship slides along the bottom of the field and fires straight up. Raiders come in waves of
 * eight, one by one, weave from side to side, come down and fire back at the ship. The later the
 * wave the faster they are, and some then wear armour that takes a second hit.
 * A shot that hits the ship costs a life, and so does a raider that lands.
 *
 * The field is 1 wide and 1 high, y points down. Ship and raiders share six bullets.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "raylib.h"
#define BULLETS       6
#define RAIDERS       8
#define BULLET_PARTS  5
#define RAIDER_PARTS  5

enum {
    OBS_X,              // [0, 1]
    OBS_COOLING,        // [0, 1]   1 just after a shot, 0 when ready
    OBS_SHIELD,         // [0, 1]   1 just after a hit, 0 when open to the next
    OBS_LIVES,          // [0, 1]
    OBS_WAVE,           // [0, 1]
    OBS_CLOCK,          // [0, 1]
    OBS_SWARM,          // [-1, 1]  where the raiders are on average, seen from the ship
    OBS_BULLETS,        // list 6 x 5, mask 0    there, dx, dy, vx, vy
    OBS_RAIDERS = OBS_BULLETS + BULLETS * BULLET_PARTS, // list 8 x 5, mask 0    there, dx, dy, vx, armour
    OBS_ALL = OBS_RAIDERS + RAIDERS * RAIDER_PARTS
};
#define OBS_SIZE OBS_ALL

enum { STEER_LEFT, STEER_NOT, STEER_RIGHT };
#define ACT_SIZES {3, 2}        // steer; fire or hold

#define SHIP_Y        0.95f
#define SHIP_PACE     0.025f
#define SHIP_HALF     0.04f
#define RAIDER_HALF   0.045f
#define SHOT_PACE     0.045f
#define RETURN_PACE   0.022f
#define MARGIN        0.04f     // ship and raiders stay so far from the sides
#define SHIELD_TICKS  20        // after a hit, in which bullets do nothing
#define ENTRY_GAP     6         // ticks between two raiders of a wave
#define HASTE         0.25f     // each wave is so much faster than the first

#define GAIN_KILL     0.25f     // per armour that the raider came with
#define GAIN_WAVE     1.0f
#define LOSS_LIFE    -0.5f

typedef struct Log {
    float perf;                 // raiders shot / raiders of all waves
    float score;                // 100 points a raider, 200 for armour
    float episode_return;
    float episode_length;
    float waves_cleared;
    float n;
} Log;

typedef struct Bullet {
    int owner;                  // 0 nobody: a free slot; 1 the ship; 2 a raider
    float x, y, vx, vy;
} Bullet;

typedef struct Raider {
    int armour;                 // hits it still takes; 0: no raider
    int worth;                  // armour that it came with
    int entry;                  // ticks until it comes in
    float x, y, vx;
} Raider;

typedef struct Salvo {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    float* truncations;
    float* final_observations;
    int num_agents;
    unsigned int rng;

    int lives, waves, reload, max_ticks;
    float descent, drift, malice;

    Bullet bullet[BULLETS];
    Raider raider[RAIDERS];
    float x;
    int lives_left, wave, cooling, shield, tick;
    int kills, points;
    float gained;               // rewards of this game
} Salvo;

static float chance(Salvo* env) {               // [0, 1)
    unsigned int z = (env->rng += 0x9E3779B9u);
    z ^= z >> 16; z *= 0x85EBCA6Bu;
    z ^= z >> 13; z *= 0xC2B2AE35u;
    z ^= z >> 16;
    return (float)(z >> 8) * (1.0f / 16777216.0f);
}

static bool here(const Raider* r) { return r->armour > 0 && r->entry == 0; }
static float bound(float v, float low, float high) { return fminf(fmaxf(v, low), high); }

/* ---- seeing -------------------------------------------------------------------------------- */

static void watch(const Salvo* env, float* out) {
    float sum = 0.0f;
    int count = 0;

    float* slot = out + OBS_BULLETS;
    for (int i = 0; i < BULLETS; i++, slot += BULLET_PARTS) {
        const Bullet* b = &env->bullet[i];
        for (int k = 0; k < BULLET_PARTS; k++) slot[k] = 0.0f;
        if (b->owner == 0) continue;
        slot[0] = 1.0f;
        slot[1] = b->x - env->x;
        slot[2] = b->y - SHIP_Y;
        slot[3] = b->vx / SHOT_PACE;
        slot[4] = b->vy / SHOT_PACE;
    }

    slot = out + OBS_RAIDERS;
    for (int i = 0; i < RAIDERS; i++, slot += RAIDER_PARTS) {
        const Raider* r = &env->raider[i];
        memset(slot, 0, RAIDER_PARTS * sizeof(float));
        if (!here(r)) continue;
        slot[0] = 1.0f;
        slot[1] = r->x - env->x;
        slot[2] = r->y - SHIP_Y;
        slot[3] = r->vx / (env->drift * (1.0f + HASTE * (float)env->waves));
        slot[4] = (float)r->armour / 2.0f;
        sum += r->x - env->x;
        count++;
    }

    out[OBS_X] = env->x;
    out[OBS_COOLING] = (float)env->cooling / (float)env->reload;
    out[OBS_SHIELD] = (float)env->shield / (float)SHIELD_TICKS;
    out[OBS_LIVES] = (float)env->lives_left / (float)env->lives;
    out[OBS_WAVE] = (float)env->wave / (float)env->waves;
    out[OBS_CLOCK] = (float)env->tick / (float)env->max_ticks;
    out[OBS_SWARM] = count > 0 ? sum / (float)count : 0.0f;
}

/* ---- raiders ------------------------------------------------------------------------------- */

static void muster(Salvo* env) {
    float haste = 1.0f + HASTE * (float)env->wave;
    for (int i = 0; i < RAIDERS; i++) {
        Raider* r = &env->raider[i];
        r->worth = env->wave > 0 && chance(env) < 0.4f ? 2 : 1;
        r->armour = r->worth;
        r->entry = 1 + ENTRY_GAP * i + (int)(chance(env) * ENTRY_GAP);
        r->x = MARGIN + chance(env) * (1.0f - 2.0f * MARGIN);
        r->y = 0.0f;
        r->vx = (chance(env) < 0.5f ? -haste : haste) * env->drift;
    }
}

static Bullet* free_bullet(Salvo* env) {
    for (int i = 0; i < BULLETS; i++) {
        if (env->bullet[i].owner == 0) return &env->bullet[i];
    }
    return NULL;
}

// At where the ship is now. Never from beside or below it: there it would be too late
static void fire_back(Salvo* env, const Raider* r) {
    Bullet* b = free_bullet(env);
    if (b == NULL || r->y > SHIP_Y - 0.2f) return;
    float dx = env->x - r->x, dy = SHIP_Y - r->y;
    float pace = RETURN_PACE / sqrtf(dx * dx + dy * dy);
    *b = (Bullet){.owner = 2, .x = r->x, .y = r->y, .vx = dx * pace, .vy = dy * pace};
}

static void fly(Salvo* env, Raider* r) {
    if (r->entry > 0) {
        r->entry--;
        return;
    }
    if (chance(env) < 0.02f) r->vx = -r->vx;
    r->x += r->vx;
    if (r->x < MARGIN || r->x > 1.0f - MARGIN) {
        r->x = bound(r->x, MARGIN, 1.0f - MARGIN);
        r->vx = -r->vx;
    }
    r->y += env->descent * (1.0f + HASTE * (float)env->wave);
    if (chance(env) < env->malice) fire_back(env, r);
}

/* ---- hits ---------------------------------------------------------------------------------- */

static float lose_life(Salvo* env) {
    env->lives_left--;
    env->shield = SHIELD_TICKS;
    return LOSS_LIFE;
}

static float land(Salvo* env, Raider* r) {
    r->armour = 0;
    return env->lives_left > 0 ? lose_life(env) : 0.0f;
}

// What one bullet of the ship's does: at most one raider is hit
static float strike(Salvo* env, Bullet* b) {
    for (int i = 0; i < RAIDERS; i++) {
        Raider* r = &env->raider[i];
        if (!here(r) || fabsf(r->x - b->x) > RAIDER_HALF) continue;
        if (fabsf(r->y - b->y) > RAIDER_HALF) continue;
        b->owner = 0;
        if (--r->armour > 0) return 0.0f;
        env->kills++;
        env->points += 100 * r->worth;
        return GAIN_KILL * (float)r->worth;
    }
    return 0.0f;
}

static float travel(Salvo* env, Bullet* b) {
    b->x += b->vx;
    b->y += b->vy;
    if (b->y < 0.0f || b->y > 1.0f || b->x < 0.0f || b->x > 1.0f) {
        b->owner = 0;
        return 0.0f;
    }
    if (b->owner == 1) return strike(env, b);
    if (fabsf(b->x - env->x) > SHIP_HALF || fabsf(b->y - SHIP_Y) > 0.02f) return 0.0f;
    b->owner = 0;
    return env->shield > 0 || env->lives_left <= 0 ? 0.0f : lose_life(env);
}

/* ---- the contract -------------------------------------------------------------------------- */

void init(Salvo* env) {
    if (env->lives < 1) env->lives = 1;
    if (env->waves < 1) env->waves = 1;
    if (env->reload < 1) env->reload = 1;
    if (env->max_ticks < 1) env->max_ticks = 1;
    if (env->drift < 0.001f) env->drift = 0.001f;
}

void c_close(Salvo* env) { (void)env; }

void c_reset(Salvo* env) {
    memset(env->bullet, 0, sizeof env->bullet);
    env->x = 0.3f + 0.4f * chance(env);
    env->lives_left = env->lives;
    env->wave = env->tick = 0;
    env->cooling = env->shield = 0;
    env->kills = env->points = 0;
    env->gained = 0.0f;
    muster(env);
    watch(env, env->observations);
}

static void record(Salvo* env) {
    env->log.perf += (float)env->kills / (float)(RAIDERS * env->waves);
    env->log.score += (float)env->points;
    env->log.episode_return += env->gained;
    env->log.episode_length += (float)env->tick;
    env->log.waves_cleared += (float)env->wave;
    env->log.n += 1.0f;
}

void c_step(Salvo* env) {
    env->rewards[0] = 0.0f;
    env->terminals[0] = 0.0f;
    env->truncations[0] = 0.0f;
    float gain = 0.0f;
    env->tick++;
    if (env->cooling > 0) env->cooling--;
    if (env->shield > 0) env->shield--;

    int steer = (int)env->actions[0];
    if (steer == STEER_LEFT) env->x -= SHIP_PACE;
    if (steer == STEER_RIGHT) env->x += SHIP_PACE;
    env->x = bound(env->x, MARGIN, 1.0f - MARGIN);

    for (int i = 0; i < BULLETS; i++) {
        if (env->bullet[i].owner != 0) gain += travel(env, &env->bullet[i]);
    }
    if (env->actions[1] > 0.5f && env->cooling == 0) {
        Bullet* b = free_bullet(env);
        if (b != NULL) {
            *b = (Bullet){.owner = 1, .x = env->x, .y = SHIP_Y - 0.03f, .vy = -SHOT_PACE};
            env->cooling = env->reload;
        }
    }

    int left = 0;
    for (Raider* r = env->raider; r < env->raider + RAIDERS; r++) {
        if (r->armour == 0) continue;
        fly(env, r);
        if (r->y >= SHIP_Y) gain += land(env, r);
        if (r->armour > 0) left++;
    }

    bool lost = env->lives_left <= 0;
    if (left == 0 && !lost) {
        gain += GAIN_WAVE;
        env->wave++;
        if (env->wave < env->waves) muster(env);
    }
    bool won = env->wave == env->waves;
    bool late = !lost && !won && env->tick >= env->max_ticks;
    env->gained += gain;
    env->rewards[0] = gain;
    if (!lost && !won && !late) {
        watch(env, env->observations);
        return;
    }

    env->terminals[0] = 1.0f;
    if (late) {
        env->truncations[0] = 1.0f;
        watch(env, env->final_observations);
    }
    record(env);
    c_reset(env);
}

/* ---- the picture --------------------------------------------------------------------------- */

void c_render(Salvo* env) {
    const float s = 600.0f;
    if (!IsWindowReady()) {
        InitWindow((int)s, (int)s + 30, "salvo");
        SetTargetFPS(30);
    }
    BeginDrawing();
    ClearBackground(BLACK);
    for (const Bullet* b = env->bullet; b < env->bullet + BULLETS; b++) {
        if (b->owner != 0) DrawCircle((int)(b->x * s), (int)(b->y * s), 4.0f, b->owner == 1 ? YELLOW : RED);
    }
    for (const Raider* r = env->raider; r < env->raider + RAIDERS; r++) {
        if (!here(r)) continue;
        int half = (int)(RAIDER_HALF * s);
        DrawRectangle((int)(r->x * s) - half, (int)(r->y * s) - half, 2 * half, 2 * half,
                      r->armour > 1 ? PURPLE : GREEN);
    }
    DrawRectangle((int)((env->x - SHIP_HALF) * s), (int)(SHIP_Y * s) - 8, (int)(2.0f * SHIP_HALF * s), 16,
                  env->shield > 0 ? GRAY : SKYBLUE);
    DrawText(TextFormat("lives %d   wave %d   points %d", env->lives_left, env->wave + 1, env->points),
             8, (int)s + 6, 18, RAYWHITE);
    EndDrawing();
}
