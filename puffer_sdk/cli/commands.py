"""The commands of `puffer-sdk`, and the group that runs them.  a name -> the click command

SECTIONS is the one entry of a command. The overview of --help, shell completion, the manual pages
and docs/reference/cli.md list the commands in this order, with these lines. Its other half is the
module of the same name in this folder, which holds a click command called `command`.
"""
from __future__ import annotations

import os
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from ..base import data, errors

# title -> {name: its line}, in the order of work
SECTIONS = {
    "Make an environment": {
        "new": "Start an environment from a template.",
        "check": "Find the bugs that silently ruin training.",
        "debug": "Open a debugger at the step where an environment fails.",
        "build": "Compile an environment: library, programs or web page.",
        "play": "Play an environment in a window, or watch a policy.",
    },
    "Train a policy": {
        "train": "Train a policy.",
        "sweep": "Tune hyperparameters for score per compute.",
        "profile": "Show where training time goes.",
        "eval": "Compare a policy with random and idle play; record it.",
        "match": "Play policies against each other, with swapped sides.",
    },
    "Share it": {
        "report": "Write a report for reviewers: check, training, speed.",
        "review": "Check untrusted environments or patches in a sandbox.",
        "ocean": "Test every environment of a PufferLib checkout.",
        "bind": "Write a binding.c to edit by hand, for PufferLib.",
        "export": "Export a policy to C, ONNX, PyTorch or PufferLib.",
    },
    "Manage": {
        "config": "Show every setting and where it came from.",
        "list": "List the environments that commands find by name.",
        "runs": "List, compare and delete runs.",
        "clean": "Delete build files, caches and runs.",
    },
    "Get help": {
        "explain": "Explain a rule of check.",
        "doctor": "Show installed and missing dependencies.",
        "completion": "Set up tab completion for your shell.",
    },
}
# page of docs/ -> what is in it, in the order of a newcomer's questions
PAGES = {
    "tutorials/ten-minutes.md": "All steps, with their output.",
    "tutorials/first.md": "A game of your own, from an empty file.",
    "tutorials/ocean.md": "An environment of PufferLib's Ocean.",
    "guides/python.md": "Environments in Python.",
    "tutorials/debugging.md": "Why doesn't it learn?",
}
COMMANDS = {name: line for entries in SECTIONS.values() for name, line in entries.items()}


# what other tools call it -> what to type here
MEANT = {"init": "new", "create": "new", "resume": "train --resume", "test": "check",
         "lint": "check", "render": "play", "watch": "play", "view": "play", "run": "train",
         "learn": "train", "evaluate": "eval", "compile": "build", "record": "eval --gif FILE",
         "versus": "match"}


class LazyGroup(click.Group):
    """Imports a command's module only when that command runs: --help stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]           # list() may be the command here

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f".cmd_{name}", __package__).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a word, the page that --help prints; but nothing was done, so status 2."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(errors.USAGE)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            hint = f"did you mean 'puffer-sdk {MEANT[name]}'?" if name in MEANT \
                else errors.did_you_mean(name, COMMANDS)
            raise errors.UsageError(f"there is no command '{name}'", where="command line",
                                    hint=hint or "puffer-sdk --help lists them")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", line) for name, line in entries.items()])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands come before the two options that hardly anybody needs."""
        self.format_commands(ctx, formatter)
        with formatter.section(f"Pages, in {data.shown(os.path.dirname(data.folder('docs')))}"):
            formatter.write_dl([(data.page(name), line) for name, line in PAGES.items()])
        click.Command.format_options(self, ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands by their names: importing all of them takes too long for a TAB."""
        found = [CompletionItem(name, help=line) for name, line in COMMANDS.items()
                 if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)
