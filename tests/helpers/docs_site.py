"""The built site as tests read it: pages, their code blocks, and the commands in these."""
from __future__ import annotations

import html
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
from helpers.places import ROOT

DOCS = ROOT / "docs"

BLOCK = re.compile(r'<div class="language-(\w+) highlight">(.*?)</pre>', re.S)
PROGRAMS = ("puffer-sdk", "make", "python", "python3", "pip", "mkdir", ".", "sudo", "sha256sum")
# written by others and not there yet, or words that stand for a command
PLACEHOLDERS = ("COMMAND",)


@dataclass(frozen=True)
class Block:
    """A code block of a page, without markup."""

    page: str               # "tutorials/first.html"
    language: str           # "text" for what is only indented
    text: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]

    @property
    def is_commands(self) -> bool:
        """True if each line is something to type."""
        return self.language == "text" and all(
            unset(line).split()[0] in PROGRAMS
            for line in joined(self.text).splitlines() if line.strip())


def pages(site: Path) -> list[str]:
    """The pages that somebody wrote: no redirects, no pages that show a file of the repository."""
    found = (path.relative_to(site).as_posix() for path in site.rglob("*.html")
             if not redirect(path.read_text()))
    return sorted(name for name in found if not name.startswith(("source/", "tutorials/games/"))
                  and name != "404.html")


def redirect(text: str) -> str | None:
    """Where a page of the redirects plugin leads, relative to itself; None for other pages."""
    found = re.search(r'<meta http-equiv="refresh" content="0; url=([^"]+)">', text)
    return found and found[1]


@cache
def made() -> frozenset[str]:
    """The reference pages that tools/site/reference.py makes from the code."""
    import reference
    return frozenset(name.replace(".md", ".html") for name in reference.pages())


def is_made(page: str) -> bool:
    return page in made()


def blocks(site: Path) -> list[Block]:
    """Every code block of every page that is not made from the code."""
    return [Block(page, language, plain(text)) for page in pages(site) if not is_made(page)
            for language, text in BLOCK.findall((site / page).read_text())]


def plain(markup: str) -> str:
    code = re.search(r"<code[^>]*>(.*)", markup, re.S)
    return html.unescape(re.sub(r"<[^>]+>", "", code[1] if code else markup)).rstrip("\n")


def unset(line: str) -> str:
    """A command without the variables that are set for it."""
    return re.sub(r"^([A-Z_]+=\S+ +)+", "", line.strip())


def joined(text: str) -> str:
    return text.replace("\\\n", " ")


def inline(site: Path, page: str) -> list[str]:
    """What stands in a page as `code` within a sentence."""
    text = re.sub(r"<pre.*?</pre>", "", (site / page).read_text(), flags=re.S)
    return [html.unescape(re.sub(r"<[^>]+>", "", code))
            for code in re.findall(r"<code[^>]*>(.*?)</code>", text, re.S)]


def commands(block: Block) -> list[list[str]]:
    """The `puffer-sdk` lines of a block, as words behind the name."""
    found = []
    for line in joined(block.text).splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue                    # what a command prints
        line = unset(line.strip().removeprefix("$ ").removeprefix("- run: "))
        if line.startswith("puffer-sdk "):
            line = re.split(r" {3,}(?=\S)|\s#", line)[0]
            found.append(shlex.split(line)[1:])
    return found


def problem(words: list[str]) -> str | None:
    """What is wrong with a command: it must name a command, options and settings that exist."""
    from puffer_sdk import cli
    from puffer_sdk.settings import table

    if not words or words[0].startswith("-") or words[0] in PLACEHOLDERS:
        return None
    command = cli.cli.get_command(click.Context(cli.cli), words[0])
    if command is None:
        return f"there is no command {words[0]!r}"
    if isinstance(command, click.Group) and len(words) > 1:
        command = command.get_command(click.Context(command), words[1]) or command
    with click.Context(command, ignore_unknown_options=True) as context:
        known = {name for option in command.get_params(context) for name in option.opts}
    for word in words[1:]:
        word = word.strip("[]").partition("=")[0]
        if not re.match(r"--?[a-z]", word) or word in known or word == "--section.key":
            continue
        section, dot, key = word.lstrip("-").partition(".")
        full = f"{section}.{key.replace('-', '_')}"
        if not dot or (full not in table.KEYS and section != "env"):
            return f"{words[0]} has no option {word}"
    return None
