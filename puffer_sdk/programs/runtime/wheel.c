/* wheel.c -- linked into programs that the raylib wheel draws: without a display they say so, where
 * an environment would go on to draw without OpenGL. (-Wl,--wrap=InitWindow)
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus    // beside an environment that is compiled as C++
extern "C" {
#endif

void __real_InitWindow(int width, int height, const char* title);
void __wrap_InitWindow(int width, int height, const char* title);
bool IsWindowReady(void);

void __wrap_InitWindow(int width, int height, const char* title) {
    __real_InitWindow(width, height, title);
    if (!IsWindowReady()) {
        const char* set = getenv("DISPLAY");
        fprintf(stderr,
                "error: there is no display to open a window on (DISPLAY is %s)\n"
                "  hint: pictures need no display: puffer-sdk eval --gif\n",
                set && *set ? set : "not set");
        _Exit(1);
    }
}

#ifdef __cplusplus
}
#endif
