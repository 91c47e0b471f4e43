"""The repository's pages as tests read them: blocks, links, headings, commands."""
from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from helpers.places import ROOT
from markdown_it import MarkdownIt
from markdown_it.token import Token

TYPED = re.compile(r"(?:[A-Z_]+=\S+ +)*(?:puffer-sdk|make|python3?|pip|git|mkdir|cd|\.|sudo|docker"
                   r"|sed|pytest|stty|torchrun)\s")


@dataclass(frozen=True)
class Block:
    """A code block of a page."""

    page: str               # "docs/tutorials/first.md"
    line: int               # of the page, where it starts
    language: str           # "" for what is only indented
    text: str


@cache
def tracked() -> frozenset[str]:
    """Every file of the repository, and those that are about to be."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return frozenset(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def pages() -> list[str]:
    """Every page of the repository."""
    return sorted(name for name in tracked() if name.endswith(".md"))


@cache
def tokens(text: str) -> tuple[Token, ...]:
    return tuple(MarkdownIt("commonmark").enable("table").parse(text))


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(page: str) -> list[Block]:
    return [Block(page, token.map[0] + 1, token.info.strip(), token.content)
            for token in tokens(text_of(page)) if token.type in ("fence", "code_block")]


def inline(text: str) -> Iterator[Token]:
    for token in tokens(text):
        yield from token.children or ()


def links(text: str) -> Iterator[str]:
    """Where links and pictures lead, of Markdown and of the HTML in it."""
    for token in (*tokens(text), *inline(text)):
        if token.type in ("html_block", "html_inline"):
            yield from re.findall(r"""(?:href|src)=["']([^"']+)""", token.content)
        elif token.type in ("link_open", "image"):
            yield str(token.attrs.get("href", token.attrs.get("src")))


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: dict[str, int] = {}
    made = set()
    listed = tokens(text)
    for at, token in enumerate(listed):
        if token.type == "heading_open":
            said = "".join(child.content for child in listed[at + 1].children
                           if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", said.lower()).replace(" ", "-")
            again = found.get(slug, 0)
            found[slug] = again + 1
            made.add(f"{slug}-{again}" if again else slug)
    return made


def commands(block: Block) -> list[str]:
    """The lines of a block that a reader types, without their prompt and what is said of them."""
    console = block.language == "console"
    found = []
    if block.text.startswith("#!"):
        return []                       # a script to save
    for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
        if console and not line.startswith("$ "):
            continue                    # what a command prints
        line = line.removeprefix("$ ").strip()
        if console or (block.language in ("", "sh") and TYPED.match(f"{line} ")):
            found.append(re.split(r" {3,}(?=\S)|\s# ", line)[0].strip())
    return found


def problem(line: str) -> str | None:
    """What is wrong with a `puffer-sdk` line: it must name a command, and options that exist."""
    import click

    from puffer_sdk import cli
    from puffer_sdk.settings import table

    words = shlex.split(re.sub(r"^([A-Z_]+=\S+ +)+", "", line))
    if words[:1] != ["puffer-sdk"] or len(words) < 2 or words[1].startswith("-"):
        return None
    command = cli.cli.get_command(click.Context(cli.cli), words[1])
    if command is None:
        return f"there is no command {words[1]!r}"
    if isinstance(command, click.Group) and len(words) > 2:
        command = command.get_command(click.Context(command), words[2]) or command
    # a command keeps the help option of its first context
    with click.Context(command, ignore_unknown_options=True,
                       **cli.cli.context_settings) as context:
        known = {name for option in command.get_params(context) for name in option.opts}
    for word in words[2:]:
        word = word.strip("[]").partition("=")[0]
        if not re.match(r"--?[a-z]", word) or word in known or word == "--section.key":
            continue
        section, dot, key = word.lstrip("-").partition(".")
        full = f"{section}.{key.replace('-', '_')}"
        if not dot or (full not in table.KEYS and section != "env"):
            return f"{words[1]} has no option {word}"
    return None
