/* web.c -- linked only into `build --web`: a page's frames, for programs that loop.
 *
 * `while (!WindowShouldClose())` runs in a page as it stands, because asyncify can put the program
 * to sleep wherever it waits. Two of raylib's functions are replaced (-Wl,--wrap): it would wait by
 * spinning, which makes the page hang, and by timers, which miss the screen's rhythm. Here a
 * program sleeps until the screen wants a frame and SetTargetFPS says that one is due. A page in
 * the background gets no frames, and costs nothing.
 */
#include <emscripten.h>
#include <stdbool.h>
#include <time.h>

#ifdef __cplusplus    // beside an environment that is compiled as C++
extern "C" {
#endif

static double interval;    // milliseconds between two frames; 0: as many as the screen shows

// A frame may come 4 ms early: screens are a little faster or slower than their 60 Hz
// clang-format off: it is JavaScript
EM_ASYNC_JS(void, puffer_wait_for_frame, (double interval), {
    const screen = () => new Promise(requestAnimationFrame);
    let now = await screen();
    while (now < (Module.pufferDue || 0) - 4) now = await screen();
    const late = now - (Module.pufferDue || 0);
    Module.pufferDue = (late > interval ? now : Module.pufferDue || now) + interval;
    if (Module.onFrame) Module.onFrame(now, interval);
});
// clang-format on

bool __wrap_WindowShouldClose(void) {
    puffer_wait_for_frame(interval);
    return false;
}

void __wrap_SetTargetFPS(int fps) { interval = fps > 0 ? 1000.0 / fps : 0.0; }

// WaitTime ends up here
int nanosleep(const struct timespec* wanted, struct timespec* left) {
    emscripten_sleep((unsigned int)(wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000));
    if (left) left->tv_sec = left->tv_nsec = 0;
    return 0;
}

#ifdef __cplusplus
}
#endif
