"""Reference pages made from the code: {"reference/cli.md": text, ...}.

Each function takes nothing and returns Markdown. What they are made from: click's commands, the
rules' docstrings, the table of settings, the headers, the public names of the package.
"""
from __future__ import annotations

import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path

import click

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.base import paths
from puffer_sdk.checking.rules import registry
from puffer_sdk.checking.rules.__main__ import page as rules_page
from puffer_sdk.cli.commands import COMMANDS
from puffer_sdk.settings import table

MADE = "<!-- Made by tools/site/reference.py. Do not edit. -->"
HEADERS = ("puffer_abi.h", "puffer_prelude.h", "vecenv.h", "puffernet.h", "puffer_repro.h")


def pages() -> dict[str, str]:
    """All of them, by path under docs/."""
    made = {"reference/cli.md": commands(), "reference/settings.md": table.page(),
            "reference/rules.md": rules_table(), "reference/headers.md": headers(),
            "reference/python.md": python()}
    for rule in registry.load().values():
        made[f"reference/rules/{rule.code}.md"] = rule_page(rule)
    return made


def quote(text: str) -> str:
    """Plain text as Markdown: nothing of it is markup, except `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else
                   re.sub(r"([\\*_\[\]<>|])", r"\\\1", part) for part in parts)


# ---- commands ------------------------------------------------------------------------------------

def tree() -> dict[str, click.Command]:
    """Every command by its words: {"train": ..., "runs compare": ...}."""
    found: dict[str, click.Command] = {}

    def walk(group: click.Group, words: tuple[str, ...]) -> None:
        with click.Context(group) as context:
            for name in group.list_commands(context):
                command = group.get_command(context, name)
                found[" ".join((*words, name))] = command
                if isinstance(command, click.Group):
                    walk(command, (*words, name))
    walk(cli.cli, ())
    return found


def commands() -> str:
    """Every command and option."""
    out = ["# Command line", MADE,
           "What `puffer-sdk COMMAND --help` prints, made from the commands themselves. Commands "
           "end with one of these [statuses](exit-status.md). ENV is a folder or a name; the "
           "default is the current folder. `--section.key VALUE` is any of the "
           "[settings](settings.md).", "",
           "| command | |", "|---|---|"]
    known = tree()
    for words, command in known.items():
        summary = COMMANDS.get(words) or command.get_short_help_str(100)
        out.append(f"| [`{words}`](#{words.replace(' ', '-')}) | {quote(summary)} |")
    for words, command in known.items():
        out += ["", f"## {words} {{ #{words.replace(' ', '-')} }}", "", *_command(words, command)]
    return "\n".join(out) + "\n"


def _command(words: str, command: click.Command) -> list[str]:
    top = click.Context(cli.cli, info_name="puffer-sdk", **cli.cli.context_settings)
    context = click.Context(command, info_name=words, parent=top)
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    out = ["```text", usage, "```", "", *_prose(inspect.cleandoc(command.help or ""))]
    rows = [row for option in command.get_params(context)
            if isinstance(option, click.Option) and (row := option.get_help_record(context))]
    if rows:
        out += ["", "| option | meaning |", "|---|---|"]
        out += [f"| {_code(name)} | {quote(' '.join(text.split()))} |" for name, text in rows]
    return out


def _code(name: str) -> str:
    return ", ".join(f"`{part}`" for part in name.split(", "))


def _prose(text: str) -> list[str]:
    """Paragraphs of a docstring; one that starts with \\b, or is aligned, stays as it is."""
    out: list[str] = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            out += ["```text", paragraph[1:].strip("\n"), "```", ""]
        else:
            out += [quote(" ".join(paragraph.split())), ""]
    return out


# ---- rules ---------------------------------------------------------------------------------------

def rules_table() -> str:
    """The table, each code a link to its page."""
    return re.sub(r"^\| (PUF\d{3}) \|", r"| [\1](rules/\1.md) |", rules_page(), flags=re.M)


def rule_page(rule: registry.Rule) -> str:
    """What `puffer-sdk explain CODE` shows, as a page."""
    option = f" Tested with `check {rule.option}`." if rule.option else ""
    out = [f"# {rule.code} {rule.name}", MADE, f"**{rule.severity.capitalize()}.**{option}", ""]
    code: list[str] = []
    for paragraph in [*rule.page.split("\n\n"), None]:
        if paragraph is not None and paragraph.startswith("    "):
            code.append(paragraph)
            continue
        if code:
            text = inspect.cleandoc("\n" + "\n\n".join(code))
            out += ["```c", text, "```", ""]
            code = []
        if paragraph is None:
            break
        text = " ".join(paragraph.split())
        for title, heading in (("Why it ruins training:", "## Why it ruins training"),
                               ("Bad:", "## Bad"), ("Good:", "## Good"), ("Fix:", "## The fix")):
            if text.startswith(title):
                out += [heading, ""]
                text = text[len(title):].strip()
                text = text[:1].upper() + text[1:]
        if text:
            out += [_linked(quote(text)), ""]
    out += ["---", "", f"`puffer-sdk explain {rule.code}` prints this page. All of them: "
            "[rules](../rules.md). What is right in your game although a rule says otherwise "
            "[may be allowed](../../guides/check.md#allowing-a-finding), with a reason."]
    return "\n".join(out) + "\n"


def _linked(text: str) -> str:
    """Codes of other rules become links."""
    return re.sub(r"(?<![`\w\[])(PUF\d{3})(?![`\w\]])", r"[\1](\1.md)", text)


# ---- C -------------------------------------------------------------------------------------------

def headers() -> str:
    """The headers that an environment and a caller of its library see, as they are."""
    out = ["# C headers", MADE,
           "[The contract](contract.md) in prose; here, the headers themselves. Environments "
           "are compiled with their folder on the include path.", "",
           "| header | |", "|---|---|"]
    for name in HEADERS:
        first = (paths.include_dir() / name).read_text().splitlines()[0]
        out.append(f"| [{name}](#{_slug(name)}) | "
                   f"{quote(first.partition('--')[2].strip(' */'))} |")
    for name in HEADERS:
        out += ["", f"## {name} {{ #{_slug(name)} }}", "", "```c",
                _declarations((paths.include_dir() / name).read_text()), "```"]
    return "\n".join(out) + "\n"


def _slug(name: str) -> str:
    return name.replace(".", "-")


def _declarations(text: str, most: int = 130) -> str:
    """A header, or of a long one its manual: the comment at its top."""
    if text.count("\n") <= most:
        return text.rstrip("\n")
    return text[:text.index("*/") + 2]


# ---- Python --------------------------------------------------------------------------------------

def python() -> str:
    """The public names of the package, from their signatures and docstrings."""
    out = ["# Python", MADE, *_docstring(puffer_sdk.__doc__, dedent=False), "", "Errors carry the "
           "[statuses](exit-status.md) of the command line. Settings are given by their full "
           "names, as in `{\"train.learning_rate\": 0.02}`.", ""]
    for name in puffer_sdk.__all__:
        if name.startswith("__"):
            continue
        thing = getattr(puffer_sdk, name)
        out += ["", f"## {name} {{ #{name} }}", ""]
        out += _class(name, thing) if inspect.isclass(thing) else _function(f"puffer_sdk.{name}",
                                                                            thing)
    out += ["", "## native: below Trainer { #native }", "",
            "`puffer_sdk.training.native` holds what `Trainer` is made of.", ""]
    for module, name in (("ppo", "NativePPO"), ("actor", "NativeActor")):
        found = getattr(importlib.import_module(f"puffer_sdk.training.native.{module}"), name)
        out += ["", f"### {name} {{ #{name} }}", "", *_docstring(found.__doc__)]
    return "\n".join(out) + "\n"


def _function(name: str, function) -> list[str]:
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    if len(name + signature) > 80:
        inside, _, after = signature[1:].rpartition(")")
        signature = "(\n    " + ",\n    ".join(_commas(inside)) + ",\n)" + after
        signature = signature.replace("\n    *,\n    ", "\n    *, ")
    return ["```python", name + signature, "```", "", *_docstring(function.__doc__)]


def _commas(text: str) -> list[str]:
    """`a, b: X[c, d]` -> ["a", "b: X[c, d]"]"""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _class(name: str, kind: type) -> list[str]:
    if issubclass(kind, BaseException):
        return _docstring(kind.__doc__)
    out = _function(f"puffer_sdk.{name}", kind)
    properties = []
    for key, member in _members(kind).items():
        if key.startswith("_"):
            continue
        if isinstance(member, (property, cached_property)):
            properties.append((key, member.__doc__ or ""))
        elif inspect.isfunction(member):
            out += ["", f"### {name}.{key} {{ #{name}-{key} }}", "",
                    *_function(f"{name[0].lower()}{name[1:]}.{key}", _without_self(member))]
    if properties:
        out += ["", "| attribute | |", "|---|---|"]
        out += [f"| `{key}` | {quote(' '.join(text.split()))} |" for key, text in properties]
    return out


def _members(kind: type) -> dict:
    """Its own, then those of its parts: classes of ours that are not public themselves."""
    found = {}
    for base in kind.__mro__:
        if base is kind or (base.__module__.startswith("puffer_sdk.")
                            and getattr(puffer_sdk, base.__name__, None) is not base):
            found = {**found, **{key: member for key, member in vars(base).items()
                                 if key not in found}}
    return found


def _without_self(function):
    def bound():
        """Stands for the method: its signature and its words alone are read."""
    signature = inspect.signature(function)
    bound.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    bound.__doc__ = function.__doc__
    return bound


def _docstring(text: str | None, *, dedent: bool = True) -> list[str]:
    """Paragraphs as prose; what is indented as code; `name    meaning` lines as a list."""
    out: list[str] = []
    text = text or ""
    for paragraph in (inspect.cleandoc(text) if dedent else text.rstrip()).split("\n\n"):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines):
            block = inspect.cleandoc("\n" + paragraph)
            if out and out[-2:] == ["```", ""]:
                out[-2:] = ["", block, "```", ""]
            else:
                out += ["```python", block, "```", ""]
        elif any(re.match(r"\w[\w, .*]*?(?: {2,})\S", line) for line in lines):
            out += [*_aligned(lines), ""]
        else:
            out += [quote(" ".join(line.strip() for line in lines)), ""]
    return out


def _aligned(lines: list[str]) -> list[str]:
    """`settings    {"env.size": 9}: over the ini's` -> a list; lines around it -> prose."""
    out: list[str] = []
    for line in lines:
        item = re.match(r"(\w[\w, .*]*?) {2,}(\S.*)", line)
        if item:
            out += ["", f"- `{item[1]}`: {quote(item[2])}"]
        elif line.startswith(" ") and out:
            out.append("  " + quote(line.strip()))
        else:
            out += ["", quote(line)] if out and out[-1].startswith(("- ", "  ")) else [quote(line)]
    return out


def write(folder: Path) -> None:
    """All pages into a folder: to look at them without building the site."""
    for name, text in pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
