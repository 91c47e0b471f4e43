"""Manual pages for puffer-sdk and each command.  the click commands -> man/*.1

    python tools/manpages.py [FOLDER]       FOLDER: man, at the root of the repository

Names, sentences, examples, options and exit statuses are those of --help. `make docs-tables` writes
them, the wheel carries them in share/man/man1, and tests/test_manpages.py compares and lints them.
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
from puffer_sdk.cli import COMMANDS, OTHERS, SECTIONS, cli  # noqa: E402

DATED = "2026-11-22"            # of these pages: a page that nobody changed stays the same


def filled(text: str) -> str:
    """A sentence in lines that an editor shows whole."""
    return escape("\n".join(textwrap.wrap(" ".join(text.split()), 66, break_on_hyphens=False)))


def escape(text: str) -> str:
    """Text as troff reads it: hyphens that are typed stay hyphens, no line is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    text = text.replace("`", "\\(ga").replace("…", "...").replace("±", "\\(+-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def bold(text: str) -> str:
    return f"\\fB{escape(text)}\\fR"


def paragraphs(help_text: str) -> list[str]:
    """A docstring of click's: blocks behind a line with \\b keep their lines."""
    lines = []
    for number, block in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(help_text or ""))):
        if block.startswith("\b\n"):
            lines += [".PP", ".EX", escape(block[2:]), ".EE"]
        else:
            lines += ([".PP"] if number else []) + [filled(block)]
    return lines


def options(ctx: click.Context) -> list[str]:
    """Each option and what it does, under the titles of --help."""
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
    others = [other for other in COMMANDS if f"puffer-sdk-{other}" != title]
    if ctx.parent is None:
        filed = [word for words in SECTIONS.values() for word in words]
        rest = tuple(word for word in COMMANDS if word not in filed)
        lines.append(".SH COMMANDS")
        for heading, words in [*SECTIONS.items(), *([(OTHERS, rest)] if rest else [])]:
            lines.append(f".SS {escape(heading)}")
            for word in words:
                lines += [".TP", f"\\fBpuffer\\-sdk\\-{escape(word)}\\fR(1)",
                          escape(COMMANDS[word])]
    elif isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for word in command.list_commands(ctx):
            inner = command.get_command(ctx, word)
            inside = click.Context(inner, info_name=word, parent=ctx)
            lines += [f".SS {escape(word)} {escape(' '.join(inner.collect_usage_pieces(inside)))}",
                      *paragraphs(inner.help)]
            for param in inner.params:
                record = param.get_help_record(inside) if isinstance(param, click.Option) else None
                if record:
                    lines += [".TP", bold(record[0]), filled(record[1])]
    lines += options(ctx)
    if getattr(command, "statuses", None):
        lines.append(".SH EXIT STATUS")
        for status, text in command.statuses.items():
            lines += [".TP", bold(str(status)), filled(text)]
    elif ctx.parent is None:
        lines.append(".SH EXIT STATUS")
        for status, text in STATUSES.items():
            lines += [".TP", bold(str(status)), filled(text)]
    lines += [".SH SEE ALSO"]
    see = ["puffer-sdk"] if ctx.parent is not None else [f"puffer-sdk-{word}" for word in others]
    lines += [f".BR {escape(word)} (1){',' if word != see[-1] else ''}" for word in see]
    return "\n".join(lines) + "\n"


STATUSES = {0: "it worked, nothing was found", 1: "findings, or a goal that was not met",
            2: "a refused argument, setting or name: nothing ran", 3: "the build failed",
            4: "the run failed", 5: "a bug in puffer-sdk", 130: "ended by Ctrl-C",
            143: "ended by SIGTERM"}


def pages() -> dict[str, str]:
    """{"puffer-sdk-train.1": its text} for all of them."""
    top = click.Context(cli, info_name="puffer-sdk", terminal_width=1000, max_content_width=1000,
                        help_option_names=["-h", "--help"])
    made = {"puffer-sdk.1": page(top, "puffer-sdk", "environments in C: write, check, train")}
    for name, about in COMMANDS.items():
        inside = click.Context(cli.get_command(top, name), info_name=name, parent=top)
        made[f"puffer-sdk-{name}.1"] = page(inside, f"puffer-sdk {name}", about)
    return made


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "man"
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for old in folder.glob("puffer-sdk*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(made)} pages to {folder}")


if __name__ == "__main__":
    main()
