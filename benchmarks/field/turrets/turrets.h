// turrets.h: a tower defence.
//
// A road winds from the left edge to the right one. Beside it lie eight sites; on each the player may
// put one turret and improve it twice. Foes come in waves, each larger and tougher than the last; one
// that walks off the right edge costs lives. Every episode has another road and other sites.
//
// Three choices a tick: the site to build on, the kind to build, the site to improve. Over when the
// lives are gone (lost) or the last wave is beaten (won).
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"
#define COLS 12
#define ROWS 7
#define ROAD_MAX (COLS + (COLS / 2) * (ROWS - 1))
#define SITES 8
#define SITE_W 9
#define FOE_W 7
#define TOP_LEVEL 3
enum { NO_KIND = -1, GUN, FROST, MORTAR, KINDS };
enum { RUNNER, WALKER, BRUTE, BREEDS };
enum {                                      // what the player sees
    SEE_GOLD,                               // [0, 1]
    SEE_LIVES,                              // [0, 1]
    SEE_WAVE,                               // [0, 1]
    SEE_PAUSE,                              // [0, 1]
    SEE_DUE,                                // [0, 1]
    SEE_SITES,                              // list SITES x SITE_W
    SEE_FOES = SEE_SITES + SITES * SITE_W   // list env->crowd x FOE_W, mask 0
};
#define OBS_SIZE (SEE_FOES + env->crowd * FOE_W)
// What the player does: in the first and the last head 0 is nothing, i + 1 is site i
enum { HEAD_BUILD, HEAD_KIND, HEAD_IMPROVE };
#define ACT_SIZES {SITES + 1, KINDS, SITES + 1}
enum { MASK_BUILD = 0, MASK_KIND = SITES + 1, MASK_IMPROVE = MASK_KIND + KINDS, MASK_SIZE = MASK_IMPROVE + SITES + 1 };

static const struct { int cost, period; float range, harm; } KIND[KINDS] = {    // period: ticks a shot
    {40, 2, 2.1f, 3.0f}, {50, 4, 1.8f, 1.0f}, {60, 7, 3.2f, 7.0f}};
static const struct { float pace, health; int toll; } BREED[BREEDS] = {         // toll: lives a leak
    {0.8f, 6.0f, 1}, {0.5f, 10.0f, 1}, {0.3f, 24.0f, 2}};
#define REST 10             // ticks between two waves
#define GAP 3               // ticks between two foes of a wave
#define TOUGHER 0.6f        // so much more health, of the first wave's, in every further wave
#define SPLASH 1.3f
#define CHILL_MAX (8 + 4 * TOP_LEVEL)
#define GOLD_SCALE 300.0f
#define WAVE_GOLD 20
static const float PAY_KILL = 0.05f, PAY_LIFE = -0.1f, PAY_WAVE = 0.2f, PAY_WON = 1.0f, PAY_LOST = -1.0f;

// perf: waves beaten, of all; score: foes killed; leaks: foes that got away
typedef struct { float perf, score, episode_return, episode_length, leaks, n; } Log;
typedef struct { int x, y; } Cell;
typedef struct {
    int x, y, kind, level;  // NO_KIND and 0, or a kind and 1 to TOP_LEVEL
    int cool;               // ticks until it may shoot
    float near, far;        // share of the road within a gun's reach, and within a mortar's
} Site;
typedef struct {
    float at, x, y;         // cells walked along the road, and where that is
    float health, full;     // gone where health <= 0
    int breed, chilled;     // chilled: ticks for which it walks at half its pace
} Foe;
typedef struct {
    Log log;
    float *observations, *actions, *rewards, *terminals;
    unsigned char* action_mask;
    int num_agents;
    unsigned int rng;
    // [env]
    int waves, lives, gold; // to beat, and to begin with
    int bounty;             // gold for a kill; twice that for a brute
    int first_wave, growth; // foes in the first wave, and more of them in each further one
    int crowd;              // at most so many on the road at once
    // the rest is ours
    Cell* road;
    Foe* foes;
    Site site[SITES];
    int length, purse, wave, tick, kills, leaks;
    int lives_left;
    int pause;              // ticks until the next wave; 0 while one is on
    int due, gap;           // foes of this wave still to come, ticks until the next of them
    float earned;
} Turrets;

