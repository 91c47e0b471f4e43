#include <stdlib.h>
#include <string.h>
#include "raylib.h"

#define WIDTH 11
#define LANES 6
#define ROWS (LANES + 2)
#define BOARD (WIDTH * ROWS)
// behind the board: lives left, time left, squares from the far side
#define NOBS (BOARD + 3)

const unsigned char EMPTY = 0;
const unsigned char CAR = 1;
const unsigned char FROG = 2;

// 0 stays where it is
const int UP = 1;
const int DOWN = 2;
const int LEFT = 3;
const int RIGHT = 4;

typedef struct Log {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Client {
    int cell;
} Client;

typedef struct Crossing Crossing;
struct Crossing {
    Log log;
    Client* client;
    unsigned char* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int max_ticks;
    int max_lives;
    float traffic;
    int row;
    int col;
    int lives;
    int tick;
    int crossings;
    int phase[LANES];   // ticks until the lane moves again
    float episode_return;
};

void add_log(Crossing* env) {
    int hits = env->max_lives - env->lives;
    if (env->crossings + hits > 0) {
        env->log.perf += (float)env->crossings / (float)(env->crossings + hits);
    }
    env->log.score += env->crossings;
    env->log.episode_return += env->episode_return;
    env->log.episode_length += env->tick;
    env->log.n++;
}

static int chance(float p) {
    return (float)(rand() % 10000) < p * 10000.0f;
}

static unsigned char* lane(Crossing* env, int i) {
    return env->observations + (i + 1) * WIDTH;
}

static int lane_period(int i) {
    return 1 + i % 3;
}

static void put_frog(Crossing* env) {
    env->observations[env->row * WIDTH + env->col] = FROG;
}

static void lift_frog(Crossing* env) {
    env->observations[env->row * WIDTH + env->col] = EMPTY;
}

static void start_square(Crossing* env) {
    env->row = ROWS - 1;
    env->col = WIDTH / 2;
}

static void gauges(Crossing* env) {
    unsigned char* g = env->observations + BOARD;
    g[0] = (unsigned char)(255.0f * env->lives / env->max_lives);
    g[1] = (unsigned char)(255.0f * (env->max_ticks - env->tick) / env->max_ticks);
    g[2] = (unsigned char)env->row;
}

void c_reset(Crossing* env) {
    env->tick = 0;
    env->lives = env->max_lives;
    env->crossings = 0;
    env->episode_return = 0;
    memset(env->observations, EMPTY, NOBS);
    for (int i = 0; i < LANES; i++) {
        env->phase[i] = lane_period(i);
        for (int c = 0; c < WIDTH; c++) lane(env, i)[c] = chance(env->traffic) ? CAR : EMPTY;
    }
    start_square(env);
    put_frog(env);
    gauges(env);
}

// Even lanes drive to the right, odd ones to the left. The frog is lifted off the board
// meanwhile, so that a lane holds nothing but cars
void move_traffic(Crossing* env) {
    for (int i = 0; i < LANES; i++) {
        if (--env->phase[i] > 0) continue;
        env->phase[i] = lane_period(i);
        unsigned char* cars = lane(env, i);
        unsigned char next = chance(env->traffic) ? CAR : EMPTY;
        if (i % 2 == 0) {
            memmove(cars + 1, cars, WIDTH - 1);
            cars[0] = next;
        } else {
            memmove(cars, cars + 1, WIDTH - 1);
            cars[WIDTH - 1] = next;
        }
    }
}

void c_step(Crossing* env) {
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    env->tick++;

    lift_frog(env);
    int action = (int)env->actions[0];
    if (action == UP && env->row > 0) {
        env->row--;
    } else if (action == DOWN && env->row < ROWS - 1) {
        env->row++;
    } else if (action == LEFT && env->col > 0) {
        env->col--;
    } else if (action == RIGHT && env->col < WIDTH - 1) {
        env->col++;
    }

    int hit = env->observations[env->row * WIDTH + env->col] == CAR;
    move_traffic(env);
    hit = hit || env->observations[env->row * WIDTH + env->col] == CAR;

    if (hit) {
        env->rewards[0] = -0.5f;
        env->lives--;
        start_square(env);
    } else if (env->row == 0) {
        env->rewards[0] = 1.0f;
        env->crossings++;
        start_square(env);
    }
    env->episode_return += env->rewards[0];

    if (env->lives <= 0 || env->tick >= env->max_ticks) {
        env->terminals[0] = 1;
        add_log(env);
        c_reset(env);
        return;
    }
    put_frog(env);
    gauges(env);
}

void c_render(Crossing* env) {
    if (IsKeyDown(KEY_ESCAPE)) exit(0);
    if (env->client == NULL) {
        env->client = (Client*)calloc(1, sizeof(Client));
        env->client->cell = 48;
        InitWindow(WIDTH * 48, ROWS * 48, "PufferLib Crossing");
        SetTargetFPS(8);
    }
    int px = env->client->cell;
    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int i = 0; i < BOARD; i++) {
        int tile = env->observations[i];
        if (tile != EMPTY) DrawRectangle(i % WIDTH * px, i / WIDTH * px, px, px, tile == CAR ? RED : GREEN);
    }
    EndDrawing();
}

void c_close(Crossing* env) {
    if (IsWindowReady()) CloseWindow();
    free(env->client);
}
