"""Driving gdb and lldb.  a Failure -> the script that goes there; what it prints -> a Diagnosis"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..base import paths, processes
from ..base.errors import RunError
from ..env import binding
from ..toolchain import compilers
from .failure import Diagnosis, Failure, Frame

NAMES = ("gdb", "lldb")     # the first that is installed
ARRAYS = Path(__file__).with_name("gdb_arrays.py")     # a gdb without Python goes on without it
LIMIT = 120.0           # seconds that a batch run may take
_MARK = re.compile(r"^=== (\w+)\n", re.MULTILINE)
_GDB_FRAME = re.compile(r"^#(\d+)\s+(?:0x[0-9a-f]+ in )?(\S+) \((.*)\) at (.+):(\d+)$")
_LLDB_FRAME = re.compile(r"^\s*(?:\* )?frame #(\d+): (\w+)(?:\((.*)\))? at (.+):(\d+)$")


@dataclass(frozen=True)
class Tool:
    """A debugger of this machine."""

    name: str           # "gdb" or "lldb"
    path: str


def find(name: str | None = None) -> Tool:
    """The debugger of that name; None: gdb, else lldb. Raises RunError with what installs it."""
    for candidate in (name,) if name else NAMES:
        path = shutil.which(candidate)
        if path:
            return Tool(candidate, os.path.abspath(path))
    missing = name or "gdb or lldb"
    raise RunError(f"{missing} is not installed", expected=f"{missing} on PATH",
                   actual="none", hint=compilers.install_hint(name or "gdb"))


def environment() -> dict[str, str]:
    """The user's environment variables, without sanitizer options: they change what a program does.
    """
    return {key: value for key, value in os.environ.items()
            if key not in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
                           "PUFFER_REPRO_SCRIPT", "DEBUGINFOD_URLS")}


def command(tool: Tool, failure: Failure, script: Path, *, batch: bool = False) -> list[str]:
    """The command line. A batch run reads no init file, so it prints the same everywhere."""
    program = str(failure.executable)
    if tool.name == "gdb":
        quiet = ["-batch", "-nx"] if batch else ["-q"]
        return [tool.path, *quiet, "-iex", "set debuginfod enabled off", "-x", str(ARRAYS), "-x",
                str(script), program]
    quiet = ["--batch", "--no-lldbinit"] if batch else []
    return [tool.path, *quiet, "--source", str(script), program]


HOWTO = {
    "gdb": [
        "step      into the next line, or function      next   over it",
        "continue  to the fault                         fault  what it was, and its frame",
        "env       the env's struct                     rows   actions, rewards, observations",
        "obs 3     agent 3's observations               acts   actions; rews, ends likewise",
        "print x   a variable, or an expression         list   the source around",
        "bt        the stack; up and down walk it       run    to this step again",
        "watch x   stop when x changes                  quit   end; howto shows this",
    ],
    "lldb": [
        "step      into the next line, or function      next   over it",
        "continue  to the fault                         bt     the stack; up and down walk it",
        "env       the env's struct, in c_step          frame variable   all variables",
        "p x       a variable, or an expression         p env->rewards[0]   of the first agent",
        "watchpoint set variable x   stop when x changes",
        "run       to this step again                   quit   end",
    ],
}


def render(tool: Tool, failure: Failure, frames: list[Frame], *, batch: bool) -> str:
    """The debugger's script. frames: the author's at the fault if known, innermost first."""
    fault = frames[0] if frames else None
    spec, phase = failure.program.spec, failure.phase
    where = []
    if phase in ("c_step", "c_reset"):
        where.append(f"repro_watch.step == {failure.step}")
        if not failure.on_threads:          # each thread has its own repro_watch
            where.append(f"repro_watch.env == {failure.env}")
    return binding.template(f"debugging/session.{tool.name}.jinja").render(
        name=f"{failure.executable.name}.{tool.name}", step=failure.step, env=failure.env,
        agent=failure.agent, phase=phase, argument=failure.argument, batch=batch,
        condition=" && ".join(where), hangs=failure.hangs, watch=failure.watch,
        stand=paths.working_dir(spec.folder), bytes=spec.obs_dtype == "u8", rows=spec.rows_field,
        function=fault.function if fault else None,
        select=fault.number if fault else None,
        outer=frames[-1].number if frames else None, said=_echoed(failure.said),
        howto=[_echoed(line) for line in HOWTO[tool.name]])


def _echoed(text: str) -> str:
    """A text for gdb's echo, which reads C escapes and drops blanks at the ends."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return "\\ " + text[1:] if text.startswith(" ") else text