static int draw_below(Turrets* env, int n) {
    unsigned int z = (env->rng += 0x6D2B79F5u);
    z = (z ^ (z >> 15)) * (z | 1u);
    z ^= z + (z ^ (z >> 7)) * (z | 61u);
    z ^= z >> 14;
    return (int)(((unsigned long long)z * (unsigned long long)n) >> 32);
}
static int wave_size(const Turrets* env) { return env->first_wave + env->growth * env->wave; }
static int improve_cost(const Site* s) { return KIND[s->kind].cost * (s->level + 1) / 2; }

// A foe walks so much further; false at the end of the road
static bool advance(const Turrets* env, Foe* foe, float way) {
    foe->at += way;
    if (foe->at >= (float)(env->length - 1)) return false;
    const Cell* c = &env->road[(int)foe->at];
    float part = foe->at - floorf(foe->at);
    foe->x = (float)c[0].x + part * (float)(c[1].x - c[0].x);
    foe->y = (float)c[0].y + part * (float)(c[1].y - c[0].y);
    return true;
}
static float covered(const Turrets* env, int x, int y, float range) {
    int count = 0;
    for (int i = 0; i < env->length; i++) {
        int dx = env->road[i].x - x, dy = env->road[i].y - y;
        count += (float)(dx * dx + dy * dy) <= range * range;
    }
    return (float)count / (float)env->length;
}

// To the right, and in every odd column up or down to another row, at least two away
static void lay_road(Turrets* env) {
    int row = draw_below(env, ROWS);
    env->length = 0;
    for (int x = 0; x < COLS; x++) {
        env->road[env->length++] = (Cell){x, row};
        if (x % 2 == 0 || x == COLS - 1) continue;
        int goal = (row + 2 + draw_below(env, ROWS - 3)) % ROWS, way = goal > row ? 1 : -1;
        while (row != goal) env->road[env->length++] = (Cell){x, row += way};
    }
}

// SITES of the cells that touch the road, in reading order, each choice of them as likely
static void lay_sites(Turrets* env) {
    unsigned char ground[ROWS][COLS] = {{0}};       // 1 beside the road, 2 on it
    int left = 0, need = SITES;
    for (int i = 0; i < env->length; i++) ground[env->road[i].y][env->road[i].x] = 2;
    for (int i = 0; i < 9 * env->length; i++) {
        int x = env->road[i / 9].x + i % 3 - 1, y = env->road[i / 9].y + i / 3 % 3 - 1;
        if (x < 0 || x >= COLS || y < 0 || y >= ROWS || ground[y][x] > 0) continue;
        ground[y][x] = 1, left++;
    }
    for (int c = 0; c < ROWS * COLS && need > 0; c++) {
        int x = c % COLS, y = c / COLS;
        if (ground[y][x] != 1 || draw_below(env, left--) >= need) continue;
        env->site[SITES - need--] = (Site){.x = x, .y = y, .kind = NO_KIND,
            .near = covered(env, x, y, KIND[GUN].range), .far = covered(env, x, y, KIND[MORTAR].range)};
    }
}

static void write_mask(Turrets* env) {
    unsigned char* may = env->action_mask;
    memset(may, 0, MASK_SIZE);
    may[MASK_BUILD] = may[MASK_IMPROVE] = 1;
    for (int i = 0; i < SITES; i++) {
        const Site* s = &env->site[i];
        if (s->kind == NO_KIND) may[MASK_BUILD + 1 + i] = env->purse >= KIND[GUN].cost;
        else if (s->level < TOP_LEVEL) may[MASK_IMPROVE + 1 + i] = env->purse >= improve_cost(s);
    }
    may[MASK_KIND + GUN] = 1;               // the cheapest one can always be named
    for (int k = GUN + 1; k < KINDS; k++) may[MASK_KIND + k] = env->purse >= KIND[k].cost;
}
static void look(Turrets* env) {
    float* o = env->observations;
    o[SEE_GOLD] = fminf((float)env->purse / GOLD_SCALE, 1.0f);
    o[SEE_LIVES] = (float)env->lives_left / (float)env->lives;
    o[SEE_WAVE] = (float)env->wave / (float)env->waves;
    o[SEE_PAUSE] = (float)env->pause / (float)REST;
    o[SEE_DUE] = (float)env->due / (float)wave_size(env);
    for (int i = 0; i < SITES; i++) {
        const Site* s = &env->site[i];
        const float heat = s->kind == NO_KIND ? 0.0f : (float)s->cool / (float)KIND[s->kind].period;
        const float w[SITE_W] = {(float)s->x / (COLS - 1), (float)s->y / (ROWS - 1),
            s->kind == GUN, s->kind == FROST, s->kind == MORTAR, (float)s->level / TOP_LEVEL, heat, s->near, s->far};
        memcpy(o + SEE_SITES + i * SITE_W, w, sizeof(w));
    }
    for (int f = 0; f < env->crowd; f++) {
        const Foe* foe = &env->foes[f];
        float* w = o + SEE_FOES + f * FOE_W;
        memset(w, 0, FOE_W * sizeof(float));
        if (foe->health <= 0.0f) continue;
        w[0] = 1.0f, w[1] = foe->at / (float)(env->length - 1);
        w[2] = foe->x / (COLS - 1), w[3] = foe->y / (ROWS - 1);
        w[4] = foe->health / foe->full;
        w[5] = BREED[foe->breed].pace, w[6] = (float)foe->chilled / CHILL_MAX;
    }
    write_mask(env);
}

