/* slang.h -- a game of what people write in C, and C++ refuses.  One agent on maps of letters. */
#pragma once
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OBS_SIZE 26
#define ACT_SIZES {4}
#define WIDE 6

typedef struct Log { float score; float n; } Log;

typedef struct Event {                      // members without a name
    enum { MOVED, SEEN } kind;
    union { int number; float part; };
    int last;
} Event;

typedef struct Pair {
    struct { int x, y; };
    union { struct { short low, high; }; int both; };
} Pair;

typedef struct World {                      // what is defined in here is used outside
    struct Cell { int kind; struct Cell* next; enum Mode { IDLE, RUN } mode; } first;
    enum Team { RED, BLUE } team;
} World;

#pragma pack(push, 1)
typedef struct Packed { char tag; short value; int more; } Packed;
#pragma pack(pop)
typedef struct Loose { char tag; short value; int more; } Loose;

typedef struct Slang {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int tick;
    World world;
    struct Cell* mine;
    enum Mode mode;
    enum Team team;
    Event events[4];
    bool seen;
    bool flag : 1;
} Slang;

// Rows as wide as their text: no room for the zero at the end
static const char maps[2][3][WIDE] = {{"######", "#.G..#", "######"},
                                      {"######", "#..G.#", "###" "###"}};
static char marks[][4] = {"abcd", "x", "'\"\\\101"};
static const struct { char tag[2]; unsigned char bytes[3]; int n; } tags[] = {
    {"ab", "\377bc", 3}, {.n = 4, .tag = "cd"}, {.tag = "q"},
};
static const char flat[2] = {"a'"}, whole[] = "xyz";
static const Event plan[] = {{.kind = SEEN, .part = 1.5f}, {.last = 3, .number = 4},
                             [3] = {MOVED, {7}, 8}};
static const Pair pairs[2] = {{.x = 1, .high = 4, .low = 3}, {.y = 2, .both = 0x20001}};

static const float gravity = 9.81f, half = gravity / 2, *const falls = &half;
const double pull = half * gravity;
static const float limits[2] = {gravity, -half}, endless = 1.0f / 0.0f;

void init(Slang* env) {
    env->mine = malloc(sizeof(struct Cell));
    struct Cell* cell = calloc(1, sizeof *cell);
    env->mine->next = cell;
}

static void look(Slang* env) {
    float* o = env->observations;
    int at = 0, tick = env->tick;

    for (int i = 0; i < WIDE; i++) o[at] += maps[tick & 1][1][i] == 'G' ? i : 0;
    at++;
    o[at++] = marks[0][tick % 4] + marks[2][0] + marks[2][3] + sizeof marks + marks[2][2];
    o[at++] = tags[0].tag[1] + tags[0].bytes[0] + tags[1].tag[1] + tags[2].tag[0] + tags[2].tag[1];
    o[at++] = flat[0] + 2 * flat[1] + whole[tick % 4] + sizeof whole;
    char local[3] = "abc";
    o[at++] = local[2] + strlen("abc") + "xyz"[tick % 3];

    env->events[0] = (Event){.kind = SEEN, .part = tick * 0.5f};
    env->events[1] = (Event){MOVED, {.number = tick}};
    o[at++] = env->events[0].part + env->events[1].number + env->events[0].kind;
    o[at++] = plan[0].part + plan[1].number + plan[1].last + plan[3].number * plan[3].last;
    Pair pair = {.y = tick, .x = 2, .high = 5, .low = 4};
    o[at++] = pair.y + 10 * pair.x + pair.low + 100 * pair.high;
    o[at++] = pairs[0].x + pairs[0].high * 10 + pairs[1].y + pairs[1].low + pairs[1].high;
    Event* event = &(Event){.part = 2.5f, .kind = SEEN};
    o[at++] = event->part;
    Pair few[2] = {[1].high = tick, [1].y = 2};
    o[at++] = few[1].high + few[1].y + few[0].x;

    env->mode = tick % 2;
    env->team = env->mode == RUN ? BLUE : RED;
    env->mine->mode = tick & 1;
    if (tick > 100) goto out;
    enum Mode mode = tick % 2;
    struct Cell copy = *env->mine, *boxed = &(struct Cell){.mode = RUN, .kind = tick};
    o[at] = mode + copy.mode + env->team * 10 + boxed->mode + boxed->kind;
out:
    at++;

    o[at++] = sizeof(Packed) * 100 + sizeof(Loose);
    switch (tick) {
        case 1 ... 3: o[at] = 1; break;
        case 'a' ... 'c': case 4
            ... 6: o[at] = 2; break;
        default: o[at] = 3;
    }
    at++;
    o[at++] = __LINE__;

    bool twice = false, gone = true;
    twice++; twice++;
    gone--; gone--; gone--;
    if (tick > 2) gone++; else gone--;
    env->flag--;
    o[at++] = twice + 2 * gone + 4 * env->flag + 8 * (++env->seen);
    o[at++] = half + *falls + pull + limits[1] + (tick < endless);
    char word[12] = "12";
    strncat(word, "xyz", tick % 5);
    char* letter = strpbrk(word, "zy");
    o[at++] = strlen(word) + 10 * strspn(word, "210") + 100 * strcspn(word, "y") +
              (letter ? *letter : -1) + strnlen(word, 3) * 1000;
    o[at++] = !!isxdigit(word[tick % 6]) + 2 * !!ispunct(tick + 30) + 4 * !!isprint(tick + 28);
    __auto_type half = tick * 0.5f;
    o[at++] = half;
    int left = 2, counted = left-- ?: 9;        // once
    struct Cell* next = env->mine->next->next ?: (copy.next ?: env->mine);
    o[at++] = counted + 10 * left + 100 * (next == env->mine->next) + (tick % 3 ?: 0.5f) * 1000;
    o[at++] = strcasecmp(word, "12XY") + 100 * strncasecmp("Abcd", "aBCe", tick % 5);
}

void c_reset(Slang* env) {
    env->tick = env->rng % 3;
    env->rng = env->rng * 1664525u + 1013904223u;
    env->seen = env->flag = false;
    memset(env->observations, 0, OBS_SIZE * sizeof(float));
    look(env);
}

void c_step(Slang* env) {
    env->tick++;
    env->rewards[0] = env->actions[0];
    env->terminals[0] = env->tick > 12;
    memset(env->observations, 0, OBS_SIZE * sizeof(float));
    if (env->tick > 12) {
        env->log.score += env->rewards[0];
        env->log.n++;
        c_reset(env);
        return;
    }
    look(env);
}

void c_render(Slang* env) { (void)env; }

void c_close(Slang* env) {
    free(env->mine->next);
    free(env->mine);
}
