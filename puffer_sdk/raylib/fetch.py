"""raylib's source. In: $PUFFER_RAYLIB, the cache, or an archive on the network. Out: a folder.

An archive is used only when its SHA-256 is the one below; only its src/ is kept.
Downloads have no name on the disk until they are whole, so an interrupted one leaves nothing.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from ..base import files, paths, trust, ui
from ..base.errors import BuildError, RunError, UsageError

VERSION = "6.0"
TIMEOUT = 5                 # seconds without an answer, or without a byte, before a place is left
ASK_AGAIN = 300             # seconds for which a build with a stand-in does not ask again
REFUSED = "unreachable"     # a file in the cache: its time is that of the last fruitless fetch
MOST_BYTES = 64 << 20       # no archive of raylib is larger

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Archive:
    """A place to fetch raylib's source from."""

    name: str               # as messages call it
    url: str
    sha256: str


OFFICIAL = Archive("the official release",
                   "https://github.com/raysan5/raylib/archive/refs/tags/6.0.tar.gz",
                   "2b3ee1e2120c7a0796b33062c7e9a694dd8a8caa56a96319ac8c8ecf54a90d0b")

# Debian's archive is the official one without external/glfw, which nothing here compiles.
MIRRORED = "raylib_6.0+ds.orig.tar.gz"
MIRRORED_SHA256 = "48063be6305afd417a7f44fc588b2f266354cb30c0073ba8fb503d5a0429688e"
APT = Path("/etc/apt")

# What a folder must hold to be the source that our commands compile
NEEDED = ("raylib.h", "rlgl.h", "rcamera.h", "config.h", "rcore.c", "rshapes.c", "rtextures.c",
          "rtext.c", "rmodels.c", "raudio.c", "external/rlsw.h", "platforms/rcore_memory.c",
          "platforms/rcore_web.c", "platforms/rcore_desktop_rgfw.c")


def find_source(*, fetch: bool = True, on_progress: Progress | None = None,
                verbose: bool = False) -> Path:
    """The folder that holds raylib.h, rcore.c and the rest.

    In order: $PUFFER_RAYLIB, the cache, the official archive, the mirror that this machine
    takes its packages from. Raises UsageError when PUFFER_RAYLIB names something else,
    BuildError when there is no source to be had (also with fetch=False or PUFFER_OFFLINE),
    RunError when nothing can be written.
    """
    own = given_source()
    if own is not None:
        return own
    source = cached_source()
    if source is not None:
        return source
    if not fetch or is_offline():
        why = "PUFFER_OFFLINE is set" if is_offline() else \
            "no place had it a moment ago" if was_refused() else "fetching was not asked for"
        raise BuildError(f"raylib's source is not in the cache, and {why}", where=_home(),
                         hint="point PUFFER_RAYLIB at raylib's source, or unset PUFFER_OFFLINE "
                              "once while there is a network")
    return _fetch_any(on_progress or (lambda what, done, total: None), verbose)


def is_offline() -> bool:
    """True if the user said to fetch nothing: PUFFER_OFFLINE=1."""
    return os.environ.get("PUFFER_OFFLINE", "").lower() not in ("", "0", "no", "false")


def is_source(folder: Path) -> bool:
    return all((folder / name).is_file() for name in NEEDED)


def version_of(folder: Path) -> str:
    """What raylib.h calls itself: 6.0, 6.1-dev."""
    with suppress(OSError, UnicodeDecodeError):
        text = (folder / "raylib.h").read_text(encoding="utf-8")
        found = re.search(r'^\s*#\s*define\s+RAYLIB_VERSION\s+"([^"]+)"', text, re.MULTILINE)
        if found:
            return found.group(1)
    return "unknown"


def tree_hash(folder: Path) -> str:
    """A hash over the names and bytes of all C that the folder holds."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.[ch]")):
        digest.update(f"{file.relative_to(folder)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


# ---- the cache -------------------------------------------------------------------------------

def _home() -> Path:
    return paths.cache_dir() / "raylib"


def cached_source() -> Path | None:
    """The cache's source folder, if it exists and is as it was extracted."""
    for home in (_home(), paths.stand_in(_home())):
        if _is_intact(home / f"source-{VERSION}"):
            return home / f"source-{VERSION}" / "src"
    return None


def _is_intact(folder: Path) -> bool:
    return trust.is_noted(folder / "src.mac", lambda: _mac(folder, folder / "src"))


def _mac(folder: Path, source: Path) -> str:
    """Of a source that is, or will be, in folder/src."""
    return trust.mac("raylib", folder.name, tree_hash(source))


