"""raylib that draws. In: its source, a compiler. Out: libraries for desktop, headless and web.

    desktop   a window: RGFW and OpenGL 3.3, with sound; the wheel's own build stands in for it
    headless  no X server, no GPU: a software renderer that draws into memory
    web       emscripten's, OpenGL ES 2, with sound

Each is compiled once and kept in the cache under a hash of everything that it was made from.
Two processes that want the same one wait for each other; a library appears whole or not at all.
"""
from __future__ import annotations

import hashlib
import os
import platform as machine
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from . import paths, raylib, raylib_fetch, toolchain
from .errors import BuildError, PufferError, RunError, UsageError
from .raylib_fetch import Progress, find_source

__all__ = ["PLATFORMS", "Served", "emscripten_environment", "find_emcc", "find_source", "shared",
           "static"]

PLATFORMS = ("desktop", "headless", "web")
IS_MAC = sys.platform == "darwin"


@dataclass(frozen=True)
class Served:
    """A raylib to compile and link with."""

    platform: str                   # one of PLATFORMS
    version: str                    # "6.0"; the wheel's own, "6.0.1.1", where that stands in
    origin: str                     # "the cache", "PUFFER_RAYLIB=...", "the raylib wheel"
    headers: Path                   # for -I: raylib.h, rlgl.h, rcamera.h; raymath.h is in include/
    library: Path                   # libraylib-HASH.a or .so
    link_flags: tuple[str, ...]     # behind the sources on the command line, the library included


def static(platform: str, *, verbose: bool = False,
           on_progress: Progress | None = None) -> Served:
    """libraylib-HASH.a for programs; for the desktop, the wheel's library if need be.

    Raises UsageError for a platform that is none, BuildError when the source, a compiler or
    emscripten is missing, RunError when nothing can be written.
    """
    return _serve(platform, "a", verbose, on_progress)


def shared(platform: str, *, verbose: bool = False,
           on_progress: Progress | None = None) -> Served:
    """libraylib-HASH.so, to be opened RTLD_GLOBAL before an env library: headless or desktop.

    Headless has no audio module, and neither takes screenshots at F12. Raises as `static` does.
    """
    if platform == "web":
        raise UsageError("raylib for the web is linked into a page: there is no shared library",
                         expected="desktop or headless", actual=platform)
    return _serve(platform, "so", verbose, on_progress)


def _serve(platform: str, kind: str, verbose: bool, on_progress: Progress | None) -> Served:
    if platform not in PLATFORMS:
        raise UsageError(f"there is no raylib for '{platform}'",
                         expected=", ".join(PLATFORMS), actual=platform)
    report = on_progress or (lambda what, done, total: None)
    source = find_source(on_progress=report, verbose=verbose)
    recipe = _recipe(platform, kind)
    library = _build(source, recipe, verbose, report)
    return Served(platform, raylib_fetch.version_of(source), origin_of(source),
                  headers_of(source), library, (str(library), *recipe.links))


def origin_of(source: Path) -> str:
    """Where a source folder came from, for people."""
    named = os.environ.get("PUFFER_RAYLIB", "").strip()
    return f"PUFFER_RAYLIB={named}" if named else "source from the cache"


# ---- headers ---------------------------------------------------------------------------------

def headers_of(source: Path) -> Path:
    """A folder with the source's public headers, raylib.h with our additions at its end."""
    names = ("raylib.h", "rlgl.h", "rcamera.h", "rgestures.h")
    texts = {name: (source / name).read_text(encoding="utf-8") for name in names}
    texts["raylib.h"] = raylib.with_additions(texts["raylib.h"])
    key = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:12]
    name = f"headers-{raylib_fetch.version_of(source)}-{key}"
    folder = paths.cache_dir() / "raylib" / name
    if not _holds(folder, texts):
        folder = paths.writable(folder, purpose="raylib's headers")
    if not _holds(folder, texts):
        try:
            for name, text in texts.items():
                toolchain.write_file(folder / name, text)
        except OSError as error:
            raise _cannot_keep(folder, error) from None
    return folder


