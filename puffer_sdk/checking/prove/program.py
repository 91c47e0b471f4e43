"""Repro programs as files: written, compiled, run, removed.  Claim + World + rows -> a .c file"""
import itertools
import math
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...base import files, paths, records
from ...base.errors import Damaged
from ...base.spec import Spec
from ...env import binding, build
from ...raylib import headers
from ...settings import outside_libraries
from ...settings.texts import show
from ...toolchain import compilers
from ..core.facts import Facts
from ..core.finding import Finding
from ..core.repro_spec import PATIENCE, Claim
from .shrinking import RESET, Row

SANITIZERS = ("-fsanitize=address,undefined", "-fno-omit-frame-pointer")
MARK = "written by `puffer-sdk check`"
LIMIT = 60.0            # seconds that a program may run
_FRAME = re.compile(r"^\s+#\d+ (?:0x[0-9a-f]+ in )?(?P<name>\S+) "
                    r"(?P<file>/[^:\n()]+):(?P<line>\d+)", re.MULTILINE)
_UB = re.compile(r"^(?P<file>/[^:\n]*):(?P<line>\d+):\d+: runtime error: (?P<text>.*)$",
                 re.MULTILINE)


@dataclass(frozen=True)
class World:
    """Which envs are made, and which of them is watched."""

    seed: int
    seat: int = 0               # env 0 plays as the env with this index did
    env: int = 0
    total: int = 0              # agents of all envs; 0 = one env
    low: bool = False
    patience: float = PATIENCE
    width: int = 1              # floats of a row
    idle: bool = False          # nobody does anything: the script is not shrunk


@dataclass(frozen=True)
class Result:
    """What a program hands back when it fails: the fields that puffer_repro_play.h writes."""

    code: str
    step: int
    text: str           # what was seen, in words
    phase: str          # the call in which it was seen, or the last one before: "c_step"
    array: str          # of the row that is wrong; "" = none
    env: int
    agent: int          # -1 = any
    element: int        # of the observation; -1 = none
    outside: int        # 1: something beyond the env's own rows of the array was touched
    low: float
    high: float

    @property
    def whole(self) -> str:
        """As the program says it on stderr."""
        return f"{self.code}, step {self.step}: {self.text}"


@dataclass(frozen=True)
class Run:
    """A program's end."""

    status: int | None          # None: it had to be ended
    stdout: str
    stderr: str
    result: Result | None       # None: it passed, or something else ended it


# -- files

def check_dir(folder: Path) -> Path:
    return paths.build_dir(folder) / "check"


def clear(folder: Path) -> None:
    """Remove the programs of earlier checks."""
    for source in folder.glob("repro_PUF???.c"):
        remove(source)


def remove(source: Path) -> None:
    files.remove(source)
    files.remove(source.with_suffix(""))


def binding_path(spec: Spec) -> Path:
    """The unit that a program includes; a generated one is brought up to date."""
    return binding.write(spec, paths.writable(paths.build_dir(spec.folder),
                                              purpose="build products"))


# -- text