def look(tool: Tool, failure: Failure, script: Path) -> Diagnosis:
    """Run it to the fault and read what it prints. Raises RunError if it does not get there."""
    text = _printed(command(tool, failure, script, batch=True))
    sections = _sections(tool, text)
    frames = _frames(tool, sections.pop("end", ""), failure)
    inside, begin = bool(frames), sections.pop("begin", "")
    frames = frames or _frames(tool, begin, failure)
    if not frames and "env" not in sections:
        raise RunError(f"{tool.name} did not reach the fault", where=failure.program.source,
                       detail=_gist(text),
                       hint="ptrace may be forbidden here, as in some containers")
    if inside and sections.get("variables"):            # lldb's, of the selected frame
        frames[0].locals[:] = [re.sub(r"^\(.*?\) ", "", line)
                               for line in sections["variables"].splitlines()
                               if line.strip() and "puffer_" not in line]     # vecenv.h's
    state = {name: _value(body) for name, body in sections.items() if body and name != "variables"}
    watched = bool(re.search(r"atchpoint \d+: ", begin))
    return Diagnosis(failure, frames, inside, inside and watched, state)


def _printed(words: list[str]) -> str:
    """All that a command prints."""
    child = subprocess.Popen(processes.bound(words), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env={**environment(), "LC_ALL": "C"},
                             start_new_session=True)
    try:
        raw, _ = child.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raw = b""
    finally:
        compilers.kill_group(child)
        child.wait()
    return raw.decode(errors="replace")


def _sections(tool: Tool, text: str) -> dict[str, str]:
    """What was printed, by what was asked: begin and end are backtraces."""
    if tool.name == "gdb":
        parts = _MARK.split(text)
        return {name: body.strip("\n") for name, body in zip(parts[1::2], parts[2::2])}
    asked = re.split(r"^\(lldb\) (.*)\n", text, flags=re.MULTILINE)   # it repeats each command
    answers = list(zip(asked[1::2], asked[2::2]))
    stacks = [body for words, body in answers if words == "thread backtrace"]
    named = {words: "env" if "*" in words else "variables" for words, _ in answers
             if words.startswith("frame variable")}
    return {**dict(zip(("begin", "end"), stacks)),
            **{named[words]: body.strip("\n") for words, body in answers if words in named}}


def _gist(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("===")]
    return "\n".join(lines[-8:])


def _value(body: str) -> str:
    """What print shows, without its number."""
    value = re.sub(r"^(?:\(\w[^)]*\) )?(?:\$\d+|\*\w+) = ", "", body.partition("\n[")[0]).strip()
    return re.sub(r'^( *(?:observations|action_mask) = 0x\w+) ".*"(?:\.{3})?', r"\1", value,
                  flags=re.MULTILINE)        # bytes, not text


def _frames(tool: Tool, text: str, failure: Failure) -> list[Frame]:
    """The author's frames of a backtrace with all local variables, innermost first."""
    pattern = _GDB_FRAME if tool.name == "gdb" else _LLDB_FRAME
    frames, current = [], None
    for line in text.splitlines():
        match = pattern.match(line)
        if match:
            file = _own_file(match[4], failure)
            current = Frame(int(match[1]), match[2], file, int(match[5]),
                            list(_arguments(match[3] or ""))) if file else None
            if current:
                frames.append(current)
        elif line.lstrip(" *").startswith(("#", "frame #")):
            current = None
        elif current and line.startswith("  ") and line.strip() != "No locals.":
            current.locals.append(line.strip() if tool.name == "lldb" else line[8:])
    return frames


def _arguments(text: str) -> Iterator[str]:
    """'at = 204' for each argument. Pointers are left out: their addresses say little."""
    for name, value in re.findall(r"(\w+)=([^,()]*)(?:, |$)", text):
        if value and not value.startswith(("0x", "...")):
            yield f"{name} = {value}"


def _own_file(name: str, failure: Failure) -> str | None:
    folder = failure.program.spec.folder
    path = Path(os.path.normpath(name))
    if folder in path.parents and "build" not in path.relative_to(folder).parts:
        return str(path.relative_to(folder))
    return None
