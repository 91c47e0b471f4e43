// What C takes and C++ does not, or takes to be something else, in a game that hardly is one.
// Each idiom leaves its trace in the observations.
#pragma once
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "raylib.h"
#include "raymath.h"

#define OBS_SIZE 40
#define ACT_SIZES {5, 1}
#define SWAP(a, b) do { typeof(a) swap_ = a; a = b; b = swap_; } while (0)

enum way { NORTH, EAST, SOUTH, WEST, WAYS };
typedef enum { RED_TEAM = 1, BLUE_TEAM } Team;

typedef enum Mood Mood;
enum Mood { CALM, WILD };

typedef struct Log {
    float score;
    float parts[3];
    float n;
} Log;

typedef struct {
    struct Point { int x, y; enum { FREE, TAKEN = 7 } state; } at;
    struct Point seen[2];
    union { float f; unsigned int u; } bits;
    unsigned int low : 4, high : 12;
} Tile;

typedef struct { union { struct { int w, h; }; int side[2]; }; enum way facing : 3; } Box;
typedef struct Node Node;
struct Node {
    Node* next;
    int class;                          // words that C++ keeps for itself
    int values[];
};

typedef struct Dialect {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int size;
    enum way way;
    Team team;
    bool new;
    Tile* tiles;
    Node* list;
    void* anything;
    int (*rule)(struct Dialect* this, int template);
    float (*scale)[3];
    int tick;
} Dialect;

static int twice(Dialect* this, int template) { (void)this; return 2 * template; }
static int thrice(Dialect* this, int template) { return 3 * template + this->tick; }
static int later(const Dialect* env, int delete);

static int (*const rules[])(Dialect*, int) = {twice, thrice};
static const int steps[WAYS][2] = {[SOUTH] = {0, 1}, [NORTH] = {0, -1}, [EAST] = {1, 0}, {-1}};
static const char* const names[] = {[WEST] = "west", [NORTH] = "north", [EAST] = "east", "south"};
static const Tile plain = {.bits = {.f = 1.5f}, .at = {.y = 2, .x = 1}, .high = 9, .low = 3};
static const struct { const char* name; int cost; int (*rule)(Dialect*, int); } shop[] = {
    {"nothing", 0, NULL}, {.cost = 4, .name = "twice", .rule = twice},
    [3] = {"thrice", .rule = thrice},
};
static const int* const primes = (int[]){2, 3, 5, 7};
static const int ranges[8] = {[0 ... 2] = 4, [5] = 6, 7};
static const Vector2* const corner = &(Vector2){3, 4};
static int counts[3], *where = counts + 1;
static int counts[3];
static int seven;
static int seven = 7, eight = ';' - 51;

static void* memory(size_t bytes) { return calloc(1, bytes); }

static int by_size(const void* a, const void* b) {
    const int *x = a, *y = b;
    return *x % 10 - *y % 10;
}

static Tile tile_at(int x, int y) { return (Tile){.at = {x, y, TAKEN}, .bits.u = 7u}; }

static char* word_of(int n) { return n % 2 ? "odd" : "even"; }

static int turn(enum way way) {
    switch (way) {
        case NORTH: return 2;
        case SOUTH: { static const int by[WAYS] = {[SOUTH] = 5, [EAST] = 2}; return by[way]; }
        case 1: return 9;
        default: return way == WEST ? -1 : way;
    }
}

static int sum(const int* values, int count) {
    int total = 0;
    while (count--) total = total * 3 + *values++;
    return total;
}

static float most_of(int count, const float values[count], Mood mood) {
    float best =
        -INFINITY;                      // a macro of a header of the system
    if (mood == CALM) goto out;
    for (int i = 0; i < count; i++) best = fmaxf(best, values[i]);
out:
    return best;
}

static float length_of(const Vector2* v) { return sqrtf(v->x * v->x + v->y * v->y); }

static int depth(int n) { return n <= 0 ? 0 : 1 + depth(n - 2); }

static void narrate(Dialect* env, const char* text) {
    if (env->tick < 0) {
        fprintf(stderr, "%s: %d\n", text, env->tick);
        puts(text);
        exit(1);
    }
}

