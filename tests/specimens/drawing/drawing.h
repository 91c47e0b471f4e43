/* drawing.h -- an environment that draws in every way that we know of, and goes wrong on demand.
 *
 * The game: what you do is what you earn. An episode lasts `length` ticks, or where that is 0 as
 * many as its first seed says, 2 to 6; with -1 it never ends. [env] scene says what c_render does.
 */
#pragma once
#include <stdlib.h>
#include <unistd.h>
#include "raylib.h"

#define OBS_SIZE 1
#define ACT_SIZES {3}

enum Scene {                    // tests/test_recording.py reads these names and numbers
    BARS = 0,                   // width: what was earned; a letter at the top
    SEEDS = 1,                  // the whole window in a colour of this env's seed
    TEXTURE = 2,                // from resources/, with a font of its own
    CUBE = 3,                   // 3D: a red cube in the middle
    CAMERA = 4,                 // 2D camera: a square moved and enlarged
    CANVAS = 5,                 // drawn into a texture first
    GROWING = 6,                // the window is larger from tick 2 on
    SIZES = 7,                  // each env has a window of another size
    NOTHING = 8,
    LATE = 9,                   // opens the window in one call, draws from the next one on
    SEGFAULT = 10,              // on tick 2
    LOOP = 11,
    EXIT_0 = 12,
    CLOSE_DESCRIPTORS = 13,
    CLIENT = 14,                // as Ocean's do: memory made in c_render, freed in c_close
    GRADIENT = 15,              // more colours than a GIF has
};

typedef struct Log {
    float score;
    float n;
} Log;

typedef struct Client {
    int width, height;
} Client;

typedef struct Drawing {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int scene, length, fps;
    unsigned int victim;        // the seed of the env that goes wrong; 0 = all of them
    int tick, limit;
    float earned;
    unsigned int seed;          // as it was given
    Client* client;
    Texture2D texture;
    RenderTexture2D canvas;
    Font font;
} Drawing;

void c_reset(Drawing* env) {
    if (env->limit == 0) {
        env->seed = env->rng;
        env->limit = env->length != 0 ? env->length : 2 + (int)(env->seed % 5);
    }
    env->tick = 0;
    env->earned = 0;
    env->observations[0] = 0;
}

void c_step(Drawing* env) {
    env->tick += 1;
    env->earned += env->actions[0];
    env->rewards[0] = env->actions[0];
    env->terminals[0] = env->tick == env->limit;
    env->observations[0] = (float)(env->tick % 7);
    if (env->tick == env->limit) {
        env->log.score += env->earned;
        env->log.n += 1;
        c_reset(env);
    }
}

static const Color DARK = {6, 24, 24, 255}, TEAL = {0, 187, 187, 255}, GULES = {241, 20, 20, 255};

static void open_window(Drawing* env, int width, int height) {
    if (IsWindowReady()) return;
    InitWindow(width, height, "drawing");
    if (env->fps > 0) SetTargetFPS(env->fps);
    if (env->scene == TEXTURE) {
        env->texture = LoadTexture("resources/drawing/flag.png");
        env->font = LoadFontEx("resources/drawing/font.ttf", 40, NULL, 0);
    }
    if (env->scene == CANVAS) env->canvas = LoadRenderTexture(40, 20);
}

static void go_wrong(Drawing* env) {
    if (env->tick != 2 || (env->victim != 0 && env->victim != env->seed)) return;
    if (env->scene == SEGFAULT) *(volatile int*)(size_t)env->fps = 1;
    if (env->scene == LOOP) while (*(volatile int*)&env->tick == 2) {}
    if (env->scene == EXIT_0) exit(0);
    if (env->scene == CLOSE_DESCRIPTORS) for (int fd = 0; fd < 256; fd++) close(fd);
}

static void draw_bars(Drawing* env) {
    open_window(env, 200, 100);
    BeginDrawing();
    ClearBackground(DARK);
    DrawText("T", 4, 4, 20, WHITE);
    DrawRectangle(0, 40, (int)(4 * env->earned), 20, TEAL);
    DrawRectangle(0, 80, 10 * env->tick, 20, GULES);
    EndDrawing();
}

