"""Which raylib each kind of build uses.  the machine -> Findings"""
from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from ..base import files
from ..base.errors import PufferError
from ..raylib import fetch, headers, recipes
from ..toolchain import compilers
from .probe_program import SECONDS, Finding, unusable


def probe_raylib() -> Finding:
    """Find the wheel, and compile the headers that are made from it."""
    try:
        wheel = headers.find_wheel()
    except PufferError as error:
        return Finding("raylib", "missing", "the wheel with its headers is not installed",
                       error.hint)
    found = wheel.version if wheel.name == "raylib" else str(wheel)
    if f"raylib=={wheel.version}" != headers.PIN:
        found += f" (tested with {headers.PIN.partition('==')[2]})"
    try:
        compiler = compilers.find_compiler()
    except PufferError:
        return Finding("raylib", "ok", f"{found}; not compiled: there is no compiler")
    try:
        with files.private("puffer-sdk-") as folder:
            headers.write_files(wheel, Path(folder))
            source = Path(folder) / "raylib_null.c"
            compilers.run_compiler([*compiler.command, "-std=c11", "-fsyntax-only", f"-I{folder}",
                                    source], source=source, what="raylib.h", timeout=SECONDS)
    except (PufferError, OSError) as error:
        return unusable("raylib", error)
    return Finding("raylib", "ok", f"{found}, headers compile")


def probe_raylib_desktop() -> Finding:
    """Which raylib opens windows: the source, else the wheel. Fetches nothing."""
    try:
        recipes.check_desktop_headers()
    except PufferError as error:
        try:
            return Finding("raylib_desktop", "optional",
                           f"{headers.find_wheel()}, the wheel; {error.message}", error.hint)
        except PufferError:
            return Finding("raylib_desktop", "optional", error.message, error.hint)
    found = _raylib_source("raylib_desktop")
    with suppress(PufferError):
        if found.status == "optional":
            return Finding(found.name, found.status,
                           f"{headers.find_wheel()}, the wheel; {found.found}", found.get)
    return found


def probe_raylib_headless() -> Finding:
    """Which raylib draws into memory, for pictures without a screen."""
    return _raylib_source("raylib_headless")


def probe_raylib_web() -> Finding:
    """Which raylib is compiled into web pages."""
    try:
        recipes.find_emcc()
    except PufferError as error:
        return Finding("raylib_web", "optional", "needs emscripten", error.hint)
    return _raylib_source("raylib_web")


def _raylib_source(name: str) -> Finding:
    """Where raylib's source is, or would come from."""
    get = "point PUFFER_RAYLIB at raylib's source, or unset it to have it fetched"
    given = os.environ.get("PUFFER_RAYLIB", "").strip()
    if os.path.isfile(given):                               # unpacked when needed
        return Finding(name, "ok", f"{given}, PUFFER_RAYLIB's archive")
    try:
        source = fetch.given_source()
    except PufferError as error:
        return Finding(name, "missing", f"PUFFER_RAYLIB={given} is not raylib's source: "
                       f"{error.actual}", get)
    if source is not None:
        return Finding(name, "ok", f"{fetch.version_of(source)}, PUFFER_RAYLIB={given}")
    source = fetch.cached_source()
    if source is not None:
        return Finding(name, "ok", f"{fetch.version_of(source)}, source from the cache")
    if fetch.is_offline():
        return Finding(name, "optional", "no source in the cache, and PUFFER_OFFLINE is set", get)
    hosts = list(dict.fromkeys(urlsplit(item.url).netloc or item.url
                               for item in fetch.archives()))
    return Finding(name, "ok", f"{fetch.VERSION}, fetched at the first build from "
                   + ", else ".join(hosts))
