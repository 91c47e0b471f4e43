"""What the probes of doctor share.  a program -> what it prints; what was found -> a Finding"""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import asdict, dataclass

from ..base.errors import PufferError

SECONDS = 5             # a program that a probe starts may take so long


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    status    ok        installed, and working
              missing   needed, but not installed or not working
              old       needed, but the version is too old
              optional  not installed; only something optional needs it
    found     what was found, or what would need it
    get       how to get it; None if that is not possible
    detail    what a compiler said, where something does not compile
    """

    name: str
    status: str
    found: str
    get: str | None = None
    detail: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The finding as `doctor --format json` prints it."""
        return asdict(self)


def ask(*command: str | os.PathLike[str], seconds: float = SECONDS) -> str | None:
    """What a program prints; None if it is not installed, fails or takes too long."""
    try:
        return ask_in_time(*command, seconds=seconds)
    except TimeoutError:
        return None


def ask_in_time(*command: str | os.PathLike[str], seconds: float = SECONDS) -> str | None:
    """Like ask, but a program that takes too long is killed and raises TimeoutError."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
    except OSError:
        return None
    with child:
        try:
            raw, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"more than {seconds:g} seconds") from None
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
    return raw.decode(errors="replace").strip() if child.returncode == 0 else None


def version_of(program: str) -> tuple[str, str] | None:
    """(version, path) of a program on PATH; None if it prints no version."""
    path = shutil.which(program)
    text = ask(path, "--version") if path else None
    if path is None or text is None:
        return None
    number = re.search(r"\d+(?:\.\d+)+", text)
    return (number.group() if number else text.partition("\n")[0]), path


def tool(name: str, needed_for: str, get: str, program: str | None = None) -> Finding:
    """A program that is only needed for some things."""
    found = version_of(program or name)
    if found is None:
        return Finding(name, "optional", f"not found; {needed_for}", get)
    return Finding(name, "ok", f"{found[0]} ({found[1]})")


def unusable(name: str, error: Exception) -> Finding:
    if not isinstance(error, PufferError):
        return Finding(name, "missing", f"could not be tested: {error}")
    first = (error.detail or "").strip().partition("\n")[0]
    return Finding(name, "missing", error.message + (f": {first}" if first else ""), error.hint)
