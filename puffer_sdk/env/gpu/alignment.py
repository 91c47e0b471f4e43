"""Casts to a type of stricter alignment.  preprocessed C -> their places

A CPU reads a float at any address; on a GPU an address that is not aligned ends the run. The
compiler knows which casts could lead there, and `check` finds those that do.
"""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ...base import paths, ui
from ...base.spec import Spec
from ...toolchain import compilers

SECONDS = 60
HINT = "use memcpy there; `puffer-sdk check` tells whether an address is not aligned"
_SAID = re.compile(r"^(.+?):(\d+):\d+: warning: .*\[-Wcast-align", re.M)


def find_casts(text: bytes, folder: Path) -> list[tuple[Path, int]]:
    """(file, line) of each such cast in the files of `folder`; nothing where the compiler fails."""
    command = compilers.find_compiler().command
    said = ""
    for flag in ("-Wcast-align=strict", "-Wcast-align"):        # gcc's; clang takes the second
        try:
            done = subprocess.run([*map(str, command), "-xcpp-output", "-std=gnu11",
                                   "-fsyntax-only", flag, "-"], input=text, capture_output=True,
                                  timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return []
        said += done.stderr.decode(errors="replace")
    places = {(Path(file), int(line)) for file, line in _SAID.findall(said)}
    return sorted(place for place in places if folder in place[0].parents)


def warn_of_casts(text: bytes, spec: Spec) -> None:
    """One warning that names the first of them."""
    casts = find_casts(text, spec.folder)
    if casts:
        file, line = casts[0]
        more = f" (and {len(casts) - 1} more)" if len(casts) > 1 else ""
        place = f"{paths.shown(file)}:{line}"
        ui.warn(f"{place} casts a pointer to a type of stricter alignment{more}: "
                "a GPU ends the run if the address is not aligned", hint=HINT)
