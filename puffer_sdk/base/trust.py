"""What this user's own commands wrote, and what data may start.  a path and bytes -> a MAC

Runs, checkpoints, sweeps and build products may come from elsewhere. What they name is started,
opened or called only if the command line or an ini of the environment names it too, or if a MAC
shows that a command of this user wrote it: its key is a secret that nobody else can read, in
~/.config/puffer-sdk/secret ($XDG_CONFIG_HOME). Otherwise a terminal asks; without a terminal the
command ends with status 2.

    mac             of some parts, under the user's secret
    name, is_named  what may be started, in this process and in those that it starts
    require         is_named, or a question, or UsageError
"""
from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from . import files
from .errors import Refused, UsageError

NAMED = "PUFFER_TRUST"              # variable for child processes: a JSON list, or EVERYTHING
EVERYTHING = "everything"           # what --trust says
SESSION = "PUFFER_SESSION_SECRET"   # variable for child processes, where no secret can be kept
BYTES = 32                          # of a secret

asks = False                        # whether a command of the terminal runs, which may ask


# ---- the secret --------------------------------------------------------------------------------

def mac(*parts: str | bytes | os.PathLike[str]) -> str:
    """64 hex digits that only this user can make of these parts. Paths are resolved."""
    made = hmac.new(_secret(_config_dir()), digestmod=hashlib.sha256)
    for part in parts:
        if isinstance(part, os.PathLike):
            part = os.fsencode(os.path.realpath(part))
        data = part.encode() if isinstance(part, str) else part
        made.update(b"%d\0" % len(data) + data)
    return made.hexdigest()


def equal(found: object, wanted: str) -> bool:
    """Whether a text from a file is this MAC."""
    return isinstance(found, str) and hmac.compare_digest(
        found.encode(errors="replace"), wanted.encode())


def is_noted(note: Path, wanted: Callable[[], str], *product: Path) -> bool:
    """Whether a file holds the MAC that wanted() makes of these files."""
    try:
        return all(map(files.is_file, product)) and equal(
            files.read(note, 3 * BYTES).decode("ascii", "replace"), wanted())
    except (OSError, Refused):
        return False


def _config_dir() -> Path | None:
    """Where the secret is: no folder that an image or a CI job caches. None without a home."""
    base = os.environ.get("XDG_CONFIG_HOME")
    try:
        return (Path(base) if base else Path.home() / ".config") / "puffer-sdk"
    except RuntimeError:
        return None


@cache
def _secret(folder: Path | None) -> bytes:
    why = "this user has no home folder"
    if folder:
        try:
            return _read(folder / "secret") or _make(folder / "secret")
        except OSError as error:
            why = f"{folder / 'secret'}: {error.strerror or error}"
    with contextlib.suppress(KeyError, ValueError):
        return bytes.fromhex(os.environ[SESSION])
    from . import ui

    ui.warn_once(f"no secret can be kept ({why}): what is compiled now will be compiled again",
                 "a folder of your own that can be written: XDG_CONFIG_HOME")
    made = os.urandom(BYTES)
    os.environ[SESSION] = made.hex()
    return made


def _read(path: Path) -> bytes | None:
    """None if there is none. Raises OSError for one that somebody else could have read or put
    there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(fd, "rb") as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
            raise OSError(0, "it is not a file of yours")
        if facts.st_mode & 0o077:
            raise OSError(0, "others may read it; delete it, and a new one is made")
        with contextlib.suppress(ValueError):
            secret = bytes.fromhex(file.read(4 * BYTES).decode("ascii", "replace").strip())
            if len(secret) == BYTES:
                return secret
    raise OSError(0, "it holds no secret; delete it, and a new one is made")


def _make(path: Path) -> bytes:
    """A new secret, whole or not at all; if another process was quicker, that one's."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".secret.{os.getpid()}.{os.urandom(4).hex()}")
    fd = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w") as file:
            file.write(os.urandom(BYTES).hex() + "\n")
            file.flush()
            os.fsync(fd)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError:                 # a file system without hard links
            os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    secret = _read(path)
    if secret is None:
        raise OSError(0, "it was removed at once")
    return secret


# ---- what may be started -----------------------------------------------------------------------

def name(thing: str) -> None:
    """This may be started from here on, also by child processes."""
    found = _named()
    if found != EVERYTHING and thing not in found:
        os.environ[NAMED] = json.dumps([*found, thing])


def names() -> Iterator[str]:
    """All that was named."""
    found = _named()
    return iter(() if found == EVERYTHING else found)


def is_named(thing: str) -> bool:
    found = _named()
    return found == EVERYTHING or thing in found


def trust_everything() -> None:
    """--trust: whatever data names may be started."""
    os.environ[NAMED] = json.dumps(EVERYTHING)


def _named() -> list[str] | str:
    with contextlib.suppress(ValueError):
        found = json.loads(os.environ.get(NAMED, "[]"))
        if found == EVERYTHING:
            return EVERYTHING
        if isinstance(found, list):
            return found
    return []


def require(thing: str, *, what: str, where: object, verb: str) -> None:
    """Returns if `thing` may be started. Raises UsageError if it may not.

    what    of the file that names it: "this checkpoint names Python code that you have not named"
    where   that file
    verb    what would be done with it: "run"
    """
    if is_named(thing):
        return
    if asks and sys.stdin.isatty() and sys.stderr.isatty():
        import click

        from . import ui

        ui.say(f"{where}: {what}: {thing}")
        if click.confirm(f"{verb.capitalize()} it?", err=True):
            name(thing)
            return
    raise UsageError(what, where=where, expected="what your ini or the command line names",
                     actual=thing, hint=f"read it; then --trust {verb}s it")
