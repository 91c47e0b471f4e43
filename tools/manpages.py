"""Manual pages for puffer-sdk and each command.  the click commands -> FOLDER/*.1

    python tools/manpages.py [FOLDER]       FOLDER: build/man, at the root of the repository

Names, sentences, examples, options and exit statuses are those of --help. hatch_build.py makes the
pages while the wheel is built, which carries them in share/man/man1: no import may need more than
click. tests/cli/test_manpages.py lints them.
"""
from __future__ import annotations

import inspect
import re
import sys
import textwrap
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from puffer_sdk import __version__  # noqa: E402
from puffer_sdk.cli import cli  # noqa: E402
from puffer_sdk.cli.commands import COMMANDS, SECTIONS  # noqa: E402

DATED = "2026-11-22"            # fixed: the same sources make the same pages


def filled(text: str) -> str:
    """A sentence, wrapped to short lines."""
    return escape("\n".join(textwrap.wrap(" ".join(text.split()), 66, break_on_hyphens=False)))


def escape(text: str) -> str:
    """Text for troff: typed hyphens stay hyphens, and no line reads as a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    text = text.replace("`", "\\(ga").replace("…", "...").replace("±", "\\(+-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def bold(text: str) -> str:
    return f"\\fB{escape(text)}\\fR"


def paragraphs(help_text: str) -> list[str]:
    """A click docstring: blocks that start with a line of \\b keep their line breaks."""
    lines = []
    for number, block in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(help_text or ""))):
        if block.startswith("\b\n"):
            lines += [".PP", ".EX", escape(block[2:]), ".EE"]
        else:
            lines += ([".PP"] if number else []) + [filled(block)]
    return lines


def options(ctx: click.Context) -> list[str]:
    """Each option and what it does, under the titles that --help shows."""
    command = ctx.command
    if hasattr(command, "grouped"):
        groups = command.grouped(ctx)
    else:
        groups = [("Options", [param for param in command.get_params(ctx)
                               if isinstance(param, click.Option)])]
    lines = [".SH OPTIONS"]
    for title, members in groups:
        lines += [f".SS {escape(title)}"] if title != "Options" else []
        for param in members:
            record = param.get_help_record(ctx)
            if record:
                lines += [".TP", bold(record[0]), filled(record[1])]
    return lines


def examples(command: click.Command) -> list[str]:
    found = getattr(command, "examples", [])
    lines = [".SH EXAMPLES"] if found else []
    for words, text in found:
        lines += [".TP", bold(words), filled(text)]
    return lines


def page(ctx: click.Context, name: str, about: str) -> str:
    """One manual page."""
    command = ctx.command
    title = name.replace(" ", "-")
    usage = " ".join(command.collect_usage_pieces(ctx))
    lines = [f'.TH {escape(title.upper())} 1 {DATED} "puffer\\-sdk {__version__}" "puffer\\-sdk"',
             ".SH NAME", f"{escape(title)} \\- {escape(about.rstrip('.'))}",
             ".SH SYNOPSIS", bold(name), escape(usage), ".SH DESCRIPTION",
             *paragraphs(command.help), *examples(command)]
    if ctx.parent is None:
        lines += overview()
    elif isinstance(command, click.Group):
        lines += subcommands(ctx)
    lines += options(ctx)
    statuses = STATUSES if ctx.parent is None else getattr(command, "statuses", None)
    if statuses:
        lines.append(".SH EXIT STATUS")
        for status, text in statuses.items():
            lines += [".TP", bold(str(status)), filled(text)]
    lines += [".SH SEE ALSO"]
    see = ["puffer-sdk"] if ctx.parent is not None else [f"puffer-sdk-{word}" for word in COMMANDS]
    lines += [f".BR {escape(word)} (1){',' if word != see[-1] else ''}" for word in see]
    return "\n".join(lines) + "\n"


def overview() -> list[str]:
    """Every command and its line, under the titles that --help shows."""
    lines = [".SH COMMANDS"]
    for heading, entries in SECTIONS.items():
        lines.append(f".SS {escape(heading)}")
        for name, line in entries.items():
            lines += [".TP", f"\\fBpuffer\\-sdk\\-{escape(name)}\\fR(1)", escape(line)]
    return lines


def subcommands(ctx: click.Context) -> list[str]:
    """The commands of a group, as `runs` is one, with their options."""
    lines = [".SH COMMANDS"]
    for name in ctx.command.list_commands(ctx):
        inner = ctx.command.get_command(ctx, name)
        inside = click.Context(inner, info_name=name, parent=ctx)
        lines += [f".SS {escape(name)} {escape(' '.join(inner.collect_usage_pieces(inside)))}",
                  *paragraphs(inner.help)]
        for param in inner.params:
            record = param.get_help_record(inside) if isinstance(param, click.Option) else None
            if record:
                lines += [".TP", bold(record[0]), filled(record[1])]
    return lines


STATUSES = {0: "success: no findings", 1: "findings, or a goal that was not met",
            2: "a refused argument, setting or name: nothing ran", 3: "the build failed",
            4: "the run failed", 5: "a bug in puffer-sdk", 130: "ended by Ctrl-C",
            143: "ended by SIGTERM"}


def pages() -> dict[str, str]:
    """All pages: {"puffer-sdk-train.1": its text}."""
    top = click.Context(cli, info_name="puffer-sdk", terminal_width=1000, max_content_width=1000,
                        help_option_names=["-h", "--help"])
    made = {"puffer-sdk.1": page(top, "puffer-sdk", "environments in C: write, check, train")}
    for name, about in COMMANDS.items():
        inside = click.Context(cli.get_command(top, name), info_name=name, parent=top)
        made[f"puffer-sdk-{name}.1"] = page(inside, f"puffer-sdk {name}", about)
    return made


def write(folder: Path) -> list[Path]:
    """All pages into a folder. Pages of commands that no longer exist are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for old in folder.glob("puffer-sdk*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in made]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "man"
    print(f"wrote {len(write(folder))} pages to {folder}")


if __name__ == "__main__":
    main()
