// capture the flag, 3 against 3, on a square field with pillars
// blue (0..2) lives on the left, red (3..5) on the right. an agent sees 7x7 around itself.
// take the flag off the far side, two steps are near enough, and carry it home. foreigners
// can be tagged from beside them: back home, flag back, a few ticks of sulking.
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define TEAM 3
#define N (2 * TEAM)
#define SIGHT 3
#define WIN (2 * SIGHT + 1)
#define VIEW (WIN * WIN)
#define OBS_SIZE (VIEW + 7)
#define ACT_SIZES {5, 2}
#define MAX_SIZE 32
#define FOR(i, n) for (int i = 0; i < (n); i++)

enum { C_FREE, C_WALL, C_SELF, C_MATE, C_FOE, C_MATE_FLAG, C_FOE_FLAG, C_OUR_FLAG, C_THEIR_FLAG };
enum { A_STAY, A_UP, A_DOWN, A_LEFT, A_RIGHT };

typedef struct { float perf, score, episode_return, episode_length, n; } Log;

typedef struct {
    int r, c;
    int sulk;           // ticks left of not moving
    bool flag;          // carries the other team's
    float ret;
} Player;

typedef struct {
    Log log;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int size, to_win, max_ticks, sulk_ticks;
    unsigned char wall[MAX_SIZE * MAX_SIZE];
    Player p[N];
    int captures[2];
    int tick;
} Ctf;

static unsigned int next_rand(Ctf* e) {
    unsigned int x = e->rng ? e->rng : 0xC0FFEEu;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return e->rng = x;
}
static int pick(Ctf* e, int n) { return (int)(next_rand(e) % (unsigned)n); }
static int side(int i) { return i / TEAM; }
static int home_col(const Ctf* e, int team) { return team ? e->size - 1 : 0; }
static bool on_own_half(const Ctf* e, int i) {
    return side(i) ? e->p[i].c >= e->size / 2 : e->p[i].c < e->size / 2;
}

void init(Ctf* e) {
    e->num_agents = N;
    if (e->size > MAX_SIZE) e->size = MAX_SIZE;
    if (e->size < 5) e->size = 5;
    if (e->max_ticks < 1) e->max_ticks = 1;
    if (e->to_win < 1) e->to_win = 1;
    FOR(r, e->size) FOR(c, e->size)
        e->wall[r * e->size + c] = r % 3 == 1 && c % 3 == 1 && c > 0 && c < e->size - 1;
}

static bool blocked(const Ctf* e, int r, int c) {
    if (r < 0 || c < 0 || r >= e->size || c >= e->size) return true;
    if (e->wall[r * e->size + c]) return true;
    FOR(i, N) if (e->p[i].r == r && e->p[i].c == c) return true;
    return false;
}

// a free cell of the home column
static void go_home(Ctf* e, int i) {
    int c = home_col(e, side(i)), r;
    e->p[i].r = e->p[i].c = -1;
    if (e->size <= N) {                 // tiny fields: first free one
        for (r = 0; r < e->size - 1 && blocked(e, r, c); r++) {}
    } else {
        do r = pick(e, e->size); while (blocked(e, r, c));
    }
    e->p[i].r = r, e->p[i].c = c;
    e->p[i].flag = false;
}

static bool flag_home(const Ctf* e, int team) {
    FOR(k, TEAM) if (e->p[(1 - team) * TEAM + k].flag) return false;
    return true;
}