static void draw_plain(Drawing* env, int width, int height) {
    open_window(env, width, height);
    BeginDrawing();
    ClearBackground((Color){(unsigned char)env->seed, (unsigned char)(env->seed >> 8), 60, 255});
    EndDrawing();
}

static void draw_scene(Drawing* env) {
    Camera3D eye = {{0, 0, 10}, {0, 0, 0}, {0, 1, 0}, 45, CAMERA_PERSPECTIVE};
    Camera2D lens = {{100, 50}, {10, 10}, 0, 4};
    open_window(env, 200, 100);
    if (env->scene == CANVAS) {
        BeginTextureMode(env->canvas);
        ClearBackground(GULES);
        DrawRectangle(0, 0, 40, 10, TEAL);          // the upper half
        EndTextureMode();
    }
    BeginDrawing();
    ClearBackground(DARK);
    if (env->scene == TEXTURE) {
        DrawTexture(env->texture, 10 + env->tick, 10, WHITE);
        DrawTextEx(env->font, "H", (Vector2){120, 20}, 40, 0, WHITE);
    } else if (env->scene == CUBE) {
        BeginMode3D(eye);
        DrawCube((Vector3){0, 0, 0}, 2, 2, 2, GULES);
        DrawCube((Vector3){0, 0, -5}, 2, 2, 2, TEAL);       // behind it
        EndMode3D();
    } else if (env->scene == CAMERA) {
        BeginMode2D(lens);
        DrawRectangle(10, 10, 5, 5, TEAL);          // 100,50 to 120,70
        EndMode2D();
    } else if (env->scene == CANVAS) {
        Rectangle all = {0, 0, 40, -20};
        DrawTextureRec(env->canvas.texture, all, (Vector2){50, 50}, WHITE);
    }
    EndDrawing();
}

static void draw_growing(Drawing* env) {
    open_window(env, 200, 100);
    if (env->tick >= 2) SetWindowSize(200, 200);
    BeginDrawing();
    ClearBackground(TEAL);
    DrawRectangle(0, GetScreenHeight() - 20, 200, 20, GULES);
    EndDrawing();
}

static void draw_client(Drawing* env) {
    if (IsKeyDown(KEY_ESCAPE)) exit(0);
    if (env->client == NULL) {
        env->client = (Client*)calloc(1, sizeof(Client));
        *env->client = (Client){200, 100};
        InitWindow(env->client->width, env->client->height, "drawing");
    }
    BeginDrawing();
    ClearBackground(TEAL);
    DrawRectangle(0, 0, env->client->width / 2, env->client->height, GULES);
    EndDrawing();
}

static void draw_gradient(Drawing* env) {
    open_window(env, 200, 100);
    BeginDrawing();
    for (int y = 0; y < 100; y += 2)
        for (int x = 0; x < 200; x += 2)
            DrawRectangle(x, y, 2, 2, (Color){(unsigned char)x, (unsigned char)(2 * y), 90, 255});
    DrawRectangle(10 * env->tick, 10, 20, 20, TEAL);
    EndDrawing();
}

void c_render(Drawing* env) {
    if (env->scene == NOTHING) return;
    if (env->scene == LATE && !IsWindowReady()) {
        open_window(env, 200, 100);
        return;
    }
    go_wrong(env);
    if (env->scene == SEEDS) draw_plain(env, 40, 20);
    else if (env->scene == SIZES) draw_plain(env, 40 + (int)(env->seed % 3) * 20, 40);
    else if (env->scene == GROWING) draw_growing(env);
    else if (env->scene == CLIENT) draw_client(env);
    else if (env->scene == GRADIENT) draw_gradient(env);
    else if (env->scene >= TEXTURE && env->scene <= CANVAS) draw_scene(env);
    else draw_bars(env);
}

void c_close(Drawing* env) {
    if (env->scene == CLIENT && IsWindowReady()) {
        CloseWindow();
        env->client->width = 0;         // NULL in an env that nobody looked at
        free(env->client);
    }
}
