"""puffer-sdk check: run the rules, print what they found."""
from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base import files, paths, ui
from ..base.errors import FINDINGS, BuildError, RunError, UsageError
from . import completing
from .options import env_argument, takes_settings, verbose_option
from .pages import Page

if TYPE_CHECKING:
    from ..checking.core.result import CheckResult
    from ..checking.fix.edits import Fix
    from ..checking.report.terminal import Line


@click.command(cls=Page, examples=[
    ("puffer-sdk check my_env", "list the faults, with places and fixes"),
    ("puffer-sdk check my_env --fix", "show a diff that fixes mechanical faults"),
    ("puffer-sdk check gymnasium:CartPole-v1", "a Python environment")],
    groups={"While you work": ["fix", "yes", "watch", "replay"],
            "More checks": ["preview", "budget", "memory", "deep", "learn", "learn_seconds",
                               "mutate", "mutants"],
            "The report": ["stats", "output"]},
    statuses={0: "no errors", 1: "errors, or with --strict warnings",
              2: "invalid option or setting", 3: "the header cannot be read, or does not compile",
              4: "check itself could not run"})
@env_argument
@takes_settings
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--seed", type=click.IntRange(0), metavar="N", default=42, show_default=True,
              help="Seed of environments and actions.")
@click.option("--preview", is_flag=True,
              help="Also run new, less tested detectors.")
@click.option("--budget", type=click.FloatRange(0.01, 1000), metavar="F",
              default=1.0, show_default=True,
              help="Multiply the length of every experiment by F.")
@click.option("--memory", type=click.FloatRange(0.1, 100_000), metavar="GIB",
              default=4.0, show_default=True,
              help="Memory limit of all experiments together.")
@click.option("--deep", is_flag=True,
              help="Also run MemorySanitizer (clang) and valgrind, where installed.")
@click.option("--fix", is_flag=True, help="Show a diff that fixes mechanical faults; ask before "
                                          "writing it.")
@click.option("--yes", "-y", is_flag=True, help="With --fix: do not ask.")
@click.option("--watch", is_flag=True, help="Check again whenever a file is saved.")
@click.option("--format", "format_", type=click.Choice(["text", "json", "sarif"]),
              default="text", show_default=True,
              help="text for people, json for programs, sarif for code scanning.")
@click.option("--stats", is_flag=True,
              help="Print the table of statistics even if it is long.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the report to a file.")
@click.option("--replay", metavar="FILE", shell_complete=completing.repros,
              help="Compile and run a build/check/repro_PUFnnn.c again.")
@click.option("--mutate", is_flag=True,
              help="Plant faults in a copy of ENV; report which ones are caught by check and by "
                   "the command of [check] test.")
@click.option("--mutants", type=click.IntRange(1, 10_000), metavar="N", default=24,
              show_default=True,
              help="With --mutate: maximum number of faults.")
@click.option("--learn", is_flag=True,
              help="Also train for some seconds to test whether the policy learns and whether "
                   "observations help.")
@click.option("--learn-seconds", type=click.FloatRange(1, 3600), metavar="S", default=12,
              show_default=True,
              help="With --learn: approximate training time; it sets the number of steps.")
@verbose_option
def command(env: str | None, settings: dict[str, str], ini: Path | None, strict: bool, seed: int,
            preview: bool, budget: float, memory: float, deep: bool, fix: bool, yes: bool,
            watch: bool, format_: str, stats: bool, output: Path | None, replay: str | None,
            mutate: bool, mutants: int, learn: bool, learn_seconds: float,
            verbose: bool) -> int | None:
    """Find the bugs that silently ruin training.

    Plays ENV for some seconds: at full speed, with sanitizers, between guard pages, in identical
    pairs, with other settings and compiler flags. Reports each fault with its file and line, and
    writes a short program that reproduces it. Python environments (gymnasium:ID, pettingzoo:MODULE,
    FILE.py:NAME, MODULE:NAME) get the checks that need no C. `puffer-sdk explain CODE` explains a
    fault; `puffer-sdk debug ENV` opens a debugger there.
    """
    from ..checking import check as checking
    from ..checking.report import terminal, watching
    from ..interop.python_envs import makers

    _refuse_contradictions(fix=fix, yes=yes, watch=watch, mutate=mutate, replay=replay,
                           format_=format_, output=output, learn=learn)
    if replay is not None:
        return _replay(replay, env, verbose)
    if makers.is_name(env):
        _refuse_for_python(env, fix=fix, watch=watch, mutate=mutate, deep=deep, learn=learn)
    if mutate:
        return _mutate(env, settings, ini, format_, mutants, strict, seed, budget)

    def check() -> CheckResult:
        with ui.Progress() as progress:
            return checking.check(env, settings=settings, ini=ini, strict=strict, seed=seed,
                                  preview=preview, budget=budget, memory=memory, deep=deep,
                                  learn=learn, learn_seconds=learn_seconds,
                                  on_progress=progress.update, verbose=verbose)

    def lines(result: CheckResult) -> Iterator[Line]:
        return terminal.lines(result, strict=strict, stats=stats,
                              width=0 if output else ui.width(),
                              encoding="utf-8" if output else sys.stdout.encoding)

    def write(result: CheckResult) -> None:
        _write(result, lines, format_, output)

    if watch:
        return watching.watch(paths.find_env(env), check, lines)
    result = check()
    if fix:
        return _fix(result, check, yes, write,
                    ui.out if format_ == "text" and not output else ui.say)
    write(result)
    return result.exit_status


