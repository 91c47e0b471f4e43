/* screen.h -- a raylib under our control.  c_render's calls -> frames, and a side panel.
 *
 * An environment draws as it likes: it opens its window, asks for a frame rate, waits. This
 * library stands between it and raylib. It replaces the few raylib functions that control the
 * window and time, does what its caller wants, and passes all drawing on.
 *
 *     screen_open("libraylib.so", 0)      before the env library is opened; NULL, or what is wrong
 *     screen_begin(1, 0, 0);  c_render(env);  screen_end();   then screen_pixels() is its picture
 *     screen_close();
 *
 * What an env sees: its window opens once and stays open (only screen_close closes it; opening it
 * again only resizes it), time moves by 1 / fps per frame, nobody wants to quit, ESC is never down.
 * There is one window per process, as in raylib; but each env finds it closed until it has opened
 * it itself, so that each loads its own textures.
 */
#pragma once
#include <stdint.h>

typedef struct ScreenInfo {
    int32_t ready;            // 1 once the env has opened its window
    int32_t width, height;    // of the env's picture, pixels
    int32_t asked_fps;        // what the env asked of SetTargetFPS; 0: nothing yet
    int32_t frames;           // EndDrawing calls since screen_begin
    int32_t pixel_stride;     // bytes of a row of screen_pixels
    int32_t bottom_up;        // 1: its first row is the picture's last
} ScreenInfo;

// raylib      the shared library that draws; its names become global in this process
// visible     1: a window on the desktop; 0: nothing is shown and nothing waits
const char* screen_open(const char* raylib, int32_t visible);
void screen_close(void);

// Before c_render. capture 1: keep the picture. width, height: the size that this env's window had
// after it drew last; 0, 0: it has not opened one yet
void screen_begin(int32_t capture, int32_t width, int32_t height);
int32_t screen_end(void);    // after c_render: whether this env has a window
ScreenInfo screen_info(void);
const unsigned char* screen_pixels(void);    // RGBA rows; NULL: nothing was drawn

// With a window: the pace, the keys as raylib numbers them, the panel at its right side
void screen_set_fps(int32_t fps);
int32_t screen_key_down(int32_t key);       // now
int32_t screen_key_pressed(int32_t key);    // since the frame before
int32_t screen_mouse_down(void);            // its left or right button, now
void screen_forget_keys(
    void);    // until the next call, a key that goes down counts as down for the
              // env though it is up again: a tap between two ticks is not lost
int32_t screen_should_close(void);    // the window's own button

// The panel shows lines of text. A line's first character is its style, in brackets its pixels:
//   'h' heading [26], 't' text [24], 's' small print [16], '-' a rule [10], 'v' the curve [52],
//   'k' names and values, one or two pairs with tabs between all four [16],
//   'o' cells: "FIRST COUNT COLUMNS SIDE", a square of SIDE pixels each [rows * SIDE + 6]
// The arrays are borrowed until the next call. text NULL hides the panel
//   cells (count) in [0, 1]; curve (points), any unit
void screen_panel(const char* text, const float* cells, int32_t count, const float* curve,
                  int32_t points);
