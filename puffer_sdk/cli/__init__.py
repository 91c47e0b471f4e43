"""The command line: one file a command. Each parses options, calls one function, prints."""
from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from .. import __version__
from ..base import errors, ui

# name -> one line for the overview; the module of the same name (dashes to underscores)
# holds a click command called `command`, imported only when it is asked for
COMMANDS = {
    "new": "Start an environment from a template.",
    "check": "Find the bugs that silently ruin training.",
    "debug": "Open a debugger where an environment fails.",
    "build": "Compile an environment: a library, programs, a page.",
    "play": "Watch and drive an environment in a window.",
    "train": "Train a policy.",
    "profile": "Show where the time of training goes.",
    "eval": "Measure a policy against random and idle play; record it.",
    "report": "Measure all that a reviewer asks for; write a page.",
    "export": "Write a policy for C, ONNX, PyTorch, or all for PufferLib.",
    "review": "Check somebody else's environment, in a sandbox.",
    "bind": "Write a binding.c to edit by hand, for PufferLib.",
    "config": "Show every setting and where it came from.",
    "list": "List the environments in reach.",
    "runs": "List, compare and delete runs.",
    "clean": "Remove what the other commands left on the disk.",
    "explain": "Explain a rule of check.",
    "doctor": "Show what this machine has and lacks.",
    "completion": "Let the shell complete what you type.",
}
# The overview's sections, in the order of work; a command that is in none comes under the last
SECTIONS = {
    "Make an environment": ("new", "check", "debug", "build", "play"),
    "Train a policy": ("train", "profile", "eval"),
    "Share it": ("report", "review", "bind", "export"),
    "Keep order": ("config", "list", "runs", "clean"),
    "Get help": ("explain", "doctor", "completion"),
}
OTHERS = "Also"
LATER = {"sweep": "sweep"}


class LazyGroup(click.Group):
    """Imports a command's module only when that command runs: --help stays fast."""

    def list_commands(self, ctx):
        return [*COMMANDS]           # the command `list` may stand where the builtin stood

    def get_command(self, ctx, name):
        if name not in COMMANDS:
            return None
        return import_module(f".{name.replace('-', '_')}", __name__).command

    def parse_args(self, ctx, args):
        """Without a word, the page that --help prints; but nothing was done, so status 2."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(errors.USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx, args):
        name = args[0] if args else ""
        if name in LATER:
            raise errors.UsageError(f"this version does not have '{name}' yet")
        if name and name not in COMMANDS and not name.startswith("-"):
            raise errors.UsageError(f"there is no command '{name}'",
                                    hint=errors.did_you_mean(name, COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter):
        width = max(map(len, COMMANDS))
        filed = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in COMMANDS if name not in filed)
        for title, names in [*SECTIONS.items(), *([(OTHERS, others)] if others else [])]:
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", COMMANDS[name]) for name in names])

    def format_options(self, ctx, formatter):
        """The commands come before the two options that hardly anybody needs."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def shell_complete(self, ctx, incomplete):
        """Commands by their names: to import all of them takes too long for a TAB."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items()
                 if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def print_version(ctx: click.Context) -> None:
    """The version on the first line; below it, what a bug report needs to name."""
    if ctx.resilient_parsing:
        return
    from ..base import paths
    from ..projects import doctor
    ui.out(f"puffer-sdk, version {__version__}")
    checkout = paths.PACKAGE.parent
    describe = ("git", "-C", checkout, "describe", "--always", "--dirty", "--exclude", "*")
    commit = doctor.ask(*describe) if (checkout / ".git").exists() else None
    if commit:
        ui.out(f"commit    {commit}")
    ui.out(f"python    {doctor.probe_python().found}")
    ui.out(f"compiler  {doctor.probe_compiler().found}")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False,
              callback=lambda ctx, _, asked: print_version(ctx) if asked else None,
              help="Show the version, and what it runs with.")
def cli():
    """Write a reinforcement-learning environment in C, find its bugs, train on it.

    ENV is a folder or a name; with none, the folder you stand in.

    \b
    puffer-sdk new my_env        a working environment to change
    puffer-sdk check my_env      what is wrong with it, and where
    puffer-sdk train my_env      a policy
    puffer-sdk eval my_env       how good it is, beside random play
    """


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status (errors.py lists them).

    argv    the words behind `puffer-sdk`; None: this process is the command, and takes its own
    """
    ui.open_streams()
    try:
        with stoppable(then=signal.SIG_IGN if argv is None else None):
            result = cli.main(args=argv, prog_name="puffer-sdk", standalone_mode=False)
        return result if isinstance(result, int) else errors.OK
    except errors.PufferError as error:
        ui.print_error(error)
        return error.exit_status
    except click.ClickException as error:
        message = error.format_message()
        where = error.ctx.command_path if getattr(error, "ctx", None) else None
        hint = f"{where} --help" if where else "puffer-sdk --help"
        ui.print_error(errors.UsageError(message, hint=hint))
        return errors.USAGE
    except Stopped as stopped:
        ui.say("interrupted" if stopped.number == signal.SIGINT else "terminated")
        return 128 + stopped.number
    except (KeyboardInterrupt, click.Abort):
        ui.say("interrupted")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return errors.OK
    except Exception as error:
        if hasattr(error, "child_traceback"):       # child.ChildBug: our own adds nothing
            ui.say(error.child_traceback)
        else:
            from rich.traceback import Traceback
            ui.console(stderr=True).print(Traceback())
        ui.say("this is a bug in puffer-sdk, not in your environment; "
               "please report it with the lines above")
        return errors.BUG


class Stopped(BaseException):
    """A signal asks the command to end. What it was doing cleans up on the way out."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


@contextmanager
def stoppable(then: signal.Handlers | None = None) -> Iterator[None]:
    """SIGINT and SIGTERM raise Stopped, once: a second one does not disturb the cleaning up.

    A third ends the process on the spot.
    then    the handler from the end of the block on; None: as before it. A process that has
            nothing left to do but to return its status ignores them, or a late second Ctrl-C
            would take the place of that status
    """
    received = []

    def stop(number: int, frame) -> None:
        received.append(number)
        if len(received) == 1:
            raise Stopped(number)
        if len(received) > 2:
            os._exit(128 + received[0])

    def ask_again(lost) -> None:
        """What is raised inside a callback, as libclang makes them, ctypes only reports."""
        if not isinstance(lost.exc_value, Stopped):
            return old_hook(lost)
        received.clear()
        later = threading.Timer(0.05, os.kill, (os.getpid(), lost.exc_value.number))
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