def _holds(folder: Path, texts: dict[str, str]) -> bool:
    with suppress(OSError):
        return all((folder / name).stat().st_size == len(text.encode())
                   for name, text in texts.items())
    return False


# ---- what is compiled, and how ---------------------------------------------------------------

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
        parts = [source_hash, machine.machine(), repr(self)]
        if "-march=native" in repr(self.special):
            parts.append(toolchain.cpu_features_key())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


# -O1 where speed is no matter: raudio, say, takes 5 s instead of 20
_MODULES = ("rcore", "rshapes", "rtextures", "rtext", "rmodels")
_COMMON = ("-std=gnu11", "-w", "-fno-strict-aliasing", "-DSUPPORT_FILEFORMAT_JPG=1")
_NO_CAPTURE = ("-DSUPPORT_SCREEN_CAPTURE=0",)

# The memory platform looks for ESC on stdin, and makes the terminal non-blocking to do so: not
# in a recorder. It also reads the screen upside down: the software renderer's rows come in
# OpenGL's order already turned, and rlReadScreenPixels turns them once more.
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
#include "rcore.c"
#undef rlReadScreenPixels
#undef TakeScreenshot

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


def _recipe(platform: str, kind: str) -> Recipe:
    if platform == "web":
        emcc = find_emcc()
        return Recipe("web", kind, (emcc,), _ask_emcc_version(emcc), (*_MODULES, "raudio"),
                      (*_COMMON, "-O2", "-DPLATFORM_WEB", "-DGRAPHICS_API_OPENGL_ES2"), (),
                      ("-sUSE_GLFW=3",), (("stub.c", _WEB_STUB),))
    compiler = toolchain.find_compiler()
    command = tuple(compiler.command)
    common = (*_COMMON, "-fPIC")
    quiet = _NO_CAPTURE if kind == "so" else ()
    if platform == "headless":
        sound = () if kind == "so" else ("raudio",)
        return Recipe(platform, kind, command, compiler.key, (*_MODULES[1:], *sound),
                      (*common, *quiet, "-O1", "-DPLATFORM_MEMORY",
                       "-DGRAPHICS_API_OPENGL_SOFTWARE", "-DSW_FRAMEBUFFER_OUTPUT_BGRA=0"),
                      (("headless", _tune()),), _system_links(sound=bool(sound)),
                      (("headless.c", _HEADLESS),))
    links = ("-framework", "Cocoa", "-framework", "IOKit", "-framework", "CoreVideo",
             "-framework", "OpenGL", "-framework", "AudioToolbox") if IS_MAC else \
        ("-lGL", "-lX11", "-lXrandr", "-lXi", "-lXcursor", *_system_links(sound=True))
    no_word = "-DMG_FPRINTF(...)=0"             # about a machine without /dev/input
    return Recipe(platform, kind, command, compiler.key, (*_MODULES, "raudio"),
                  (*common, *quiet, "-O2", "-DPLATFORM_DESKTOP_RGFW",
                   "-DGRAPHICS_API_OPENGL_33", no_word), (("raudio", ("-O1",)),), links, ())


def _tune() -> tuple[str, ...]:
    """The software renderer's inner loops want vectors: a third faster than with -O2."""
    native = "-mcpu=native" if machine.machine() == "arm64" else "-march=native"
    return ("-O3", native, "-fno-math-errno", "-fno-trapping-math")


def _system_links(*, sound: bool) -> tuple[str, ...]:
    if IS_MAC:
        return ()
    return ("-lm", "-lpthread", "-ldl") if sound else ("-lm",)


# ---- emscripten ------------------------------------------------------------------------------

def find_emcc() -> str:
    """emcc's absolute path. Raises BuildError with the line that installs it."""
    found = shutil.which("emcc")
    if found is None:
        raise BuildError("emscripten is not on this machine: pages for the web are built with it",
                         expected="emcc on PATH", actual="none",
                         hint=toolchain.install_hint("emscripten"))
    return os.path.abspath(found)


