"""Lines of a stack.  addresses of a harness process -> Frames"""
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Frame:
    """A line of a stack."""

    function: str
    file: str
    line: int


@dataclass(frozen=True)
class Fault:
    """One fault that a tool of --deep reported, in the author's files."""

    code: str
    message: str
    frame: Frame            # relative to the env's folder
    actual: str
    stack: tuple[str, ...]
    tool: str
    origin: tuple[str, int] | None = None       # where unwritten memory was made
    env: int | None = None
    step: int | None = None


def symbolize(library: Path, base: int, stack: list[int], pc: int | None) -> list[Frame]:
    """Addresses of a harness process as functions and lines of the environment."""
    end = base + 64 * library.stat().st_size
    offsets = []
    for address in stack:
        if base <= address < end:       # a return address points after the call
            exact = address == pc
            offsets.append(hex(address - base - (0 if exact else 1)))
    if pc is not None and offsets and base <= pc < end:
        fault = hex(pc - base)     # the unwinder may list it too, or start after it
        offsets = [fault, *(offset for offset in offsets if offset != fault)]
    if not offsets:
        return []
    try:
        done = subprocess.run(["addr2line", "-f", "-i", "-C", "-e", str(library), *offsets],
                              capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.splitlines()
    frames = []
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        match = re.match(r"(.*):(\d+)", place)
        if match and match[1] != "??":
            frames.append(Frame(function.partition("(")[0], match[1], int(match[2])))
    return frames


def own_frame(frames: list[Frame], folder: Path) -> Frame | None:
    """The innermost frame in the author's files, as a path relative to the folder."""
    for frame in frames:
        path = Path(os.path.normpath(frame.file))
        if folder in path.parents and "build" not in path.relative_to(folder).parts:
            return Frame(frame.function, str(path.relative_to(folder)), frame.line)
    return None