void init(Dialect* env) {
    env->tiles = malloc(env->size * sizeof *env->tiles);
    env->list = memory(sizeof(Node) + 4 * sizeof(int));
    env->anything = env->tiles;
    env->scale = malloc(2 * sizeof *env->scale);
    env->scale = realloc(env->scale, 6 * sizeof *env->scale);
    env->rule = rules[0];
    env->new = true;
    for (int i = 0; i < env->size; i++) env->tiles[i] = plain;
}

static void look(Dialect* env) {
    int at = 0;
    float angle = env->tick * 0.37f + (env->rng & 7);
    float* o = env->observations;
    Tile* tile = env->anything;
    void* second = env->anything + sizeof(Tile);
    const char* text = names[env->way];
    char word[16] = "a";
    int order[7] = {53, 12, 33, 2, 17, 92, 23}, wanted = 17;

    o[at++] = sin(angle) * 0.1;             // double, here and in the next
    o[at++] = fabs(angle - 3) + pow(angle, 0.3) + abs(-2.7f * angle);
    o[at++] = sinf(angle) + fmodf(angle, 1.1f) + roundf(angle) + atan2f(angle, 2);
    o[at++] = isnan(angle) + 2 * isinf(INFINITY) + (angle < INFINITY) + !!signbit(-angle) + isinf(-INFINITY);
    if (env->way - 1 < 0) o[at] = 1;        // never: an enum without negatives is unsigned
    at++;
    for (enum way w = 0; w < WAYS; w++) o[at] += steps[w][0] * (w + 2) + steps[w][1];
    at++;
    Team other = env->team == RED_TEAM ? BLUE_TEAM : 1;
    other |= 4;
    o[at++] = other + sizeof(env->way);
    o[at++] = sum((int[]){env->tick, 2, env->rng % 5}, 3) + sum(primes, 4);
    o[at++] = length_of(&(Vector2){env->tick, .y = 2}) + length_of(corner);
    o[at++] = Vector2Length(Vector2Add((Vector2){1, 2}, (Vector2){.y = env->tick}));
    o[at++] = tile->at.x + tile->seen[1].y + tile->high + (tile->bits.u >> 20);
    o[at++] = ((Tile*)second)->at.y + (tile->at.state == FREE ? 1 : TAKEN);
    qsort(order, 7, sizeof(int), by_size);
    int* found = bsearch(&wanted, order, 7, sizeof(int), by_size);
    o[at++] = sum(order, 7) % 1000 + (found ? found - order : -1);
    strcpy(word, text);
    strcat(word, "ern");
    memmove(word + 1, word, 5);
    o[at++] = strlen(word) + toupper(word[2]) + (strcmp(word, "nnorth") == 0) +
              (strchr(word, 't') ? strchr(word, 't') - word : 0) + atoi(" -12x");
    o[at++] = env->rule(env, 3) + (shop[env->way].rule ? shop[env->way].rule(env, 1) : 0);
    o[at++] = ranges[env->tick % 8] + shop[3].cost + shop[1].cost + later(env, 2);
    switch (env->way) {
        case NORTH: o[at] = 1; int extra = 3; o[at] += extra; break;
        case EAST: { Tile copy = *tile; o[at] = copy.low; break; }
        default: o[at] = 5;
    }
    at++;
    if (env->tick % 3 == 0) goto end;
    int behind = env->tick * 2;
    o[at] = behind;
end:
    at++;
    const int most = 4;
    int few[most];
    for (int i = 0; i < most; i++) few[i] = i * env->tick;
    o[at++] = sum(few, most);
    enum { LOCAL = 3 };
    struct Point points[3] = {[1].y = 4, [2] = {.state = TAKEN}, [1].x = LOCAL};
    o[at++] = points[1].y * 10 + points[1].x + points[2].state + points[0].x;
    Node* node = env->list;
    node->class = env->tick;
    node->values[3] = node->class + 1;
    o[at++] = (env->new ? node : env->anything) == node ? node->values[3] : -1;
    o[at++] = rand() % 100 + rand_r(&env->rng) % 100 + GetRandomValue(9, 3) + random() % 7;
    o[at++] = 10 * seven + eight + depth(env->tick) + (*where)++ * 0 + UINT8_MAX + (INT_MIN < 0);
    float (*scale)[3] = env->scale;
    for (int i = 0; i < 6; i++) memcpy(scale[i], (float[]){i, 1, env->tick}, sizeof scale[i]);
    o[at++] = scale[5][2] + scale[2][0];
    char* words = "words";
    o[at++] = words[env->tick % 5] == 'o' ? 'x' : -1;
    o[at++] = IsKeyDown(KEY_SPACE) + GetMousePosition().x + (int)GetFrameTime();
    const Tile* looked = tile;
    Tile* written = looked, three[2][3] = {{tile_at(1, 2)}, {[2] = tile_at(3, env->tick)}};
    SWAP(three[0][0], three[1][2]);
    SWAP(order[0], order[1]);
    o[at++] = three[0][0].at.y + three[1][2].at.x + three[0][0].bits.u + (written == tile);
    o[at++] = order[0] + word_of(env->tick)[0] + turn(env->way) + turn((enum way)3);
    Box box = {.side = {3, env->tick}, .facing = WEST};
    for (Box next = (Box){{{2, 3}}, 1}; next.w < 9; next.w += next.h) box.h += next.w;
    o[at++] = box.side[1] + box.facing + (unsigned char)-box.w;
    for (int i = 0; sum((int[]){i, box.h}, 2) < 100; i += 3)
        if (i > 4) o[at] += sum((const int[]){i, [3] = 2}, 4); else o[at] -= 1;
    at++;
    for (const char* c = "a,b", *end_ = c + 3; c < end_; c++) o[at] += *c;
    at++;
    Mood mood = env->tick % 2;
    o[at++] = most_of(3, (float[]){1, angle, 2}, mood++) + sizeof('a') + mood;
    unsigned char byte = 250;
    byte += env->tick;
    o[at++] = byte + (uint8_t)(env->tick << 6) + (int8_t)(env->tick << 5);
    o[at++] = (long long)env->rng * env->rng % 1000003;
    assert(at <= OBS_SIZE);
    for (int i = at; i < OBS_SIZE * env->num_agents; i++) o[i] = i;
    narrate(env, text);
}

