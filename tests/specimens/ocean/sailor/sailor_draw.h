#include "rlgl.h"
#include "sailor.h"

struct Window { Camera2D camera; };

void c_render(Sailor* env) {
    if (env->window == NULL) {
        env->window = (Window*)calloc(1, sizeof(Window));
        InitWindow(400, 400, "sailor");
        env->window->camera.zoom = 2;
    }
    BeginDrawing();
    ClearBackground(BLUE);
    BeginMode2D(env->window->camera);
    rlPushMatrix();
    rlTranslatef(env->boat.x + 100, env->boat.y + 100, 0);
    DrawTriangle((Vector2){6, 0}, (Vector2){-4, -3}, (Vector2){-4, 3}, RAYWHITE);
    rlPopMatrix();
    EndMode2D();
    EndDrawing();
}

void c_close(Sailor* env) {
    if (env->window) {
        CloseWindow();
        free(env->window);
    }
}