static void observe(Ctf* e) {
    FOR(i, N) {
        unsigned char* o = e->observations + i * OBS_SIZE;
        const Player* me = &e->p[i];
        const int us = side(i), mid = e->size / 2;
        memset(o, C_FREE, OBS_SIZE);
        FOR(a, WIN) FOR(b, WIN) {
            int r = me->r + a - SIGHT, c = me->c + b - SIGHT;
            bool out = r < 0 || c < 0 || r >= e->size || c >= e->size;
            if (out || e->wall[r * e->size + c]) o[a * WIN + b] = C_WALL;
            else if (r == mid && c == home_col(e, us) && flag_home(e, us)) o[a * WIN + b] = C_OUR_FLAG;
            else if (r == mid && c == home_col(e, 1 - us) && flag_home(e, 1 - us)) o[a * WIN + b] = C_THEIR_FLAG;
        }
        FOR(j, N) {
            int a = e->p[j].r - me->r + SIGHT, b = e->p[j].c - me->c + SIGHT;
            if (a < 0 || b < 0 || a >= WIN || b >= WIN) continue;
            unsigned char what = side(j) == us ? C_MATE : C_FOE;
            if (e->p[j].flag) what += C_MATE_FLAG - C_MATE;
            o[a * WIN + b] = j == i ? C_SELF : what;
        }
        o += VIEW;
        *o++ = me->flag;
        *o++ = me->sulk > 255 ? 255 : me->sulk;
        *o++ = 255 * me->r / (e->size - 1);
        *o++ = 255 * me->c / (e->size - 1);
        *o++ = e->captures[us] > 255 ? 255 : e->captures[us];
        *o++ = e->captures[1 - us] > 255 ? 255 : e->captures[1 - us];
        *o++ = (unsigned char)(255.0f * e->tick / e->max_ticks);
    }
}

void c_reset(Ctf* e) {
    FOR(i, N) e->p[i].r = e->p[i].c = -1;
    FOR(i, N) {
        go_home(e, i);
        e->p[i].sulk = 0;
        e->p[i].ret = 0;
    }
    e->captures[0] = e->captures[1] = 0;
    e->tick = 0;
    observe(e);
}

static void move(Ctf* e, int i, int a) {
    Player* p = &e->p[i];
    int r = p->r + (a == A_DOWN) - (a == A_UP);
    int c = p->c + (a == A_RIGHT) - (a == A_LEFT);
    if (a == A_STAY || blocked(e, r, c)) return;
    p->r = r, p->c = c;
}

static void tag(Ctf* e, int i) {
    if (!on_own_half(e, i)) return;
    FOR(k, TEAM) {
        int j = (1 - side(i)) * TEAM + k;
        if (on_own_half(e, j)) continue;
        if (e->p[j].r != e->p[i].r || abs(e->p[j].c - e->p[i].c) > 1) continue;
        e->rewards[i] += 0.2f;
        e->rewards[j] -= 0.2f;
        go_home(e, j);
        e->p[j].sulk = e->sulk_ticks;
    }
}

static void flags(Ctf* e, int i) {
    Player* p = &e->p[i];
    int us = side(i);
    if (!p->flag && abs(p->r - e->size / 2) + abs(p->c - home_col(e, 1 - us)) <= 2 && flag_home(e, 1 - us)) {
        p->flag = true;
        e->rewards[i] += 0.5f;
    } else if (p->flag && on_own_half(e, i)) {
        p->flag = false;
        e->captures[us]++;
        FOR(j, N) e->rewards[j] += side(j) == us ? 1.0f : -1.0f;
    }
}

void c_step(Ctf* e) {
    memset(e->rewards, 0, N * sizeof(float));
    memset(e->terminals, 0, N * sizeof(float));
    e->tick++;
    FOR(i, N) {
        if (e->p[i].sulk > 0 && e->p[i].sulk--) continue;
        move(e, i, (int)e->actions[2 * i]);
        if ((int)e->actions[2 * i + 1]) tag(e, i);
        flags(e, i);
    }
    FOR(i, N) e->p[i].ret += e->rewards[i];
    bool won = e->captures[0] >= e->to_win || e->captures[1] >= e->to_win;
    if (!won && e->tick < e->max_ticks) {
        observe(e);
        return;
    }
    FOR(i, N) {
        int us = side(i);
        e->terminals[i] = 1;
        e->log.perf += e->captures[us] >= e->to_win ? 1.0f : 0.0f;
        e->log.score += e->captures[us] - e->captures[1 - us];
        e->log.episode_return += e->p[i].ret;
        e->log.episode_length += e->tick;
        e->log.n++;
    }
    c_reset(e);
}

void c_render(Ctf* e) {
    if (!IsWindowReady()) { InitWindow(32 * e->size, 32 * e->size, "ctf"); SetTargetFPS(10); }
    BeginDrawing(), ClearBackground(RAYWHITE);
    FOR(i, N) DrawRectangle(32 * e->p[i].c + 4, 32 * e->p[i].r + 4, 24, 24, e->p[i].flag ? GOLD : i < TEAM ? BLUE : RED);
    EndDrawing();
}

void c_close(Ctf* e) { (void)e; }
