// Hit the mole where it shows. Idioms: rand() for chance, a Client that owns the window,
// ESC ends the process from c_render, c_close asks raylib before it closes.
#include <stdlib.h>
#include "raylib.h"

#define HOLES 6

typedef struct {
    float perf;
    float score;
    float episode_return;
    float episode_length;
    float n;
} Log;

typedef struct Client {
    int width;
    int height;
    Texture2D sprite;
} Client;

typedef struct {
    Client* client;
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int patience;
    int tick;
    int mole;
    float hits;
} Mole;

void init(Mole* env) {
    env->tick = 0;
}

static void look(Mole* env) {
    for (int i = 0; i < HOLES; i++) env->observations[i] = i == env->mole;
    env->observations[HOLES] = (float)env->tick / env->patience;
}

void c_reset(Mole* env) {
    env->tick = 0;
    env->hits = 0;
    env->mole = rand() % HOLES;
    look(env);
}

void c_step(Mole* env) {
    env->rewards[0] = 0;
    env->terminals[0] = 0;
    env->tick++;
    if ((int)env->actions[0] == env->mole) {
        env->rewards[0] = 1;
        env->hits += 1;
        env->mole = (env->mole + 1 + rand() % (HOLES - 1)) % HOLES;
    } else if (rand() % 4 == 0) {
        env->mole = rand() % HOLES;
    }
    if (env->tick >= env->patience) {
        env->terminals[0] = 1;
        env->log.perf += env->hits / env->tick;
        env->log.score += env->hits;
        env->log.episode_return += env->hits;
        env->log.episode_length += env->tick;
        env->log.n += 1;
        c_reset(env);
        return;
    }
    look(env);
}

Client* make_client(Mole* env) {
    Client* client = (Client*)calloc(1, sizeof(Client));
    client->width = 80 * HOLES;
    client->height = 120;
    InitWindow(client->width, client->height, "mole");
    SetTargetFPS(10);
    client->sprite = LoadTexture("resources/mole.png");
    return client;
}

void c_render(Mole* env) {
    if (IsKeyDown(KEY_ESCAPE)) exit(0);
    if (env->client == NULL) env->client = make_client(env);
    BeginDrawing();
    ClearBackground((Color){6, 24, 24, 255});
    for (int i = 0; i < HOLES; i++) {
        DrawCircle(40 + 80 * i, 60, 30, i == env->mole ? BROWN : DARKGRAY);
    }
    DrawText(TextFormat("%d hits", (int)env->hits), 10, 10, 20, WHITE);
    EndDrawing();
}

void c_close(Mole* env) {
    if (IsWindowReady()) {
        UnloadTexture(env->client->sprite);
        CloseWindow();
        free(env->client);
    }
}