def _number(value: float) -> str:
    value = float(value)
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _action(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(np.float32(value))


def _runs(rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
    """Equal rows that follow one another, counted. A reset counts 0."""
    for row, group in itertools.groupby(rows):
        count = sum(1 for _ in group)
        if row is RESET:
            yield from [(0, RESET)] * count
        else:
            yield count, row


def script_file(claim: Claim, world: World, settings: Mapping[str, float],
                vec: Mapping[str, float], rows: Sequence[Row]) -> str:
    """What a program reads from PUFFER_REPRO_SCRIPT."""
    fields = {"expect": claim.expect, "array": claim.array, "agent": claim.agent,
              "first": claim.first, "last": claim.last, "low": claim.low, "high": claim.high,
              "field": claim.field, "pointer": claim.pointer, "offset": claim.offset,
              "is_float": claim.is_float, "scale": claim.scale, "shift": claim.shift,
              "seed": world.seed, "seat": world.seat, "env": world.env,
              "total_agents": world.total, "guard": "low" if world.low else "",
              "patience": world.patience, "width": world.width,
              **{f"set.{key}": show(value) for key, value in settings.items()},
              **{f"vec.{key}": repr(float(value)) for key, value in vec.items()}}
    runs = list(_runs(rows))
    lines = [f"{key} {value}" for key, value in fields.items() if value != ""]
    lines.append(f"script {len(runs)}")
    lines += [" ".join([str(count), *map(_action, row or ())]) for count, row in runs]
    return "\n".join(lines) + "\n"


def render_trial(binding_file: Path) -> str:
    """A program that plays whatever file it is given."""
    return (f'#include "{binding_file}"\n#include "puffer_repro.h"\n'
            'REPRO_SCRIPT(1) = {};\nREPRO(.code = "PUF000", .expect = "return")\n')


def render(facts: Facts, finding: Finding, claim: Claim, world: World,
           settings: Mapping[str, float], vec: Mapping[str, float], rows: Sequence[Row],
           target: Path) -> str:
    """The program's text."""
    spec = facts.known_spec
    heads = max(facts.shape.heads, 1)
    agents = world.width // heads
    about = (f"steps, {{{'action' if world.width == 1 else 'actions'}}}"
             + (f": {agents} agents x {heads} head{'s' if heads > 1 else ''}" if agents > 1 else
                f": {heads} heads" if heads > 1 else ""))
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file or ""
    where = ", ".join([part for part in [place] if part] + [
        f"{name} {value}" for name, value in (
            ("env", finding.env), ("agent", finding.agent), ("step", finding.step),
            ("element", finding.element)) if value is not None])
    sentence = [finding.message, f"--> {where}"]
    if finding.expected is not None:
        sentence.append(f"expected {finding.expected}, got {finding.actual}")
    environment = binding.template("checking/prove/repro.c.jinja")
    return str(environment.render(
        by_agent=spec.by_agent, name=target.name,
        sentence=[" ".join(line.split()).rstrip("\\") for line in sentence],
        shown=paths.shown(target) if spec.folder not in target.parents
        else target.relative_to(spec.folder),
        command=_command_lines(spec, target, flags_of(claim.expect)),
        binding=os.path.relpath(binding_path(spec), target.parent),
        settings=[(key, _number(value), binding.c_text(show(value)))
                  for key, value in settings.items()],
        vec=[(key, _number(value)) for key, value in vec.items()],
        width=world.width, about_script=about, script=list(_script_lines(rows)),
        code=finding.code, claim=_claim_text(claim), world=_world_text(world)))


def _script_lines(rows: Sequence[Row]) -> Iterator[str]:
    step, lines = 1, []
    for count, row in _runs(rows):
        if row is RESET:
            lines.append(("{RESET},", ""))
            continue
        text = f"{{{count}, {{{', '.join(map(_action, row))}}}}},"
        lines.append((text, f"// step {step}" if count == 1 else
                      f"// steps {step} to {step + count - 1}"))
        step += count
    width = max((len(text) for text, _ in lines), default=0)
    if len(lines) <= 40 or width > 40:
        for text, note in lines:
            yield f"{text:{width}}  {note}".rstrip() if width <= 60 else text
        return
    line = ""
    for text, _ in lines:
        if len(line) + len(text) > 92:
            yield line.rstrip()
            line = ""
        line += f"{text} "
    yield line.rstrip()


def _claim_text(claim: Claim) -> str:
    parts = [f'.expect = "{claim.expect}"']
    if claim.array:
        parts.append(f'.array = "{claim.array}"')
    if claim.field:
        parts.append(f'.field = "{claim.field}"')
    parts.append(f".agent = {claim.agent}")
    if claim.array == "observations":
        parts.append(f".first = {claim.first}, .last = {claim.last}")
    if claim.low or claim.high:
        parts.append(f".low = {_number(claim.low)}, .high = {_number(claim.high)}")
    if claim.expect == "shown":
        parts.append(f"\n    .pointer = {claim.pointer}, .offset = {claim.offset}, "
                     f".is_float = {claim.is_float}, .scale = {_number(claim.scale)}, "
                     f".shift = {_number(claim.shift)}")
    return ", ".join(parts).replace(", \n", ",\n") + ","


def _world_text(world: World) -> str:
    parts, note = [f".seed = {world.seed}"], ""
    if world.seat:
        parts.append(f".seat = {world.seat}")
        note = f"      // alone, the env plays as it did in place {world.seat}"
    if world.env:
        parts.append(f".env = {world.env}")
    if world.total:
        parts.append(f".total_agents = {world.total}")
    if world.low:
        parts.append('.guard = "low"')
    if world.patience != PATIENCE:
        parts.append(f".patience = {_number(world.patience)}")
    return ", ".join(parts) + "," + note


# -- compiling and running

def flags_of(expect: str) -> tuple[str, ...]:
    """How a program is compiled. Runs that are compared go without sanitizers: what they find
    there is not in the way, and memory holds what it holds in training. With sanitizers, -O0
    compiles in a third of the time, and a program is compiled more often than it runs long."""
    if expect == "same-on-threads":
        return ("-g", "-O1", "-fsanitize=thread", "-w")
    if expect.startswith("same-"):
        return ("-g", "-O1", "-w")
    watched = ("-finstrument-functions",) if expect in (
        "reset", "terminal", "terminal-by-state") else ()
    return ("-g", "-O0", *watched, *SANITIZERS, "-w")


def build_command(spec: Spec, source: str, target: str, flags: Sequence[str]) -> list[str]:
    """The one compiler command of a program."""
    compiler = compilers.find_compiler()
    strict = compilers.bounds_flags(compiler) if set(SANITIZERS) <= set(flags) else []
    openmp = build.openmp_flags(spec, compiler)
    return [*compiler.command, *build.library_flags(spec), *openmp, *flags, *strict, source,
            *build.closing_flags(spec), "-o", target, str(headers.null_library()),
            *outside_libraries.read(spec.folder).link_flags, "-lm",
            "-lpthread"]


def _command_lines(spec: Spec, target: Path, flags: Sequence[str]) -> Iterator[str]:
    """cd, compile and run, for a shell, wrapped at about 96 columns."""
    source = os.path.relpath(target, spec.folder)
    program = source.removesuffix(".c")
    words = build_command(spec, source, program, flags)
    yield f"cd {shlex.quote(str(spec.folder))}"
    line = ""
    for word in map(shlex.quote, words):
        if line and len(line) + len(word) > 88:
            yield line + " \\"
            line = "   "
        line += f" {word}" if line else word
    yield line
    stand = paths.working_dir(spec.folder)
    yield program if stand == spec.folder else \
        f"(cd {shlex.quote(str(stand))} && {shlex.quote(str(target.with_suffix('')))})"


def compile_source(spec: Spec, source: Path, target: Path, flags: Sequence[str], *,
                   verbose: bool = False) -> Path:
    """The program, at target. Raises BuildError."""
    command = build_command(spec, str(source), str(target), flags)
    compilers.run_compiler(command, source=spec.header, what=source.name, verbose=verbose)
    return target


def run_program(program: Path, spec: Spec, extra: Mapping[str, str],
                children: set[subprocess.Popen[bytes]] | None = None) -> Run:
    """Where resources are found, and without the user's own sanitizer options.

    children    holds its process while it runs, for somebody who ends it
    """
    children = set() if children is None else children
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "PUFFER_REPRO_SCRIPT")}
    with files.private("puffer-repro-") as folder:
        written = folder / "result.json"
        child = subprocess.Popen(
            [str(program)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=paths.working_dir(spec.folder), start_new_session=True,
            env={**environment, "LC_ALL": "C", **extra, "PUFFER_REPRO_RESULT": str(written),
                 "PUFFER_REPRO_PARENT": str(os.getpid())})
        timed_out = False
        children.add(child)
        try:
            out, err = child.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            timed_out = True
            child.kill()
            out, err = child.communicate()
        finally:
            compilers.kill_group(child)
            children.discard(child)
        result = _result(written)
    return Run(None if timed_out else child.returncode, out.decode(errors="replace"),
               err.decode(errors="replace"), result)


def _result(written: Path) -> Result | None:
    """What the program handed back; None where it did not, or where the env, which runs in it, has
    spoilt that file."""
    with suppress(Damaged, FileNotFoundError):
        return records.read(written, Result, "the result of a repro")
    return None


def own_place(text: str, folder: Path) -> tuple[str, int] | None:
    """The author's line that a sanitizer's report names first."""
    found = [*_UB.finditer(text), *_FRAME.finditer(text)]
    for match in sorted(found, key=lambda m: m.start()):
        file = _own_file(match["file"], folder)
        if file:
            return file, int(match["line"])
    return None


def own_frames(text: str, folder: Path) -> list[str]:
    """The author's functions on the stack of a sanitizer's report, innermost first."""
    stack = re.split(r"is located|Previous", text)[0]   # after it: where the memory came from
    return [f"{match['name']} ({file}:{match['line']})" for match in _FRAME.finditer(stack)
            if (file := _own_file(match["file"], folder))]


def _own_file(name: str, folder: Path) -> str | None:
    path = Path(os.path.normpath(name))
    if folder in path.parents and "build" not in path.relative_to(folder).parts:
        return str(path.relative_to(folder))
    return None