static int later(const Dialect* env, int delete) { return env->size + delete; }

void c_reset(Dialect* env) {
    env->tick = 0;
    env->way = rand_r(&env->rng) % WAYS;
    env->team = 1 + env->way % 2;
    memset(env->observations, 0, OBS_SIZE * sizeof(float));
    look(env);
}

void c_step(Dialect* env) {
    env->tick++;
    env->way = (int)env->actions[0] % WAYS;
    env->rule = rules[env->tick & 1];
    env->tiles[1].at = (struct Point){.y = env->tick, .x = (int)env->actions[2]};
    memset(env->observations, 0, OBS_SIZE * sizeof(float));
    for (int i = 0; i < env->num_agents; i++) env->rewards[i] = env->actions[2 * i + 1];
    if (env->tick == 20) {
        env->terminals[0] = 1;
        env->log.score += env->rewards[0];
        for (int i = 0; i < 3; i++) env->log.parts[i] += i * env->rewards[1];
        env->log.n++;
        c_reset(env);
        return;
    }
    look(env);
}

// Never compiled for a GPU: nothing of this would be C++
void c_render(Dialect* env) {
    int new = 3, class = new;
    static FILE* trace;
    char text[32];
    time_t now = time(NULL);
    int wide[env->size];
    struct { int x; } nothing = {};
    wide[0] = ({ int inner = class; inner + nothing.x; });
    if (!trace) trace = fopen("/dev/null", "w");
    snprintf(text, sizeof text, "%d %ld %d", env->tick, (long)now, wide[0]);
    if (!IsWindowReady()) InitWindow(64, 64, text);
    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    DrawText(TextFormat("%d", env->tick), 1, 1, 10, WHITE);
    EndDrawing();
}

void c_close(Dialect* env) {
    free(env->tiles);
    free(env->list);
    free(env->scale);
}
