"""`puffer-sdk debug`: parse, open a debugger at the failing step, or print the stack."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ..base import paths, ui
from ..base.errors import FINDINGS, OK, UsageError
from . import completing
from .options import env_argument, format_option, verbose_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk check my_env", "finds a fault and writes a repro program"),
    ("puffer-sdk debug my_env", "stops in c_step, just before the fault"),
    ("puffer-sdk debug my_env --batch", "print the stack, for a bug report")],
    statuses={0: "the program no longer fails", 1: "it fails, and --batch shows where",
              2: "there is no such program", 4: "no debugger is installed"})
@env_argument
@click.option("--repro", "file", metavar="FILE", shell_complete=completing.repros,
              help="The repro program to debug.  [default: that of the first error]")
@click.option("--batch", is_flag=True,
              help="Print the stack, its variables and the env's rows at the fault, then exit.")
@click.option("--debugger", "debugger_name", type=click.Choice(["gdb", "lldb"]),
              help="The debugger to open.  [default: gdb, else lldb]")
@format_option
@verbose_option
def command(env: str | None, file: str | None, batch: bool, debugger_name: str | None, format_: str,
            verbose: bool) -> int:
    """Open a debugger at the step where ENV fails.

    Compiles a repro program of check without optimization, and stops at the failing step of the
    failing env. There, `howto` lists the commands.
    """
    from ..debugging import batch_report, debug, debugger

    if format_ == "json" and not batch:
        raise UsageError("--format json requires --batch", where="command line",
                         hint="add --batch")
    if not batch and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("a debugger needs a terminal", where="standard input and output",
                         hint="add --batch to print the stack instead")
    tool = debugger.find(debugger_name)         # before anything is compiled
    program: str | Path = file or ""
    if file is None:
        program, others = debug.first(paths.find_env(env))
        ui.say(f"repro  {paths.shown(program)}"
               + (", of the first error" if others else ""))
        if others:
            ui.say(f"also   {', '.join(others)}; choose one with --repro FILE")
    failure = debug.prepare(program, env, verbose=verbose)
    if isinstance(failure, str):
        if format_ == "json":
            ui.out(json.dumps({"repro": str(program), "fails": False, "said": failure}, indent=2))
        else:
            ui.out(failure, style="bold green")
            ui.say("it no longer fails: there is nothing to debug")
        return OK
    if failure.optimised:
        ui.warn("it fails only with optimization: some variables cannot be shown")
    if not batch:
        debug.open_debugger(failure, tool)
    diagnosis = debug.diagnose(failure, tool)
    if format_ == "json":
        ui.out(json.dumps(diagnosis.to_dict(), indent=2))
    else:
        for text, style in batch_report.lines(diagnosis):
            ui.out(text, style=style)
    return FINDINGS
