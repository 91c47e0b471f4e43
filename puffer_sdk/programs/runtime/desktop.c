/* desktop.c -- linked into programs that open an X11 window: without a display they say so, where
 * raylib's window code would follow a null pointer. (-Wl,--wrap=XOpenDisplay)
 */
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus    // beside an environment that is compiled as C++
extern "C" {
#endif

void* __real_XOpenDisplay(const char* name);
void* __wrap_XOpenDisplay(const char* name);

void* __wrap_XOpenDisplay(const char* name) {
    void* display = __real_XOpenDisplay(name);
    if (!display) {
        const char* set = getenv("DISPLAY");
        fprintf(stderr,
                "error: there is no display to open a window on (DISPLAY is %s)\n"
                "  hint: pictures need no display: puffer-sdk eval --gif\n",
                set && *set ? set : "not set");
        _Exit(1);
    }
    return display;
}

#ifdef __cplusplus
}
#endif