def _keep(archive_file: IO[bytes], folder: Path, shown: str) -> Path:
    """Extracts src/ of an archive into folder/src, atomically; another process may be first."""
    with files.private(".raylib-", inside=folder.parent) as scratch:
        whole = scratch / "whole"
        _extract(archive_file, whole / "src", shown)
        if not is_source(whole / "src"):
            raise UsageError(f"{shown} is not raylib's source", expected=_expected(),
                             actual=_missing(whole / "src"))
        files.write(whole / "src.mac", _mac(folder, whole / "src"))
        for _ in range(2):
            try:
                files.rename(whole, folder)
                break
            except OSError:
                if _is_intact(folder):
                    break
                files.rmtree(folder, ignore_errors=True)           # damaged: ours replaces it
    if not _is_intact(folder):
        raise RunError("cannot store raylib's source", where=folder,
                       hint="make the folder writable, or point PUFFER_CACHE at one that is")
    return folder / "src"


def _extract(archive_file: IO[bytes], target: Path, shown: str) -> None:
    """Writes the regular files of TOP/src/ below target, and nothing elsewhere."""
    try:
        with tarfile.open(fileobj=archive_file, mode="r:*") as archive:
            for member in archive:
                inside = _inside_src(member.name)
                stream = archive.extractfile(member) if inside and member.isreg() else None
                if inside is None or stream is None:    # links and devices: not in raylib
                    continue
                file = target / inside
                files.mkdir(file.parent)
                with stream, files.open(file, "wb") as out:
                    shutil.copyfileobj(stream, out)
    except (tarfile.TarError, EOFError, UnicodeError) as error:
        raise UsageError(f"{shown} is not a tar archive that can be read", detail=str(error),
                         expected=_expected(), actual="something else") from None


