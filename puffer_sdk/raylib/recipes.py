"""How raylib is compiled. In: a platform, this machine's compilers. Out: a recipe.

    desktop   RGFW for the window, OpenGL 3.3, sound
    headless  draws into memory with the software renderer; sound in programs alone
    web       emscripten, OpenGL ES 2, sound
"""
from __future__ import annotations

import hashlib
import os
import platform as machine
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ..base import files
from ..base.errors import BuildError
from ..toolchain import compilers
from ..toolchain.libraries import NATIVE

IS_MAC = sys.platform == "darwin"


@dataclass(frozen=True)
class Recipe:
    """One library. Every field goes into the name it is kept under."""

    platform: str
    kind: str                           # "a" or "so"
    compiler: tuple[str, ...]           # the command's beginning
    compiler_key: str
    modules: tuple[str, ...]            # rcore, rshapes, ...
    flags: tuple[str, ...]
    special: tuple[tuple[str, tuple[str, ...]], ...]    # further flags of single modules
    links: tuple[str, ...]              # what the library itself needs
    extra: tuple[tuple[str, str], ...]  # our own files that are compiled along: (name, text)

    def key(self, source_hash: str) -> str:
        return _hash(source_hash, repr(self))

    def flags_of(self, unit: str) -> tuple[str, ...]:
        """All flags that one unit ("rcore", "headless") is compiled with."""
        return (*self.flags, *dict(self.special).get(unit, ()))

    def object_key(self, source_hash: str, unit: str) -> str:
        """The same for all libraries that hold the same object: a static and a shared one."""
        return _hash(source_hash, self.compiler_key, *self.compiler, *self.flags_of(unit),
                     *(text for name, text in self.extra if name == f"{unit}.c"))


def _hash(*parts: str) -> str:
    parts = (machine.machine(), *parts)
    if NATIVE in repr(parts):
        parts += (compilers.cpu_features_key(),)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


# -O1 where speed is no matter: raudio, say, takes 5 s instead of 20
_MODULES = ("rcore", "rshapes", "rtextures", "rtext", "rmodels")
_COMMON = ("-std=gnu11", "-w", "-fno-strict-aliasing", "-DSUPPORT_FILEFORMAT_JPG=1")
_NO_CAPTURE = ("-DSUPPORT_SCREEN_CAPTURE=0",)

# The memory platform looks for ESC on stdin, and makes the terminal non-blocking to do so: not
# in a recorder. It also reads the screen upside down: the software renderer's rows come in
# OpenGL's order already turned, and rlReadScreenPixels turns them once more. And its window cannot
# change its size, though the renderer can.
_HEADLESS = """\
// headless.c -- raylib's rcore, drawing into memory: deaf to stdin, and the right way up
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

static int nothing(void) { return EOF; }
#define getchar nothing
#define tcgetattr(...) nothing()
#define tcsetattr(...) nothing()
#define fcntl(...) nothing()
#define rlReadScreenPixels rlReadScreenPixelsFlipped
#define TakeScreenshot TakeScreenshotFlipped
#define SetWindowSize SetWindowSizeNever
#include "rcore.c"
#undef rlReadScreenPixels
#undef TakeScreenshot
#undef SetWindowSize

void SetWindowSize(int width, int height)
{
    if (!CORE.Window.ready || width <= 0 || height <= 0) return;
    rlDrawRenderBatchActive();
    rlResizeFramebuffer(width, height);
    CORE.Window.screen.width = CORE.Window.display.width = width;
    CORE.Window.screen.height = CORE.Window.display.height = height;
    CORE.Window.currentFbo.width = width;
    CORE.Window.currentFbo.height = height;
    SetupViewport(width, height);
}

unsigned char *rlReadScreenPixels(int width, int height)
{
    unsigned char *rows = rlReadScreenPixelsFlipped(width, height);
    for (int top = 0, bottom = height - 1; top < bottom; top++, bottom--)
    {
        for (int i = 0; i < 4*width; i++)
        {
            unsigned char kept = rows[4*width*top + i];
            rows[4*width*top + i] = rows[4*width*bottom + i];
            rows[4*width*bottom + i] = kept;
        }
    }
    return rows;
}

void TakeScreenshot(const char *fileName)
{
    Image image = LoadImageFromScreen();
    ExportImage(image, TextFormat("%s/%s", CORE.Storage.basePath, fileName));
    UnloadImage(image);
}
"""

# emscripten before 3.1.53 lacks this one function of GLFW; nothing is lost without it.
_WEB_STUB = """\
// stub.c -- a function of GLFW that old emscriptens do not have
__attribute__((weak)) void *glfwSetWindowContentScaleCallback(void *window, void *callback)
{
    (void)window; (void)callback;
    return 0;
}
"""


