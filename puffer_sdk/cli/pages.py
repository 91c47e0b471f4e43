"""How a command explains itself: --help and, from the same words, its man page.

    @click.command(cls=Page,
                   examples=[("puffer-sdk train my_env", "use the settings of its ini")],
                   groups={"Recording": ["gif", "mp4"]},
                   statuses={0: "the goal is met", 1: "it is not"})

A page has: usage, a sentence that says what the command does, more about it, examples, options
with the common ones first, and exit statuses.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from click.shell_completion import CompletionItem

from . import completing

# Options that many commands have: they come last, under one title
SHARED = ("settings", "ini", "runs_dir", "format_", "verbose", "help")
SHARED_TITLE = "Shared options"
# what every command may end with, where it says nothing else
STATUSES = {0: "done", 2: "invalid option, setting or name; nothing ran",
            4: "the run failed, or a file cannot be written", 5: "a bug in puffer-sdk",
            130: "ended by Ctrl-C", 143: "ended by SIGTERM"}
COMPILES = {3: "the environment or the trainer does not compile"}


class Page(click.Command):
    """A click command whose help answers in the order in which a newcomer asks."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (),
                 groups: Mapping[str, Sequence[str]] | None = None,
                 statuses: Mapping[int, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = list(examples)
        self.groups = dict(groups or {})
        takes_env = any(param.name in ("env", "settings") for param in self.params)
        self.statuses = dict(sorted({**STATUSES, **(COMPILES if takes_env else {}),
                                     **(statuses or {})}.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """While a shell completes an option's value, click would reject the whole line."""
        if ctx.resilient_parsing and args and any(
                args[-1] in param.opts and not param.is_flag for param in self.params
                if isinstance(param, click.Option)):
            args = args[:-1]
        with _with_context(ctx):
            return super().parse_args(ctx, args)

    def grouped(self, ctx: click.Context) -> list[tuple[str, list[click.Option]]]:
        """The options under their titles, in the page's order."""
        options = [param for param in self.get_params(ctx)
                   if isinstance(param, click.Option) and param.get_help_record(ctx)]
        named = {name for names in self.groups.values() for name in names}
        parts = [("Options", [param for param in options
                              if param.name not in named and _shared(param) < 0])]
        parts += [(title, [param for name in names for param in options if param.name == name])
                  for title, names in self.groups.items()]
        shared = sorted((param for param in options if _shared(param) >= 0), key=_shared)
        parts = [part for part in parts if part[1]]
        if not parts or len(shared) == 1:
            return [("Options", [*(parts[0][1] if parts else []), *shared]), *parts[1:]]
        return [*parts, (SHARED_TITLE, shared)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples first: they say more than a list."""
        write_examples(formatter, self.examples)
        for title, members in self.grouped(ctx):
            with formatter.section(title):
                formatter.write_dl([record for param in members
                                    if (record := param.get_help_record(ctx))])
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status), text) for status, text in self.statuses.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Options, and settings: --train.learning-rate."""
        found = super().shell_complete(ctx, incomplete)
        if any(param.name == "settings" for param in self.params):
            found = [item for item in found if item.value != "--section.key"]
            if incomplete.startswith("--"):
                found += completing.setting_names(ctx, incomplete)
        return found


@contextmanager
def _with_context(ctx: click.Context) -> Iterator[None]:
    """Not every error of click's parser names its command: add it."""
    try:
        yield
    except click.UsageError as error:
        error.ctx = error.ctx or ctx
        raise


def _shared(param: click.Parameter) -> int:
    """The place among the shared options; -1 for any other."""
    name = "help" if "--help" in param.opts else param.name
    return SHARED.index(name) if name in SHARED else -1


class GroupPage(click.Group):
    """A group of commands with examples."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = list(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _with_context(ctx):
            return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)
        super().format_options(ctx, formatter)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[tuple[str, str]]) -> None:
    """Commands and what they are for, side by side if the line is wide enough."""
    if not examples:
        return
    with formatter.section("Examples"):
        widest = max(len(command) for command, _ in examples)
        if widest + max(len(text) for _, text in examples) + 4 <= formatter.width:
            formatter.write_dl(examples, col_max=widest + 2, col_spacing=2)
            return
        for command, text in examples:
            formatter.write(f"{'':{formatter.current_indent}}{command}\n")
            formatter.write(f"{'':{formatter.current_indent + 4}}{text}\n")
