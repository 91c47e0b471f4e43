"""The command line: one file per command. Each parses options, calls one function, prints.

commands      SECTIONS, the entry of every command; imports a command's file when it runs
options       options that commands share; --section.key VALUE
pages         --help and, from the same words, the manual pages
completing    what TAB offers
"""
from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from .. import __version__
from ..base import errors, ui
from .commands import LazyGroup


def print_version(ctx: click.Context) -> None:
    """The version on the first line; below it, what a bug report needs."""
    if ctx.resilient_parsing:
        return
    from ..base import paths
    from ..projects import probe_program, probes
    ui.out(f"puffer-sdk, version {__version__}")
    checkout = paths.PACKAGE.parent
    describe = ("git", "-C", checkout, "describe", "--always", "--dirty", "--exclude", "*")
    commit = probe_program.ask(*describe) if (checkout / ".git").exists() else None
    if commit:
        ui.out(f"commit    {commit}")
    ui.out(f"python    {probes.probe_python().found}")
    ui.out(f"compiler  {probes.probe_compiler().found}")
    ctx.exit()


def raise_limit(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Limits for parsing a header, in this process and its children."""
    if value and not ctx.resilient_parsing:
        from ..base import limited
        limited.parse(value)
        os.environ[limited.VARIABLE] = value


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False,
              callback=lambda ctx, _, asked: print_version(ctx) if asked else None,
              help="Show the version, Python and the compiler.")
@click.option("--read-limit", metavar="SECONDS,GB", expose_value=False, callback=raise_limit,
              help="Limits for parsing a header: CPU time and memory.  [default: 30,2]")
def cli() -> None:
    """Write a reinforcement-learning environment in C, find its bugs, train on it.

    ENV is a folder or a name. The default is the current folder.

    \b
    puffer-sdk new my_env        create a working environment
    puffer-sdk check my_env      find its bugs
    puffer-sdk train my_env      a policy
    puffer-sdk eval my_env       how good it is, compared with random play
    """


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status (errors.py lists them).

    argv    the words after `puffer-sdk`; None: those of this process
    """
    ui.open_streams()
    words, ui.printed = sys.argv[1:] if argv is None else argv, False
    try:
        with stoppable(then=signal.SIG_IGN if argv is None else None):
            result = cli.main(args=argv, prog_name="puffer-sdk", standalone_mode=False)
        return result if isinstance(result, int) else errors.OK
    except errors.PufferError as error:
        return report_error(error, words)
    except click.ClickException as error:
        message = error.format_message()
        ctx = getattr(error, "ctx", None)
        hint = f"{ctx.command_path if ctx else 'puffer-sdk'} --help"
        return report_error(errors.UsageError(message, hint=hint), words)
    except Stopped as stopped:
        ui.say("interrupted" if stopped.number == signal.SIGINT else "terminated")
        return 128 + stopped.number
    except (KeyboardInterrupt, click.Abort):
        ui.say("interrupted")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return errors.OK
    except RecursionError:              # by what was read: our own calls are not that deep
        return report_error(errors.RunError(
            "folders, values or expressions are nested too deeply",
            where=os.getcwd(), expected="at most some hundred levels",
            hint="if you find none, please report this with the command"), words)
    except Exception as error:
        if hasattr(error, "child_traceback"):       # child.ChildBug: our own adds nothing
            ui.say(error.child_traceback)
        else:
            from rich.traceback import Traceback
            ui.console(stderr=True).print(Traceback())
        ui.say("this is a bug in puffer-sdk, not in your environment; "
               "please report it with the lines above")
        print_document(errors.PufferError(f"a bug in puffer-sdk: {type(error).__name__}: {error}"),
                       words)
        return errors.BUG


def report_error(error: errors.PufferError, words: list[str]) -> int:
    """Its text on stderr and, with --format json, a document on stdout. Returns its status."""
    ui.print_error(error)
    print_document(error, words)
    return error.exit_status


def print_document(error: errors.PufferError, words: list[str]) -> None:
    """What a program reads in place of the result: {"error": ...}, of check with its own keys."""
    asked = "--format=json" in words or ("--format", "json") in zip(words, words[1:])
    if not asked or ui.printed or error.quiet:
        return
    checked = {"findings": [], "verdict": "error"} if "check" in words[:1] else {}
    ui.out(json.dumps({**checked, "error": error.to_dict()}, indent=2))


class Stopped(BaseException):
    """A signal asks the command to end. It cleans up on the way out."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


@contextmanager
def stoppable(then: signal.Handlers | None = None) -> Iterator[None]:
    """SIGINT and SIGTERM raise Stopped, once: a second one does not disturb the cleanup.

    A third ends the process immediately.
    then    the handler after the block; None: the one before it. A process that only has to
            return its status ignores both signals: a late second Ctrl-C would replace the status
    """
    received: list[int] = []
    hooked: list[bool] = []

    def stop(number: int, frame: object) -> None:
        if hooked:                      # what is raised here would be lost, too
            return ask_later(number)
        received.append(number)
        if len(received) == 1:
            raise Stopped(number)
        if len(received) > 2:
            os._exit(128 + received[0])

    def ask_again(lost: sys.UnraisableHookArgs) -> None:
        """ctypes only reports what a callback raises, such as libclang's: raise it again."""
        if not isinstance(lost.exc_value, Stopped):
            old_hook(lost)
            return
        hooked.append(True)
        received.clear()
        ask_later(lost.exc_value.number)
        hooked.clear()

    def ask_later(number: int) -> None:
        later = threading.Timer(0.05, os.kill, (os.getpid(), number))
        later.daemon = True
        later.start()

    old, old_hook = {}, sys.unraisablehook
    if threading.current_thread() is threading.main_thread():
        old = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        sys.unraisablehook = ask_again
    try:
        yield
    finally:
        sys.unraisablehook = old_hook
        for number, handler in old.items():
            signal.signal(number, handler if then is None else then)
