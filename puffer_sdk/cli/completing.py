"""What TAB offers.  a shell's words so far -> names of environments, runs, rules, settings

A shell starts a new process at each TAB. So nothing here imports more than the standard library,
click and the table of settings, and nothing may raise.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from ..base import paths, ui
from ..base.codes import CODE
from ..base.errors import PufferError
from ..projects.env_names import TEMPLATES
from ..settings import inifile
from ..settings.table import KEYS, USED
from ..training import runs

Offer = Iterator[str | CompletionItem]


def _quiet(complete: Callable[[click.Context, click.Parameter, str], Offer]
           ) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """A list of those that begin with what was typed; [] if an environment cannot be read."""
    @wraps(complete)
    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with suppress(PufferError, OSError):
            return [item if isinstance(item, CompletionItem) else CompletionItem(item)
                    for item in complete(ctx, param, incomplete)
                    if isinstance(item, CompletionItem) or item.startswith(incomplete)]
        return []
    return offer


@_quiet
def envs(ctx: click.Context, param: click.Parameter, incomplete: str) -> Offer:
    """Environments by name; folders, once it looks like a path."""
    if "/" in incomplete or incomplete.startswith((".", "~")):
        yield CompletionItem(incomplete, type="dir")
        return
    yield from (folder.name for folder in paths.known_envs())


def _runs(ctx: click.Context, env: str | None = None) -> Iterator[runs.Run]:
    env, root = env or ctx.params.get("env"), ctx.params.get("runs_dir")
    try:
        from ..interop.python_envs import env_source

        where = env_source.find(env).runs_dir(root)
    except PufferError:                     # the environment is gone, its runs may remain
        where = (root or Path("runs")) / (env or "")
    yield from reversed(runs.list_runs(where))


def _described(run: runs.Run, before: str = "") -> CompletionItem:
    return CompletionItem(f"{before}{run.number}", help=" ".join(
        ui.visible(part, line=True) for part in (run.info.get("status"), run.tag) if part))


@_quiet
def run_numbers(ctx: click.Context, param: click.Parameter, incomplete: str) -> Offer:
    """Runs of the environment on the line, newest first; also NAME/NUMBER."""
    name, slash, number = incomplete.rpartition("/")
    for run in _runs(ctx, name or None):
        if str(run.number).startswith(number):
            yield _described(run, f"{name}{slash}")


def _models(words: tuple[str, ...], ctx: click.Context, param: click.Parameter,
            incomplete: str) -> Offer:
    """What --load-model-path takes: words and runs; files, once it looks like a path."""
    if "/" in incomplete or incomplete.startswith((".", "~")):
        yield CompletionItem(incomplete, type="file")
        return
    yield from words
    for run in _runs(ctx):
        if str(run.number).startswith(incomplete):
            yield _described(run)


models = _quiet(partial(_models, ("best", "latest")))
models_or_none = _quiet(partial(_models, ("best", "latest", "none")))


@_quiet
def repros(ctx: click.Context, param: click.Parameter, incomplete: str) -> Offer:
    """Repro programs that check wrote for this environment; else files."""
    env = ctx.params.get("env")
    if not incomplete and (env is None or paths.is_env(env)):
        folder = paths.build_dir(paths.find_env(env)) / "check"
        found = [paths.shown(path) for path in sorted(folder.glob("repro_PUF???.c"))]
        yield from found
        if found:
            return
    yield CompletionItem(incomplete, type="file")


def rules() -> dict[str, str]:
    """{"PUF312": "reward-not-finite"}, from the rules' source: reading is faster than importing."""
    folder = paths.PACKAGE / "checking" / "rules"
    return {code: name for path in sorted(folder.rglob("*.py"))
            for code, name in re.findall(rf'^@(?:rule|family)\("({CODE})", "([\w-]+)"',
                                         path.read_text(encoding="utf-8"), re.MULTILINE)}


@_quiet
def rule_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> Offer:
    """PUF312, with the rule's name where the shell shows descriptions."""
    typed = incomplete.upper()
    for code, name in sorted(rules().items()):
        if code.startswith(typed):
            yield CompletionItem(code, help=name)


@_quiet
def templates(ctx: click.Context, param: click.Parameter, incomplete: str) -> Offer:
    yield from (CompletionItem(name, help=line) for name, line in TEMPLATES.items()
                if name.startswith(incomplete))
    if "/" in incomplete:
        yield CompletionItem(incomplete, type="dir")


# -- settings


def _env_keys(ctx: click.Context) -> list[str]:
    """The [env] keys in this environment's ini."""
    with suppress(PufferError, OSError):
        folder = paths.find_env(ctx.params.get("env"))
        entries, _, _ = inifile.read(folder / f"{folder.name}.ini")
        return [entry.key for entry in entries if entry.section == "env"]
    return []


def setting_names(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """--train.learning-rate and so on; only sections until one is chosen."""
    keys = [key for key in KEYS.values() if key.status == USED and key.section != "sweep"]
    names = {key.flag: key.help for key in keys}
    names |= {f"--env.{key.replace('_', '-')}": "of this environment" for key in _env_keys(ctx)}
    if "." not in incomplete:
        sections = dict.fromkeys(name.partition(".")[0] + "." for name in names)
        return [CompletionItem(section) for section in sections if section.startswith(incomplete)]
    typed = incomplete.replace("_", "-")
    return [CompletionItem(name, help=help) for name, help in names.items()
            if name.startswith(typed)]


def setting_values(flag: str, incomplete: str) -> list[CompletionItem]:
    """Choices, true and false, or nothing for numbers."""
    key = KEYS.get(flag.lstrip("-").replace("-", "_"))
    if key is None:
        return []
    words = list(key.choices)
    if not words and key.type == "bool":
        words = ["true", "false"]
    if words and key.auto:
        words = ["auto", *words]
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]
