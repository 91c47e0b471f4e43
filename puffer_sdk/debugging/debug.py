"""A debugger at the failing step.  a repro program of check -> gdb or lldb stopped there, or text

The program is compiled without optimization and played once, to find the failing step. A script
then takes the debugger to that step of that env, and on to the fault.
"""
from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import BuildError, RunError, UsageError
from ..checking.core.repro_spec import HANG
from ..checking.prove import program as repro
from ..checking.prove import replaying
from . import debugger
from .failure import Diagnosis, Failure, Frame, Watch

_WRONG = {"finite": "{x} - {x} != 0", "within": "!({x} >= {low} && {x} <= {high})",
          "zero-or-one": "{x} != 0 && {x} != 1"}


def first(folder: Path) -> tuple[Path, list[str]]:
    """The repro program of the last check's first error, and the names of the others.

    Sorted by code: memory errors come before their consequences.

    Raises UsageError if there is none.
    """
    found = sorted(repro.check_dir(folder).glob("repro_PUF???.c"))
    if not found:
        raise UsageError(f"there is no repro program of {folder.name} yet", where=folder,
                         expected="build/check/repro_PUFnnn.c", actual="none",
                         hint=f"puffer-sdk check {paths.shown(folder)}  writes one for each "
                              "error that it can show again")
    return found[0], [path.name for path in found[1:]]


def prepare(file: str | os.PathLike[str], env: str | os.PathLike[str] | None = None, *,
            verbose: bool = False) -> Failure | str:
    """Compile FILE for a debugger and play it. Returns what it prints if it no longer fails.

    Raises UsageError for a file that check did not write, BuildError when it does not compile,
    RunError when it could not play.
    """
    program = replaying.find(file, env)
    _warn_if_stale(program)
    executable, run, optimised = _play(program, verbose)
    if run.status == replaying.UNABLE:
        raise RunError(f"{program.source.name} could not play", where=program.source,
                       detail=run.result.whole if run.result else run.stderr.strip()[:500],
                       hint="run check again: it rewrites the program")
    if run.status == 0:
        return run.stdout.strip() or "passed"
    seen = run.result or repro.Result(
        program.source.stem, 0, f"the program ended with status {run.status}", "c_reset", "", 0,
        -1, -1, 0, 0.0, 0.0)
    said = seen.whole
    sanitizer = re.search(r"runtime error: (.*)|ERROR: AddressSanitizer: ([\w-]+)", run.stderr)
    if sanitizer and not seen.outside:
        said += f": {sanitizer[1] or sanitizer[2]}"
    phase = "my_init" if seen.phase == "init" and program.spec.binding else seen.phase
    return Failure(program, executable, optimised, said, seen.step, phase,
                   _argument(program, phase), seen.env, max(seen.agent, 0),
                   run.status == HANG, _watch(program.expect, seen))


def _warn_if_stale(program: replaying.Program) -> None:
    """A repro plays the current source: warn if that is not what check saw."""
    written = program.source.stat().st_mtime
    sources = [*program.spec.folder.glob("*.h"), *program.spec.folder.glob("binding.c")]
    changed = sorted(path.name for path in sources if path.stat().st_mtime > written)
    if changed:
        verb = "has" if len(changed) == 1 else "have"
        ui.warn(f"{', '.join(changed)} {verb} changed since check wrote {program.source.name}; "
                "the program plays the current source",
                hint=f"for a fresh one: puffer-sdk check {paths.shown(program.spec.folder)}")


def _play(program: replaying.Program, verbose: bool) -> tuple[Path, repro.Run, bool]:
    """Compiled without optimization if that still shows the fault, else with check's flags."""
    spec, flags = program.spec, repro.flags_of(program.expect)
    folder = paths.writable(paths.build_dir(spec.folder) / "debug", purpose="debugging")
    target = folder / program.source.stem
    plain = tuple("-O0" if flag == "-O1" else flag for flag in flags)
    for chosen in (plain, flags):
        try:
            repro.compile_source(spec, program.source, target, (*chosen, "-ggdb"),
                                 verbose=verbose)
        except BuildError as error:
            error.hint = error.hint or "if sizes or functions have changed, check again instead"
            raise
        run = repro.run_program(target, spec, {})
        if run.status != 0:
            break
    return target, run, chosen is flags and run.status != 0


def _argument(program: replaying.Program, phase: str) -> str:
    """What the author calls the env in that function."""
    spec = program.spec
    for file in dict.fromkeys([spec.header, *sorted(spec.folder.glob("*.[hc]"))]):
        found = re.search(rf"\b{phase}\s*\(\s*(?:struct\s+)?\w+\s*\*\s*(\w+)",
                          paths.text(file))
        if found:
            return found[1]
    return "env"


def _watch(expect: str, seen: repro.Result) -> Watch | None:
    """For a value that must not occur: the moment at which the env writes it."""
    rule = _WRONG.get(expect)
    if rule is None or not seen.array or seen.phase not in ("c_step", "c_reset"):
        return None
    index = str(seen.agent)
    if seen.array == "observations":
        index = f"{seen.agent} * repro_desc.obs_size + {seen.element}"
    place = f"$puffer_env->{seen.array}[{index}]"
    return Watch(place, rule.format(x=place, low=seen.low, high=seen.high),
                 "The line before this one caused it.")


# -- the two ways to look at it


def open_debugger(failure: Failure, tool: debugger.Tool) -> None:
    """Become the debugger, stopped at the failing step. Raises RunError if it cannot."""
    seen = diagnose(failure, tool)
    frames = seen.frames if seen.inside else []
    words = debugger.command(tool, failure, _write_script(failure, tool, frames, batch=False))
    # Python ignores SIGPIPE; a debugger and its program start with a shell's defaults
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execve(words[0], words, debugger.environment())


def diagnose(failure: Failure, tool: debugger.Tool) -> Diagnosis:
    """What the debugger sees at the fault, in a batch run. Raises RunError."""
    seen = debugger.look(tool, failure, _write_script(failure, tool, [], batch=True))
    # lldb shows a frame's variables by the frame's number
    for _ in range(3 if tool.name == "lldb" and seen.inside else 0):
        known = [frame.number for frame in seen.frames]
        seen = debugger.look(tool, failure,
                             _write_script(failure, tool, seen.frames, batch=True))
        # A sanitizer sometimes stops before we do: then the numbers differ
        if not seen.inside or known == [frame.number for frame in seen.frames]:
            break
    return seen


def _write_script(failure: Failure, tool: debugger.Tool, frames: list[Frame], *,
                  batch: bool) -> Path:
    target = failure.executable.with_name(
        f"{failure.executable.name}{'-batch' if batch else ''}.{tool.name}")
    with files.refused(f"cannot write {target.name}", where=target):
        files.write(target, debugger.render(tool, failure, frames, batch=batch))
    return target