def _inside_src(name: str) -> PurePosixPath | None:
    """raylib-6.0/src/external/rlsw.h -> external/rlsw.h; None for what is not kept."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts or "src" not in parts[:2]:
        return None
    inside = parts[parts.index("src") + 1:]
    if not inside or inside[:2] == ("external", "glfw"):        # as in Debian's archive
        return None
    return PurePosixPath(*inside)


# ---- $PUFFER_RAYLIB --------------------------------------------------------------------------

def given_source() -> Path | None:
    """The source that PUFFER_RAYLIB names: raylib's folder, its src, or an archive of it.

    None when it is not set. Raises UsageError that says what was expected.
    """
    named = os.environ.get("PUFFER_RAYLIB", "").strip()
    if not named:
        return None
    path = Path(os.path.expanduser(named)).absolute()
    if path.is_file():
        source = _given_archive(path)
    elif path.is_dir():
        sources = [folder for folder in (path, path / "src") if is_source(folder)]
        if not sources:
            holds = path / "src" if (path / "src" / "raylib.h").is_file() else path
            raise _not_raylib(path, _missing(holds))
        source = sources[0]
    else:
        raise _not_raylib(path, "nothing of that name")
    version = version_of(source)
    number = re.match(r"(\d+)\.", version)
    if number is None or int(number.group(1)) < 6:
        raise _not_raylib(path, f"raylib {version}")
    return source


def _given_archive(path: Path) -> Path:
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        folder = paths.writable(_home(), purpose="raylib's source") / f"given-{digest}"
        if not _is_intact(folder):
            with open(path, "rb") as file:
                _keep(file, folder, f"PUFFER_RAYLIB={path}")
    except OSError as error:
        raise UsageError("PUFFER_RAYLIB cannot be read", where=path,
                         detail=error.strerror or str(error)) from None
    return folder / "src"


def _not_raylib(path: Path, actual: str) -> UsageError:
    return UsageError("PUFFER_RAYLIB does not name raylib's source", where=path,
                      expected=_expected(), actual=actual,
                      hint="unset it to have the source fetched, or point it at an unpacked "
                           f"raylib {VERSION}")


def _expected() -> str:
    return f"raylib {VERSION}: its folder, the src in it, or a .tar.gz of it"


def _missing(folder: Path) -> str:
    version = version_of(folder)
    if version != "unknown" and not version.startswith(VERSION[:2]):
        return f"raylib {version}"
    lacks = [name for name in NEEDED if not (folder / name).is_file()]
    return f"a folder without {', '.join(lacks[:3])}" + (" ..." if len(lacks) > 3 else "")


# ---- the network -----------------------------------------------------------------------------

def archives() -> list[Archive]:
    """Every place to ask, in order."""
    found = [OFFICIAL]
    for address, part in _mirrors():
        url = f"{address}/pool/{part}/r/raylib/{MIRRORED}"
        if url not in (item.url for item in found):
            found.append(Archive("this machine's package mirror", url, MIRRORED_SHA256))
    return found


def _mirrors() -> Iterator[tuple[str, str]]:
    """(address, component) of the distribution's mirrors that apt is told to use.

    Debian keeps raylib in main, Ubuntu in universe; lists of other vendors hold neither.
    """
    for text in _apt_lists():
        for address, suites, parts in _deb822(text) if "URIs:" in text else _one_line(text):
            if "security" in suites or not address.startswith(("http://", "https://", "file:/")):
                continue
            part = "universe" if "universe" in parts else "main"
            if part in parts and {"contrib", "universe", "main"} & set(parts):
                yield address.rstrip("/"), part


def _apt_lists() -> Iterator[str]:
    """apt's lists of sources, the distribution's own before those that were added."""
    folder = APT / "sources.list.d"
    usual = [APT / "sources.list", folder / "debian.sources", folder / "ubuntu.sources"]
    with suppress(OSError):
        added = [file for file in sorted(folder.iterdir())
                 if file.suffix in (".list", ".sources") and file not in usual]
        usual += added
    for file in usual:
        with suppress(OSError, UnicodeDecodeError):
            yield file.read_text(encoding="utf-8")


def _deb822(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """(address, suites, components) of each paragraph of a .sources file."""
    from email import message_from_string  # its format is that of mail headers

    for paragraph in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text)):
        fields = message_from_string(paragraph.strip())
        if fields.get("enabled", "yes").lower() in ("no", "false", "0", "off"):
            continue
        for address in fields.get("uris", "").split():
            yield address, fields.get("suites", ""), fields.get("components", "").split()


def _one_line(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """The same of `deb [options] ADDRESS SUITE COMPONENT...` lines."""
    for line in text.splitlines():
        match = re.match(r"\s*deb(?:-src)?\s+(?:\[[^]]*\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if match:
            yield match[1], match[2], match[3].split()


def _fetch_any(on_progress: Progress, verbose: bool) -> Path:
    """Asks one place after the other. Raises BuildError with what each of them answered."""
    home = paths.writable(_home(), purpose="raylib's source")
    tried = []
    for archive in archives():
        if verbose:
            ui.say(f"fetching {archive.url}")
        try:
            with tempfile.TemporaryFile(dir=home) as file:
                _download(archive, file, on_progress)
                source = _keep(file, home / f"source-{VERSION}", archive.url)
            files.remove(home / REFUSED)
            return source
        except _Refused as refused:
            tried.append(f"{archive.name}: {archive.url}\n    {refused}")
        except OSError as error:
            raise RunError("cannot store raylib's source", where=home,
                           detail=error.strerror or str(error),
                           hint="free some space, or point PUFFER_CACHE at another disk"
                           ) from None
    with suppress(OSError):
        files.write(home / REFUSED, "")
    raise BuildError(f"raylib {VERSION}'s source could not be fetched", detail="\n".join(tried),
                     hint=f"download {OFFICIAL.url} elsewhere and set PUFFER_RAYLIB to the file; "
                          "PUFFER_OFFLINE=1 skips fetching")


def was_refused() -> bool:
    """True if no place had it a short while ago, so that asking again can wait."""
    with suppress(OSError):
        age = time.time() - (_home() / REFUSED).stat().st_mtime
        return 0 <= age < ASK_AGAIN
    return False


class _Refused(Exception):
    """A place that did not give what it should, and why."""


def _download(archive: Archive, file: IO[bytes], on_progress: Progress) -> None:
    """The archive's bytes into file, once their hash is right. Raises _Refused, OSError."""
    digest, done = hashlib.sha256(), 0
    for chunk, total in _chunks(archive):
        digest.update(chunk)
        done += len(chunk)
        if done > MOST_BYTES:
            raise _Refused(f"more than {MOST_BYTES >> 20} MB came, which raylib is not")
        file.write(chunk)
        on_progress("fetch", done, max(total, done))
    if digest.hexdigest() != archive.sha256:
        raise _Refused(f"its SHA-256 is {digest.hexdigest()}, not {archive.sha256}: thrown away")
    file.seek(0)


def _chunks(archive: Archive) -> Iterator[tuple[bytes, int]]:
    """(bytes, total length) as they come; whatever the network does is _Refused."""
    from http.client import HTTPException

    request = urllib.request.Request(archive.url, headers={"User-Agent": "puffer-sdk"})
    try:
        with urllib.request.build_opener().open(request, timeout=TIMEOUT) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            came = 0
            while chunk := answer.read(1 << 16):
                came += len(chunk)
                yield chunk, total
            if came < total:
                raise _Refused(f"the connection ended after {came} of {total} bytes")
    except urllib.error.HTTPError as error:
        raise _Refused(f"the server says {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        reason = error.reason
        raise _Refused("no answer in time" if isinstance(reason, TimeoutError)
                       else getattr(reason, "strerror", None) or str(reason)) from None
    except TimeoutError:
        raise _Refused(f"nothing came for {TIMEOUT} seconds") from None
    except (HTTPException, ValueError, OSError) as error:
        raise _Refused(str(error) or type(error).__name__) from None