def emscripten_environment() -> dict[str, str | None]:
    """What emcc's surroundings must differ in, for toolchain's `env`; None takes one away.

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
    text = toolchain.run_compiler([emcc, "--version"], source=Path(emcc), what="nothing",
                                  timeout=30, env=emscripten_environment())
    number = re.search(r"\d+\.\d+\.\d+", text)
    return f"{emcc} {number.group() if number else text.partition(chr(10))[0]}"


# ---- building --------------------------------------------------------------------------------

def _build(source: Path, recipe: Recipe, verbose: bool, report: Progress) -> Path:
    """The library of a recipe, from the cache or compiled now."""
    key = recipe.key(raylib_fetch.tree_hash(source))
    name = f"libraylib-{recipe.platform}-{key}.{recipe.kind}"
    home = paths.cache_dir() / "raylib" / "lib"
    if not _is_filled(home / name):                     # a read-only cache that has it will do
        home = paths.writable(home, purpose="raylib")
    library = home / name
    if _is_filled(library):
        return library
    try:
        with _alone(home / f".{name}.lock"):
            if not _is_filled(library):
                _compile(source, recipe, library, verbose, report)
    except OSError as error:
        raise _cannot_keep(home, error) from None
    return library


def _compile(source: Path, recipe: Recipe, library: Path, verbose: bool,
             report: Progress) -> None:
    what = f"raylib for {recipe.platform}"
    env = emscripten_environment() if recipe.platform == "web" else None
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=".objects-",
                                     ignore_cleanup_errors=True) as scratch:
        units = [source / f"{module}.c" for module in recipe.modules]
        for name, text in recipe.extra:
            (Path(scratch) / name).write_text(text)
            units.insert(0, Path(scratch) / name)
        units.sort(key=lambda unit: -unit.stat().st_size)       # the longest first
        objects = [Path(scratch) / f"{unit.stem}.o" for unit in units]
        commands = [[*recipe.compiler, "-c", *recipe.flags,
                     *dict(recipe.special).get(unit.stem, ()), f"-I{source}", unit,
                     "-o", target] for unit, target in zip(units, objects)]
        steps = len(commands) + 1
        report("raylib", 0, steps)
        toolchain.run_compilers(commands, source=source / "raylib.h", what=what, verbose=verbose,
                                env=env, on_done=lambda count: report("raylib", count, steps))
        if recipe.kind == "a":
            with toolchain.replacing(library) as whole:
                whole.unlink(missing_ok=True)                   # ar would add to an empty file
                toolchain.run_compiler([_archiver(recipe), "rcs", whole, *objects],
                                       source=library, what=what, verbose=verbose, env=env)
        else:
            flags = ["-dynamiclib"] if IS_MAC else ["-shared", "-Wl,-Bsymbolic-functions"]
            toolchain.compile_to(library, [*recipe.compiler, *flags, *objects, *recipe.links],
                                 source=library, what=what, verbose=verbose)
        report("raylib", steps, steps)


def _archiver(recipe: Recipe) -> str:
    """The program that packs objects into a static library."""
    names = ("emar",) if recipe.platform == "web" else ("ar", "gcc-ar", "llvm-ar")
    folder = os.path.dirname(recipe.compiler[0])
    for name in names:
        found = shutil.which(name) or shutil.which(name, path=folder)
        if found:
            return found
    raise BuildError(f"there is no {names[0]} on this machine: it packs static libraries",
                     hint=toolchain.install_hint("emscripten" if names == ("emar",)
                                                 else "binutils"))


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time, where the file system can say so; a lock that was left is no bar."""
    with open(lock, "w") as file:
        with suppress(ImportError, OSError):
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _is_filled(file: Path) -> bool:
    with suppress(OSError):
        return file.stat().st_size > 0
    return False


def _cannot_keep(folder: Path, error: OSError) -> PufferError:
    return RunError("raylib cannot be kept", where=folder, detail=error.strerror or str(error),
                    hint="free some space, or point PUFFER_CACHE at another disk")
