// screen.c -- see screen.h. Loaded before raylib, so that the env's calls come here first
#define _GNU_SOURCE         // RTLD_DEFAULT and friends
#define PUFFER_NO_COMPAT    // its macros would rename what is defined here
#include "raylib.h"
#include "screen.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define PANEL_WIDTH  300
#define PANEL_HEIGHT 420    // the least, so that a small game leaves room for the text
#define MARGIN       14
#define DEFAULT_FPS  60
#define PATIENCE     600    // frames of one c_render after which it is told to end
#define EXPORT       __attribute__((visibility("default")))

// The functions of raylib that are used here: X(name)
// clang-format off
#define REAL_FUNCTIONS(X) \
    X(InitWindow) X(CloseWindow) X(WindowShouldClose) X(EndDrawing) X(SetTargetFPS) \
    X(SetExitKey) X(SetTraceLogLevel) X(SetWindowSize) X(GetScreenWidth) X(GetScreenHeight) \
    X(GetRenderWidth) X(GetRenderHeight) X(IsKeyDown) X(IsKeyPressed) \
    X(IsKeyReleased) X(IsKeyUp) X(DrawRectangle) X(DrawText) X(MeasureText) X(MemFree) \
    X(DrawLineV) X(GetTime) X(GetFrameTime) X(IsMouseButtonDown)
// clang-format on

unsigned char* rlReadScreenPixels(int width, int height);    // rlgl.h's, RGBA, top row first
void rlDrawRenderBatchActive(void);
void* swGetColorBuffer(int* width, int* height);    // rlsw.h's: where the software renderer is

#define DECLARE(name) __typeof__(name)* name;
static struct {
    REAL_FUNCTIONS(DECLARE)
    DECLARE(rlReadScreenPixels)
    DECLARE(rlDrawRenderBatchActive)
    DECLARE(swGetColorBuffer)    // NULL where a GPU draws
} real;

static ScreenInfo info;
static struct {
    void* library;
    int visible, capture;
    int inside;                     // raylib's own calls may come here too: some builds of it
                                    // bind to whoever defines a name first
    int drawing;                    // between screen_begin and screen_end: an env draws
    int opened;                     // the env that drew last has called InitWindow,
    int outside;                    // or some env has, while none was drawing
    int fps;                        // the pace of the window
    bool tapped[512];               // keys that went down since screen_forget_keys
    int64_t drawn;                  // frames since screen_open: what GetTime goes by
    const unsigned char* pixels;    // the last picture
    unsigned char* copy;            // raylib's memory, where it has to copy them
    const char* text;               // the panel; NULL hides it
    const float *cells, *curve;
    int count, points;
} own;