void init(Turrets* env) {
    env->road = (Cell*)calloc(ROAD_MAX, sizeof(Cell));
    env->foes = (Foe*)calloc((size_t)env->crowd, sizeof(Foe));
}
void c_close(Turrets* env) {
    free(env->road);
    free(env->foes);
}

void c_reset(Turrets* env) {
    lay_road(env);
    lay_sites(env);
    for (int f = 0; f < env->crowd; f++) env->foes[f].health = 0.0f;
    env->purse = env->gold, env->lives_left = env->lives, env->pause = REST;
    env->wave = env->due = env->gap = env->tick = env->kills = env->leaks = 0;
    env->earned = 0.0f;
    look(env);
}

static void spend(Turrets* env) {
    int build = (int)env->actions[HEAD_BUILD], improve = (int)env->actions[HEAD_IMPROVE];
    int kind = (int)env->actions[HEAD_KIND];
    Site* s = build > 0 ? &env->site[build - 1] : NULL;
    if (s && s->kind == NO_KIND && env->purse >= KIND[kind].cost) {
        s->kind = kind, s->level = 1;
        env->purse -= KIND[kind].cost;
    }
    s = improve > 0 ? &env->site[improve - 1] : NULL;
    if (s && s->kind != NO_KIND && s->level < TOP_LEVEL && env->purse >= improve_cost(s)) {
        env->purse -= improve_cost(s);
        s->level++;
    }
}
// Counts down to the next wave, or lets the next foe of this one onto the road, if there is room
static void muster(Turrets* env) {
    if (env->pause > 0) {
        if (--env->pause == 0) env->due = wave_size(env);
        return;
    }
    if (env->gap > 0) env->gap--;
    if (env->due == 0 || env->gap > 0) return;
    int slot = 0, breed = draw_below(env, BREEDS);
    while (slot < env->crowd && env->foes[slot].health > 0.0f) slot++;
    if (slot == env->crowd) return;
    float health = BREED[breed].health * (1.0f + TOUGHER * (float)env->wave);
    env->foes[slot] = (Foe){.health = health, .full = health, .breed = breed};
    advance(env, &env->foes[slot], 0.0f);
    env->due--, env->gap = GAP;
}

static float march(Turrets* env) {
    float pay = 0.0f;
    for (int f = 0; f < env->crowd; f++) {
        Foe* foe = &env->foes[f];
        if (foe->health <= 0.0f) continue;
        float way = foe->chilled > 0 ? 0.5f * BREED[foe->breed].pace : BREED[foe->breed].pace;
        if (foe->chilled > 0) foe->chilled--;
        if (advance(env, foe, way)) continue;
        foe->health = 0.0f, env->leaks++;
        env->lives_left -= BREED[foe->breed].toll;
        if (env->lives_left < 0) env->lives_left = 0;
        pay += PAY_LIFE * (float)BREED[foe->breed].toll;
    }
    return pay;
}
static float hurt(Turrets* env, Foe* foe, float harm) {
    foe->health -= harm;
    if (foe->health > 0.0f) return 0.0f;
    env->kills++;
    env->purse += foe->breed == BRUTE ? 2 * env->bounty : env->bounty;
    return PAY_KILL;
}