def recipe_for(platform: str, kind: str) -> Recipe:
    if platform == "web":
        emcc = find_emcc()
        return Recipe("web", kind, (emcc,), _ask_emcc_version(emcc), (*_MODULES, "raudio"),
                      (*_COMMON, "-O2", "-DPLATFORM_WEB", "-DGRAPHICS_API_OPENGL_ES2"), (),
                      ("-sUSE_GLFW=3",), (("stub.c", _WEB_STUB),))
    compiler = compilers.find_compiler()
    command = tuple(compiler.command)
    common = (*_COMMON, "-fPIC")
    quiet = _NO_CAPTURE if kind == "so" else ()         # only the core captures
    if platform == "headless":
        sound = () if kind == "so" else ("raudio",)
        return Recipe(platform, kind, command, compiler.key, (*_MODULES[1:], *sound),
                      (*common, "-O1", "-DPLATFORM_MEMORY",
                       "-DGRAPHICS_API_OPENGL_SOFTWARE", "-DSW_FRAMEBUFFER_OUTPUT_BGRA=0"),
                      (("headless", (*_tune(), *quiet)),), _system_links(sound=bool(sound)),
                      (("headless.c", _HEADLESS),))
    links = ("-framework", "Cocoa", "-framework", "IOKit", "-framework", "CoreVideo",
             "-framework", "OpenGL", "-framework", "AudioToolbox") if IS_MAC else \
        (*_X11, *_system_links(sound=True))
    no_word = "-DMG_FPRINTF(...)=0"             # about a machine without /dev/input
    return Recipe(platform, kind, command, compiler.key, (*_MODULES, "raudio"),
                  (*common, "-O2", "-DPLATFORM_DESKTOP_RGFW", "-DGRAPHICS_API_OPENGL_33", no_word),
                  (("raudio", ("-O1",)), ("rcore", quiet)), links, ())


def _tune() -> tuple[str, ...]:
    """The software renderer's inner loops want vectors: a third faster than with -O2."""
    return ("-O3", NATIVE, "-fno-math-errno", "-fno-trapping-math")


def _system_links(*, sound: bool) -> tuple[str, ...]:
    if IS_MAC:
        return ()
    return ("-lm", "-lpthread", "-ldl") if sound else ("-lm",)


# ---- emscripten ------------------------------------------------------------------------------

def find_emcc() -> str:
    """emcc's absolute path. Raises BuildError with the line that installs it."""
    found = shutil.which("emcc")
    if found is None:
        raise BuildError("emscripten, which builds web pages, is not installed",
                         expected="emcc on PATH", actual="none",
                         hint=compilers.install_hint("emscripten"))
    return os.path.abspath(found)


def emscripten_environment() -> dict[str, str | None]:
    """Environment changes that emcc needs, for the compiler's `env`; None unsets one.

    Debian's emscripten keeps its system libraries in a cache of its own, which EM_CACHE would
    hide, and does not find its JavaScript parts without NODE_PATH.
    """
    modules = Path("/usr/share/nodejs")
    if not Path("/usr/share/emscripten/emcc.py").is_file() or \
            Path(find_emcc()).resolve().parent != Path("/usr/share/emscripten"):
        return {}
    changes: dict[str, str | None] = {}
    if modules.is_dir() and str(modules) not in os.environ.get("NODE_PATH", "").split(":"):
        changes["NODE_PATH"] = ":".join(filter(None, [os.environ.get("NODE_PATH"), str(modules)]))
    if "EM_CACHE" in os.environ:
        changes["EM_CACHE"] = None
    return changes


def _ask_emcc_version(emcc: str) -> str:
    text = compilers.run_compiler([emcc, "--version"], source=Path(emcc), what="nothing",
                                  timeout=30, env=emscripten_environment())
    number = re.search(r"\d+\.\d+\.\d+", text)
    return f"{emcc} {number.group() if number else text.partition(chr(10))[0]}"


# ---- X11 ----------------------------------------------------------------------------------------

_X11 = ("-lGL", "-lX11", "-lXrandr", "-lXi", "-lXcursor")
_WINDOW = """\
#include <X11/Xlib.h>
#include <X11/XKBlib.h>
#include <X11/Xcursor/Xcursor.h>
#include <X11/extensions/XInput2.h>
#include <X11/extensions/Xrandr.h>
#include <X11/extensions/shape.h>
#include <X11/extensions/sync.h>
#include <GL/glx.h>
int main(void) { return XOpenDisplay(0) != 0; }
"""


def x11_hint() -> str:
    debian = "libx11-dev libxrandr-dev libxi-dev libxcursor-dev libxext-dev libgl-dev"
    if shutil.which("dnf") and not shutil.which("apt-get"):
        return compilers.install_hint("libX11-devel libXrandr-devel libXi-devel libXcursor-devel "
                                      "libXext-devel mesa-libGL-devel")
    if shutil.which("pacman") and not shutil.which("apt-get"):
        return compilers.install_hint("libx11 libxrandr libxi libxcursor libxext libglvnd")
    return compilers.install_hint(debian)


def check_desktop_headers() -> None:
    """Raises BuildError with the line that installs what a window needs to be compiled."""
    if IS_MAC:
        return
    compiler = compilers.find_compiler()
    with files.private("puffer-sdk-") as folder:
        source = Path(folder) / "window.c"
        files.write(source, _WINDOW)
        try:
            compilers.compile_to(source.with_suffix(""),
                                 [*compiler.command, source, *_X11, "-lm"],
                                 source=source, what="a program that opens a window", timeout=20)
        except BuildError as error:
            missing = re.search(r"fatal error: (\S+):|cannot find (-l\w+)|library not found for "
                                r"(-l\w+)|unable to find library (-l\w+)", error.detail or "")
            named = next(filter(None, missing.groups()), "") if missing else "what X11 needs"
            raise BuildError(f"windows cannot be compiled here: {named} is missing",
                             detail=error.detail, hint=x11_hint()) from None