//-- Opening and closing ----------------------------------------------------------
EXPORT const char* screen_open(const char* raylib, int32_t visible) {
    own.library = dlopen(raylib, RTLD_LAZY | RTLD_GLOBAL);
    if (own.library == NULL) return dlerror();
#define FIND(name)                                                                                 \
    if ((*(void**)& real.name = dlsym(own.library, #name)) == NULL) return #name " is not in it";
    REAL_FUNCTIONS(FIND)
    FIND(rlReadScreenPixels)
    FIND(rlDrawRenderBatchActive)
    *(void**)&real.swGetColorBuffer = dlsym(own.library, "swGetColorBuffer");
    own.visible = visible;
    real.SetTraceLogLevel(LOG_WARNING);
    return NULL;
}

static void drop_pixels(void) {
    if (own.copy != NULL) real.MemFree(own.copy);
    own.pixels = own.copy = NULL;
}

EXPORT void screen_close(void) {
    if (!info.ready) return;
    drop_pixels();
    real.CloseWindow();
    info.ready = 0;
}

static int window_width(void) { return info.width + (own.text != NULL ? PANEL_WIDTH : 0); }

static int window_height(void) {
    return own.text != NULL && info.height < PANEL_HEIGHT ? PANEL_HEIGHT : info.height;
}

static int pace(void) { return info.asked_fps > 0 ? info.asked_fps : DEFAULT_FPS; }

//-- What the env calls -----------------------------------------------------------
static void resize(int width, int height) {
    if (width == info.width && height == info.height) return;
    info.width = width;
    info.height = height;
    if (info.ready) real.SetWindowSize(window_width(), window_height());
}

EXPORT void InitWindow(int width, int height, const char* title) {
    if (own.drawing) own.opened = 1;
    else own.outside = 1;
    if (info.ready) {
        resize(width, height);
        return;
    }
    info.width = width;
    info.height = height;
    own.inside = 1;
    real.InitWindow(window_width(), window_height(), title);
    own.inside = 0;
    info.ready = 1;
    real.SetExitKey(KEY_NULL);
    if (own.visible) real.SetTargetFPS(own.fps > 0 ? own.fps : DEFAULT_FPS);
}

EXPORT void CloseWindow(void) {}    // the next episode may want it

EXPORT bool WindowShouldClose(void) { return !info.ready || info.frames > PATIENCE; }

EXPORT void SetTargetFPS(int fps) { info.asked_fps = fps; }

EXPORT void SetExitKey(int key) { (void)key; }

// Of the env that draws: another one's textures are not its own
EXPORT bool IsWindowReady(void) { return info.ready && (own.opened || own.outside); }

EXPORT void SetWindowSize(int width, int height) { resize(width, height); }

EXPORT int GetScreenWidth(void) { return info.ready ? info.width : real.GetScreenWidth(); }
EXPORT int GetScreenHeight(void) { return info.ready ? info.height : real.GetScreenHeight(); }
EXPORT int GetRenderWidth(void) { return info.ready ? info.width : real.GetRenderWidth(); }
EXPORT int GetRenderHeight(void) { return info.ready ? info.height : real.GetRenderHeight(); }

// Old environments call exit() on ESC. F keys are the player's
static bool is_ours(int key) { return key == KEY_ESCAPE || (key >= KEY_F1 && key <= KEY_F12); }

static bool was_tapped(int key) { return key >= 0 && key < 512 && own.tapped[key]; }

EXPORT bool IsKeyDown(int key) { return !is_ours(key) && (real.IsKeyDown(key) || was_tapped(key)); }
EXPORT bool IsKeyPressed(int key) { return !is_ours(key) && real.IsKeyPressed(key); }
EXPORT bool IsKeyReleased(int key) { return !is_ours(key) && real.IsKeyReleased(key); }
EXPORT bool IsKeyUp(int key) { return is_ours(key) || real.IsKeyUp(key); }

// Time is counted in frames: a recording is the same however long a frame took to draw
EXPORT float GetFrameTime(void) { return own.inside ? real.GetFrameTime() : 1.0f / (float)pace(); }
EXPORT double GetTime(void) { return own.inside ? real.GetTime() : (double)own.drawn / pace(); }

//-- The panel --------------------------------------------------------------------
static const Color PAPER = {18, 22, 28, 255}, INK = {226, 232, 240, 255};
static const Color FAINT = {134, 146, 160, 255}, ACCENT = {0, 205, 190, 255};
static const Color RULE = {48, 56, 66, 255};

static Color shade(float x) {    // dark blue over teal to pale yellow: ordered in brightness too
    const float stops[3][3] = {{30, 38, 58}, {0, 150, 150}, {255, 236, 150}};
    x = x < 0 ? 0 : x > 1 ? 1 : x;
    int low = x < 0.5f ? 0 : 1;
    float part = 2 * x - (float)low;
    unsigned char rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = (unsigned char)(stops[low][i] + part * (stops[low + 1][i] - stops[low][i]));
    return (Color){rgb[0], rgb[1], rgb[2], 255};
}

static int draw_cells(const char* text, int x, int y) {
    int first = 0, count = 0, columns = 1, side = 2;
    sscanf(text, "%d %d %d %d", &first, &count, &columns, &side);
    if (columns < 1) columns = 1;
    for (int i = 0; i < count && first + i < own.count; i++)
        real.DrawRectangle(x + i % columns * side, y + i / columns * side, side - (side > 3),
                           side - (side > 3), shade(own.cells[first + i]));
    return (count + columns - 1) / columns * side + 6;
}

static int draw_pairs(const char* text, int x, int y) {
    const int gap = 16;
    char parts[4][64] = {{0}};
    int count = 0;
    for (const char* at = text; count < 4; count++) {
        size_t length = strcspn(at, "\t");
        snprintf(parts[count], sizeof parts[count], "%.*s", (int)length, at);
        at += length;
        if (*at == '\0') break;
        at += 1;
    }
    int wide = PANEL_WIDTH - 2 * MARGIN;
    if (count > 1) wide = (wide - gap) / 2;
    for (int i = 0; i <= count && i < 4; i += 2, x += wide + gap) {
        real.DrawText(parts[i], x, y, 10, FAINT);
        real.DrawText(parts[i + 1], x + wide - real.MeasureText(parts[i + 1], 10), y, 10, INK);
    }
    return 16;
}

static int draw_curve(int x, int y) {
    const int inside = PANEL_WIDTH - 2 * MARGIN, tall = 44;
    float low = 0, high = 0;
    for (int i = 0; i < own.points; i++) {
        if (own.curve[i] < low) low = own.curve[i];
        if (own.curve[i] > high) high = own.curve[i];
    }
    float scale = high > low ? (float)tall / (high - low) : 0;
    real.DrawRectangle(x, y + (int)(high * scale), inside, 1, RULE);
    for (int i = 1; i < own.points; i++) {
        float step = (float)inside / (float)(own.points - 1);
        Vector2 from = {(float)x + step * (float)(i - 1),
                        (float)y + (high - own.curve[i - 1]) * scale};
        Vector2 to = {(float)x + step * (float)i, (float)y + (high - own.curve[i]) * scale};
        real.DrawLineV(from, to, ACCENT);
    }
    return tall + 8;
}

static int draw_line(char style, const char* text, int x, int y) {
    switch (style) {
    case 'h': real.DrawText(text, x, y, 20, ACCENT); return 26;
    case 't': real.DrawText(text, x, y, 20, INK); return 24;
    case 's': real.DrawText(text, x, y, 10, FAINT); return 16;
    case 'k': return draw_pairs(text, x, y);
    case 'o': return draw_cells(text, x, y);
    case 'v': return draw_curve(x, y);
    default: real.DrawRectangle(x, y + 3, PANEL_WIDTH - 2 * MARGIN, 1, RULE); return 10;
    }
}

static void draw_panel(void) {
    real.DrawRectangle(info.width, 0, PANEL_WIDTH, window_height(), PAPER);
    if (window_height() > info.height)
        real.DrawRectangle(0, info.height, info.width, window_height() - info.height, PAPER);
    int x = info.width + MARGIN, y = MARGIN;
    char line[128];
    for (const char* at = own.text; *at != '\0' && y < window_height() - MARGIN;) {
        size_t length = strcspn(at, "\n");
        if (length > 0) {
            snprintf(line, sizeof line, "%.*s", (int)length - 1, at + 1);
            y += draw_line(*at, line, x, y);
        }
        at += length + (at[length] == '\n');
    }
}

EXPORT void screen_panel(const char* text, const float* cells, int32_t count, const float* curve,
                         int32_t points) {
    int was = own.text != NULL;
    own.text = text;
    own.cells = cells;
    own.count = count;
    own.curve = curve;
    own.points = points;
    if (info.ready && was != (text != NULL)) real.SetWindowSize(window_width(), window_height());
}

//-- Frames -----------------------------------------------------------------------
static void read_pixels(void) {
    int width = real.GetRenderWidth(), height = real.GetRenderHeight();
    drop_pixels();
    if (real.swGetColorBuffer != NULL)    // no copy, and in the right colours: swReadPixels
        own.pixels = real.swGetColorBuffer(&width, &height);    // swaps red and blue
    else own.pixels = own.copy = real.rlReadScreenPixels(width, height);
    info.pixel_stride = 4 * width;
    info.bottom_up = real.swGetColorBuffer != NULL;
}

EXPORT void EndDrawing(void) {
    real.rlDrawRenderBatchActive();
    if (own.capture) read_pixels();
    if (own.visible) {
        if (own.text != NULL) draw_panel();
        own.inside = 1;
        real.EndDrawing();    // shows it, waits for the next frame's time, reads the keys
        own.inside = 0;
        for (int key = 0; key < 512; key++) own.tapped[key] |= real.IsKeyPressed(key);
    }
    info.frames += 1;
    own.drawn += 1;
}

EXPORT void screen_begin(int32_t capture, int32_t width, int32_t height) {
    own.capture = capture;
    own.drawing = 1;
    own.opened = width > 0;
    info.frames = 0;
    if (capture) drop_pixels();
    if (own.opened) resize(width, height);
}

EXPORT int32_t screen_end(void) {
    own.drawing = 0;
    return own.opened || own.outside;
}

EXPORT ScreenInfo screen_info(void) { return info; }
EXPORT const unsigned char* screen_pixels(void) { return own.pixels; }

EXPORT void screen_set_fps(int32_t fps) {
    own.fps = fps;
    if (info.ready && own.visible) real.SetTargetFPS(fps);
}

EXPORT int32_t screen_key_down(int32_t key) { return info.ready && real.IsKeyDown(key); }
EXPORT int32_t screen_key_pressed(int32_t key) { return info.ready && real.IsKeyPressed(key); }
EXPORT int32_t screen_mouse_down(void) {
    return info.ready
           && (real.IsMouseButtonDown(MOUSE_BUTTON_LEFT)
               || real.IsMouseButtonDown(MOUSE_BUTTON_RIGHT));
}
EXPORT void screen_forget_keys(void) { memset(own.tapped, 0, sizeof own.tapped); }
EXPORT int32_t screen_should_close(void) { return info.ready && real.WindowShouldClose(); }