def _refuse_for_python(env: str | None, **modes: bool) -> None:
    for name, on in modes.items():
        if on:
            raise UsageError(f"--{name} supports only C environments", where=env,
                             hint=f"puffer-sdk check {env}")


def _refuse_contradictions(*, fix: bool, yes: bool, watch: bool, mutate: bool, replay: str | None,
                           format_: str, output: Path | None, learn: bool) -> None:
    modes = [name for name, on in (("--watch", watch), ("--fix", fix), ("--mutate", mutate),
                                   ("--replay", replay is not None)) if on]
    if len(modes) > 1:
        raise UsageError(f"{modes[0]} and {modes[1]} cannot be combined", where="command line",
                         hint="run one after the other")
    if modes and learn and modes != ["--watch"]:
        raise UsageError(f"{modes[0]} and --learn cannot be combined", where="command line",
                         hint=f"run --learn first, then {modes[0]}")
    if watch and (format_ != "text" or output):
        other = f"--format {format_}" if format_ != "text" else "--output"
        raise UsageError(f"--watch and {other} cannot be combined", where="command line",
                         hint="--watch prints its reports to the terminal")
    if mutate and (format_ == "sarif" or output):
        raise UsageError(f"--mutate prints only {'text or json' if not output else 'to stdout'}",
                         where="command line", hint="add: --format json > FILE")
    if yes and not fix:
        raise UsageError("--yes requires --fix", where="command line",
                         hint="add --fix, or drop --yes")


def _replay(file: str, env: str | None, verbose: bool) -> int:
    """Rerun one finding: 1 if it still fails, 0 if it is fixed."""
    from ..checking.prove import replaying

    replayed = replaying.replay(file, env, verbose=verbose)
    for text, style in replayed.lines:
        ui.out(text, style=style)
    return replayed.exit_status


def _mutate(env: str | None, settings: dict[str, str], ini: Path | None, format_: str, count: int,
            strict: bool, seed: int, budget: float) -> int:
    """Plant faults: with --strict, 1 if one of them was missed."""
    from ..mutate import mutation_report, mutation_score

    with ui.Progress() as progress:
        result = mutation_score.run(env, settings=settings, ini=ini, count=count, seed=seed,
                                    budget=budget, on_progress=progress.update)
    if format_ == "json":
        ui.out(json.dumps(result.to_dict(), indent=2))
    else:
        for text, style in mutation_report.lines(result):
            ui.out(text, style=style)
    return result.exit_status(strict)


def _fix(result: CheckResult, check: Callable[[], CheckResult], yes: bool,
         write: Callable[[CheckResult], None], show: Callable[..., None]) -> int:
    """Report, show the diff, ask, write, check again. 1 where a fix was left undone."""
    from ..checking.fix import fixing

    fixes = fixing.propose(result)
    if not fixes:
        write(result)
        show("--fix: none of these faults has a mechanical fix" if result.findings
             else "--fix: nothing to fix")
        return result.exit_status
    if show is ui.out:                  # a program gets one document, the last one
        write(result)
        show("")
    for text, style in fixing.diff_lines(result, fixes):
        show(text, style=style)
    if not yes and not _confirmed(fixes):
        if show is not ui.out:
            write(result)
        return FINDINGS
    fixing.apply(result, fixes)
    try:
        again = check()
    except BuildError as error:
        fixing.restore(result, fixes)
        raise RunError("the environment does not compile with these fixes; all files were "
                       "restored", where=error.where, detail=error.message) from None
    show(fixing.summary(result, again), style="bold")
    show("")
    write(again)
    return again.exit_status


def _confirmed(fixes: list[Fix]) -> bool:
    """Asks at a terminal; elsewhere nothing changes without --yes."""
    if not (sys.stdin and sys.stdin.isatty() and ui.is_interactive()):
        ui.say("nothing was changed: add --yes to write this")
        return False
    if click.confirm(f"apply {len(fixes)} fix{'es' * (len(fixes) > 1)}?", err=True):
        return True
    ui.say("nothing was changed")
    return False


def _write(result: CheckResult, lines: Callable[[CheckResult], Iterable[Line]], format_: str,
           output: Path | None) -> None:
    """The report in its format, to stdout or to a file. lines: the report as text."""
    if format_ == "text":
        printed = list(lines(result))
    else:
        from ..checking.report import sarif
        document = result.to_dict() if format_ == "json" else sarif.log(result)
        printed = [(json.dumps(document, indent=2), None)]
    if output is None:
        for text, style in printed:
            ui.out(text, style=style)
        return
    files.save_typed(output, "".join(f"{text}\n" for text, _ in printed), what="the report")
    *_, (verdict, style) = lines(result)
    ui.say(verdict, style=style)
    ui.say(f"report in {output}")