// The foremost foe within reach; a frost turret would rather have one that is not chilled yet
static int aim(const Turrets* env, const Site* s) {
    int best = -1;
    float reach = KIND[s->kind].range + 0.3f * (float)(s->level - 1), best_rank = -1.0f;
    for (int f = 0; f < env->crowd; f++) {
        const Foe* foe = &env->foes[f];
        if (foe->health <= 0.0f || hypotf(foe->x - (float)s->x, foe->y - (float)s->y) > reach) continue;
        float rank = foe->at + (s->kind == FROST && foe->chilled == 0 ? (float)ROAD_MAX : 0.0f);
        if (rank > best_rank) best_rank = rank, best = f;
    }
    return best;
}

// Another site has the first shot each tick
static float volley(Turrets* env) {
    float pay = 0.0f;
    for (int i = 0; i < SITES; i++) {
        Site* s = &env->site[(i + env->tick) % SITES];
        if (s->kind == NO_KIND) continue;
        if (s->cool > 0) s->cool--;
        int target = s->cool > 0 ? -1 : aim(env, s);
        if (target < 0) continue;
        Foe* foe = &env->foes[target];
        float harm = KIND[s->kind].harm * (float)s->level, x = foe->x, y = foe->y;
        s->cool = KIND[s->kind].period;
        if (s->kind == FROST) foe->chilled = 8 + 4 * s->level;
        if (s->kind != MORTAR) pay += hurt(env, foe, harm);
        for (int f = 0; f < env->crowd && s->kind == MORTAR; f++) {
            foe = &env->foes[f];
            float off = hypotf(foe->x - x, foe->y - y) / SPLASH;        // 0 in the middle, 1 at the rim
            if (foe->health > 0.0f && off < 1.0f) pay += hurt(env, foe, harm * sqrtf(1.0f - off * off));
        }
    }
    return pay;
}

// Whether this wave is over; the next one comes after a rest
static bool beaten(Turrets* env) {
    int standing = env->pause + env->due;
    for (int f = 0; f < env->crowd; f++) standing += env->foes[f].health > 0.0f;
    if (standing > 0) return false;
    env->wave++, env->pause = REST, env->gap = 0;
    env->purse += WAVE_GOLD;
    return true;
}

void c_step(Turrets* env) {
    env->tick++;
    spend(env);
    muster(env);
    float pay = march(env);
    pay += volley(env);
    bool lost = env->lives_left <= 0, won = false;
    if (lost) {
        pay += PAY_LOST;
    } else if (beaten(env)) {
        pay += PAY_WAVE;
        won = env->wave == env->waves;
        if (won) pay += PAY_WON;
    }
    env->earned += pay;
    env->rewards[0] = pay;
    env->terminals[0] = lost || won ? 1.0f : 0.0f;
    if (!lost && !won) {
        look(env);
        return;
    }
    env->log.perf += (float)env->wave / (float)env->waves;
    env->log.score += (float)env->kills;
    env->log.episode_return += env->earned;
    env->log.episode_length += (float)env->tick;
    env->log.leaks += (float)env->leaks;
    env->log.n += 1.0f;
    c_reset(env);
}

void c_render(Turrets* env) {
    const Color paint[KINDS] = {GOLD, SKYBLUE, ORANGE};
    if (!IsWindowReady()) InitWindow(COLS * 64, ROWS * 64, "turrets"), SetTargetFPS(20);
    BeginDrawing(), ClearBackground(DARKGREEN);
    for (const Cell* c = env->road; c < env->road + env->length; c++) DrawRectangle(c->x * 64, c->y * 64, 64, 64, BEIGE);
    for (const Site* s = env->site; s < env->site + SITES; s++) {
        DrawRectangle(s->x * 64 + 8, s->y * 64 + 8, 48, 48, DARKGRAY);
        if (s->kind != NO_KIND) DrawCircle(s->x * 64 + 32, s->y * 64 + 32, 10.0f + 4.0f * (float)s->level, paint[s->kind]);
    }
    for (const Foe* foe = env->foes; foe < env->foes + env->crowd; foe++) {
        if (foe->health <= 0.0f) continue;
        DrawCircle((int)(foe->x * 64.0f) + 32, (int)(foe->y * 64.0f) + 32, 12.0f, foe->chilled > 0 ? BLUE : MAROON);
    }
    DrawText(TextFormat("wave %d  lives %d  gold %d", env->wave + 1, env->lives_left, env->purse), 8, 8, 20, WHITE);
    EndDrawing();
}
