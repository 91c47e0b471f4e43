/* local.c -- linked only into `build --local` programs: options of the sanitizers, and libraries
 * whose leaks are not the author's.
 *
 * A program that opens a window loads a graphics driver, and drivers leave memory behind: the
 * leak sanitizer would report that, and end a program without a fault with status 1. So drivers
 * stay mapped to the end, which lets a report name them, and what they allocated is left out.
 * Memory that the program itself loses is reported as ever.
 */
#include <stdio.h>

#ifdef __cplusplus    // beside an environment that is compiled as C++
extern "C" {
#endif

// Nothing is unmapped, and so every address in a leak's call stack still has a module's name
int dlclose(void* handle) {
    (void)handle;
    return 0;
}

// The first report is the last line, so what was printed before it should not be lost
__attribute__((constructor)) static void print_at_once(void) {
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
}

const char* __asan_default_options(void) {
    return "detect_leaks=1:halt_on_error=1:abort_on_error=0:detect_stack_use_after_return=1:"
           "strict_string_checks=1:check_initialization_order=1";
}

const char* __ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }

const char* __lsan_default_options(void) { return "print_suppressions=0"; }

// Substrings of a module's path, one a line. Libraries between a program and its graphics card,
// its display or its sound card; none is a library that an environment calls by itself
const char* __lsan_default_suppressions(void) {
    return "leak:libGL\n"
           "leak:libEGL\n"
           "leak:libOpenGL\n"
           "leak:libGLX\n"
           "leak:libglapi\n"
           "leak:_dri.so\n"
           "leak:libgallium\n"
           "leak:libLLVM\n"
           "leak:libdrm\n"
           "leak:libgbm\n"
           "leak:libvulkan\n"
           "leak:libnvidia\n"
           "leak:nvidia_drv\n"
           "leak:libcuda\n"
           "leak:libX11\n"
           "leak:libXext\n"
           "leak:libXi.\n"
           "leak:libXrandr\n"
           "leak:libXcursor\n"
           "leak:libXfixes\n"
           "leak:libxcb\n"
           "leak:libwayland\n"
           "leak:libdbus\n"
           "leak:libasound\n"
           "leak:libpulse\n"
           "leak:libpipewire\n"
           "leak:libjack\n"
           "leak:swrast\n"
           "leak:zink\n";
}

#ifdef __cplusplus
}
#endif
