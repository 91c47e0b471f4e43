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
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import BuildError, PufferError, RunError, UsageError
from ..toolchain import compilers
from ..toolchain.libraries import compile_library, is_intact, seal
from . import fetch
from . import headers as raylib
from . import wheel as raylib_wheel
from .fetch import Progress, find_source
from .recipes import (
    IS_MAC,
    Recipe,
    check_desktop_headers,
    emscripten_environment,
    find_emcc,
    recipe_for,
)

__all__ = ["PLATFORMS", "Served", "emscripten_environment", "find_emcc", "find_source", "shared",
           "static"]

PLATFORMS = ("desktop", "headless", "web")


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
    desktop = platform == "desktop"
    try:
        if desktop:
            check_desktop_headers()
        source = find_source(on_progress=report, verbose=verbose,
                             fetch=not desktop or not fetch.was_refused())
    except BuildError as why:                       # of X11, say; a desktop has the wheel
        if not desktop:
            raise
        return _serve_wheel(kind, why, verbose)
    recipe = recipe_for(platform, kind)
    library = _build(source, recipe, verbose, report)
    return Served(platform, fetch.version_of(source), origin_of(source),
                  headers_of(source), library, (str(library), *recipe.links))


def _serve_wheel(kind: str, why: BuildError, verbose: bool) -> Served:
    """The wheel's desktop library, with a word about why it serves."""
    try:
        wheel = raylib.find_wheel()
        library = raylib_wheel.find_library(wheel)
        links = raylib_wheel.link_flags(library, verbose=verbose) if kind == "a" \
            else (str(library),)
    except BuildError:
        raise why from None
    ui.warn_once(f"{wheel}, the Python wheel, draws on the desktop: {why.message}", why.hint)
    return Served("desktop", wheel.version, f"the {wheel.name} wheel", raylib.headers(), library,
                  links)


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
    name = f"headers-{fetch.version_of(source)}-{key}"
    folder = paths.cache_dir() / "raylib" / name
    if not _holds(folder, texts):
        folder = paths.writable(folder, purpose="raylib's headers")
    if not _holds(folder, texts):
        try:
            for name, text in texts.items():
                files.write(folder / name, text)
        except OSError as error:
            raise _cannot_keep(folder, error) from None
    return folder


def _holds(folder: Path, texts: dict[str, str]) -> bool:
    with suppress(OSError):
        return all((folder / name).read_bytes() == text.encode() for name, text in texts.items())
    return False


# ---- building --------------------------------------------------------------------------------

def _build(source: Path, recipe: Recipe, verbose: bool, report: Progress) -> Path:
    """The library of a recipe, from the cache or compiled now."""
    key = recipe.key(fetch.tree_hash(source))
    name = f"libraylib-{recipe.platform}-{key}.{recipe.kind}"
    home = paths.cache_dir() / "raylib" / "lib"
    if not is_intact(home / name):                     # a read-only cache that has it will do
        home = paths.writable(home, purpose="raylib")
    library = home / name
    if is_intact(library):
        return library
    try:
        with _alone(home / f".{name}.lock"):
            if not is_intact(library):
                _compile(source, recipe, library, verbose, report)
    except OSError as error:
        raise _cannot_keep(home, error) from None
    return library


def _compile(source: Path, recipe: Recipe, library: Path, verbose: bool,
             report: Progress) -> None:
    what = f"raylib for {recipe.platform}"
    ui.say(f"compiling {what}: once on this machine, about a minute at most")
    env = emscripten_environment() if recipe.platform == "web" else None
    objects = _compile_objects(source, recipe, library.parent, what, verbose, report, env)
    if recipe.kind == "a":
        with files.replacing(library) as whole:
            files.remove(whole)             # ar would add to an empty file
            compilers.run_compiler([_archiver(recipe), "rcs", whole, *objects],
                                   source=library, what=what, verbose=verbose, env=env)
        seal(library)
    else:
        flags = ["-dynamiclib"] if IS_MAC else ["-shared", "-Wl,-Bsymbolic-functions"]
        compile_library(library, [*recipe.compiler, *flags, *objects, *recipe.links],
                        source=library, what=what, verbose=verbose)
    report("raylib", len(objects) + 1, len(objects) + 1)


def _compile_objects(source: Path, recipe: Recipe, home: Path, what: str, verbose: bool,
                     report: Progress, env: Mapping[str, str | None] | None) -> list[Path]:
    """The objects of a recipe, kept beside the libraries: most serve a static and a shared one."""
    tree = fetch.tree_hash(source)
    units = [source / f"{module}.c" for module in recipe.modules]
    with files.private(".objects-", inside=home) as scratch:
        for name, text in recipe.extra:
            files.write(scratch / name, text)
            units.insert(0, scratch / name)
        kept = {unit: home / f"{unit.stem}-{recipe.object_key(tree, unit.stem)}.o"
                for unit in units}
        missing = [unit for unit in units if not is_intact(kept[unit])]
        missing.sort(key=lambda unit: -unit.stat().st_size)         # the longest first
        made = [scratch / f"{unit.stem}.o" for unit in missing]
        commands: list[list[compilers.Word]] = [
            [*recipe.compiler, "-c", *recipe.flags_of(unit.stem), f"-I{source}", unit,
             "-o", target] for unit, target in zip(missing, made)]
        done, steps = len(units) - len(missing), len(units) + 1
        report("raylib", done, steps)
        compilers.run_compilers(commands, source=source / "raylib.h", what=what, verbose=verbose,
                                env=env,
                                on_done=lambda count: report("raylib", done + count, steps))
        for command, unit, target in zip(commands, missing, made):
            compilers.check_made(target, command, source=source / "raylib.h", what=what)
            files.move(target, kept[unit])
            seal(kept[unit])
    return list(kept.values())


def _archiver(recipe: Recipe) -> str:
    """The program that packs objects into a static library."""
    names = ("emar",) if recipe.platform == "web" else ("ar", "gcc-ar", "llvm-ar")
    folder = os.path.dirname(recipe.compiler[0])
    for name in names:
        found = shutil.which(name) or shutil.which(name, path=folder)
        if found:
            return found
    raise BuildError(f"{names[0]}, which packs static libraries, is not installed",
                     hint=compilers.install_hint("emscripten" if names == ("emar",)
                                                 else "binutils"))


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time, where the file system has locks; a leftover file does not block."""
    with files.open(lock, "wb") as file:
        with suppress(ImportError, OSError):
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            files.remove(lock)


def _cannot_keep(folder: Path, error: OSError) -> PufferError:
    return RunError("cannot store raylib", where=folder, detail=error.strerror or str(error),
                    hint="free some space, or point PUFFER_CACHE at another disk")
