"""Reference pages made from the code: {"reference/cli.md": text, ...}.

Each function takes nothing and returns Markdown, from click's commands, the rules' docstrings, the
table of settings, and the public names of the package.
"""
from __future__ import annotations

import importlib
import inspect
import json
import re
from functools import cached_property

import click

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.checking.core import registry
from puffer_sdk.cli import json_schemas
from puffer_sdk.cli.commands import COMMANDS
from puffer_sdk.settings import table

MADE = "<!-- Made by `make docs-tables`. Do not edit. -->"
# of the parts of a rule's page
TITLES = ("Why it ruins training:", "Why it matters:", "Bad:", "Good:", "Fix:")


def pages() -> dict[str, str]:
    """All of them, by path under docs/."""
    return {"reference/cli.md": commands(), "reference/settings.md": settings(),
            "reference/rules.md": rules(), "reference/python.md": python(),
            "reference/json.md": documents(),
            **{f"reference/schemas/{command}.json":
               json.dumps(json_schemas.schema_of(command), indent=1) + "\n"
               for command in json_schemas.DOCUMENTS}}


def quote(text: str) -> str:
    """Plain text as Markdown, without markup except `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else
                   re.sub(r"([\\*_\[\]<>|])", r"\\\1", part) for part in parts)


# ---- JSON ----------------------------------------------------------------------------------------

def documents() -> str:
    """Every field of what --format json prints, and which schema has it."""
    out = ["# JSON", "", MADE, "",
           "What `--format json` prints: one document on stdout, whatever else a command says on "
           "stderr. Each has a schema, made from the types that print it; later versions may add "
           "fields.", "", "| command | schema | result |", "|---|---|---|"]
    parts: dict[str, dict] = {}
    for command in json_schemas.DOCUMENTS:
        schema = json_schemas.schema_of(command)
        names = [_named(each) for each in schema["anyOf"]]
        out.append(f"| `{command}` | [{command}.json](schemas/{command}.json) | "
                   + ", or ".join(f"[{name}](#{name.lower()})" for name in names) + " |")
        parts.update((name, schema["$defs"][name]) for name in names)
        assert all(parts.get(name, part) == part for name, part in schema["$defs"].items())
        parts.update(schema["$defs"])
    for name, part in parts.items():
        out += ["", f"## {name}", "", quote(part["description"]), "",
                "| field | type | meaning |", "|---|---|---|"]
        always = part.get("required", [])
        for field, about in part["properties"].items():
            optional = "" if field in always else ", or left out"
            out.append(f"| `{field}` | {_type_of(about)}{optional} | "
                       f"{quote(about.get('description', ''))} |")
    return "\n".join(out) + "\n"


def _named(reference: dict) -> str:
    return reference["$ref"].rpartition("/")[2]


def _type_of(about: dict) -> str:
    """A schema in words: "list of numbers", with a link to the type that it names."""
    if "$ref" in about:
        return f"[{_named(about)}](#{_named(about).lower()})"
    if "anyOf" in about:
        return " or ".join(_type_of(each) for each in about["anyOf"])
    kind = about.get("type")
    if isinstance(kind, list):
        return " or ".join(kind)
    if "enum" in about:
        return " or ".join(f"`{each}`" for each in about["enum"])
    if kind == "array":
        several = about.get("prefixItems")
        inside = ", ".join(_type_of(each) for each in several or [about.get("items") or {}])
        return f"list: {inside}"
    if kind == "object":
        inside = about.get("additionalProperties")
        return f"object: {_type_of(inside)} by name" if isinstance(inside, dict) and inside \
            else "object"
    return kind or "any"


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
    out = ["# Command line", "", MADE, "",
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
        out += ["", f"## {words}", "", *_command(words, command)]
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

def rules() -> str:
    """A table of all rules, and for each the text of `puffer-sdk explain CODE`."""
    known = registry.load().values()
    out = ["# Rules of check", "", MADE, "",
           f"{len(known)} rules. `puffer-sdk explain CODE` prints what stands here of one. "
           "[check](../guides/check.md) is the command's manual; what is right in your game "
           "although a rule says otherwise "
           "[may be allowed](../guides/check.md#allowing-a-finding), with a reason.", "",
           "| code | name | severity | what it means |", "|---|---|---|---|"]
    out += [f"| [{rule.code}](#{rule.code.lower()}) | {rule.name} | {rule.severity} | "
            f"{quote(rule.summary)} |" for rule in known]
    for rule in known:
        out += ["", f"## {rule.code}", "", *_rule(rule)]
    return "\n".join(out) + "\n"


def _rule(rule: registry.Rule) -> list[str]:
    option = f"; tested with `check {rule.option}`" if rule.option else ""
    out = [f"**{rule.name}**, {'an' if rule.severity == 'error' else 'a'} {rule.severity}{option}."]
    for paragraph in rule.page.split("\n\n"):
        if paragraph.startswith("    "):
            text = inspect.cleandoc("\n" + paragraph)
            if out[-1] == "```":
                out[-1:] = ["", text, "```"]
            else:
                out += ["", "```c", text, "```"]
            continue
        text = _linked(quote(" ".join(paragraph.split())))
        title = next((title for title in TITLES if text.startswith(title)), "")
        out += ["", f"**{title}**{text[len(title):]}" if title else text]
    return [*out, "", *_detectors(rule)]


def _detectors(rule: registry.Rule) -> list[str]:
    """The detectors, and what each found in unseen games."""
    if not rule.is_family:
        (only,) = rule.detectors
        return [f"**Faults found in games that it had not been shown:** {only.rate}.",
                *(f"\nMissed: {quote(one)}." for one in only.rate.missed)]
    out = ["| detector | found in games that it had not been shown | what it looks for | missed |",
           "|---|---|---|---|"]
    for each in rule.detectors:
        level = "" if each.level == registry.STABLE else f" (`{each.level}`)"
        out.append(f"| {each.name}{level} | {each.rate} | {quote(each.summary)} | "
                   f"{quote('; '.join(each.rate.missed))} |")
    return out


def _linked(text: str) -> str:
    """Turn codes of other rules into links."""
    return re.sub(r"(?<![`\w\[])PUF\d{3}(?![`\w\]])",
                  lambda code: f"[{code[0]}](#{code[0].lower()})", text)


# ---- settings ------------------------------------------------------------------------------------

def settings() -> str:
    """Every key of the table."""
    out = ["# Settings", "",
           MADE, "",
           ("Defaults < `NAME.ini` < `--config FILE` < command line. Every key is an option of "
            "every command that takes settings:"), "",
           "    puffer-sdk train my_env --train.learning-rate 0.01 --vec.total_agents=1_024", "",
           ("Numbers may be written `1e8` or `100_000_000`, switches `true`, `false`, `1` or `0`. "
            "`puffer-sdk config my_env` shows the value that holds and where it came from. "
            "`[env]` goes to the environment: its keys are fields of the env struct. "
            "`[sweep]` is read by `puffer-sdk sweep`, where its keys are options, too. "
            "`[build]` names [headers and libraries]"
            "(../tutorials/ocean.md#third-party-libraries)."), ""]
    for section, cls in table.SECTIONS.items():
        rows = table.used_keys(section)
        if not rows:
            continue
        out += [f"## [{section}]", "", cls.__doc__, "", "| key | default | value | meaning |",
                "|---|---|---|---|"]
        for key in rows:
            default = key.default_doc or f"`{table.show(key.default)}`" if key.default != "" \
                else key.default_doc or "empty"
            meaning = key.help + (f" (`auto`: {key.auto})" if key.auto else "")
            out.append(f"| `{key.name}` | {default} | {key.expected} | {meaning} |")
        out.append("")
    out += ["## Aliases", "", "| key | stands for |", "|---|---|"]
    out += [f"| `{key.full}` | `{key.target}` |" for key in table.KEYS.values()
            if key.status == table.ALIAS]
    out += ["", "## Keys of earlier versions", "",
            "Old runs and inis hold them. They are read as a value of another key.", "",
            "| key | becomes | meaning |", "|---|---|---|"]
    out += [f"| `{key.full}` | `{key.target}` | {key.help} |" for key in table.KEYS.values()
            if key.status == table.FORMER]
    out += ["", "## PufferLib's keys without effect here", "",
            "What they ask for does not exist here, self-play for one. In an ini they cost a "
            "warning: one for all where the binding is written by hand, else one each. On the "
            "command line they are refused.", ""]
    for section in table.SECTIONS:
        keys = [f"`{key.name}`" for key in table.KEYS.values()
                if key.status == table.IGNORED and key.section == section]
        if keys:
            out.append(f"- `[{section}]`: {', '.join(keys)}")
    return "\n".join(out) + "\n"


# ---- Python --------------------------------------------------------------------------------------

def python() -> str:
    """The public names of the package, from their signatures and docstrings."""
    out = ["# Python", "", MADE, "", *_docstring(puffer_sdk.__doc__, dedent=False), "",
           "Errors carry the [statuses](exit-status.md) of the command line. Settings are given by "
           "their full names, as in `{\"train.learning_rate\": 0.02}`.", ""]
    for name in puffer_sdk.__all__:
        if name.startswith("__"):
            continue
        thing = getattr(puffer_sdk, name)
        out += ["", f"## {name}", ""]
        out += _class(name, thing) if inspect.isclass(thing) else _function(f"puffer_sdk.{name}",
                                                                            thing)
    out += ["", "## Below Trainer", "",
            "`puffer_sdk.training.native` holds what `Trainer` is made of.", ""]
    for module, name in (("native_ppo", "NativePPO"), ("actor", "NativeActor")):
        found = getattr(importlib.import_module(f"puffer_sdk.training.native.{module}"), name)
        out += ["", f"### {name}", "", *_docstring(found.__doc__)]
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
            out += ["", f"### {name}.{key}", "",
                    *_function(f"{name[0].lower()}{name[1:]}.{key}", _without_self(member))]
    if properties:
        out += ["", "| attribute | |", "|---|---|"]
        out += [f"| `{key}` | {quote(' '.join(text.split()))} |" for key, text in properties]
    return out


def _members(kind: type) -> dict:
    """Its own members, then those of its non-public base classes."""
    found = {}
    for base in kind.__mro__:
        if base is kind or (base.__module__.startswith("puffer_sdk.")
                            and getattr(puffer_sdk, base.__name__, None) is not base):
            found = {**found, **{key: member for key, member in vars(base).items()
                                 if key not in found}}
    return found


def _without_self(function):
    def bound():
        """Stands for the method: only its signature and docstring are read."""
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
