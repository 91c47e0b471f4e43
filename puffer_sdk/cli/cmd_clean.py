"""`puffer-sdk clean`: delete files of build, check and train."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base import paths, ui
from ..base.errors import FINDINGS, OK, UsageError
from ..training import runs
from .options import env_argument, format_option, runs_dir_option
from .pages import Page

if TYPE_CHECKING:
    from ..projects.clean import Part


@click.command(cls=Page, examples=[
    ("puffer-sdk clean my_env", "delete libraries, programs, the web page, repro programs"),
    ("puffer-sdk clean my_env --runs", "also its runs"),
    ("puffer-sdk clean --cache --dry-run", "show the size of the cache")],
    statuses={0: "deleted", 1: "the prompt was declined", 2: "no such environment, or a run is in "
              "progress", 4: "a file cannot be deleted"})
@env_argument
@click.option("--runs", "with_runs", is_flag=True,
              help="Also delete all runs of ENV, with their policies. Asks first.")
@click.option("--cache", "with_cache", is_flag=True,
              help="Also delete the shared cache: raylib, the trainer, check's harness. Commands "
                   "rebuild it when needed.")
@click.option("--all", "everything", is_flag=True, help="Same as --runs --cache.")
@click.option("--dry-run", "-n", is_flag=True,
              help="Print what would be deleted, without deleting it.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@runs_dir_option
@format_option
def command(env: str | None, with_runs: bool, with_cache: bool, everything: bool, dry_run: bool,
            yes: bool, runs_dir: Path | None, format_: str) -> int:
    """Delete the files that other commands generated in ENV's build/.

    The next command rebuilds what it needs. Files in build/ that puffer-sdk did not create stay,
    and links are not followed. Runs and the cache are deleted only on request.
    """
    from ..projects import clean as cleaning

    with_runs, with_cache = with_runs or everything, with_cache or everything
    parts = _find(env, with_runs, with_cache, runs_dir)
    if with_runs and not dry_run:
        for run in cleaning.running(parts):
            runs.delete_run(run)       # raises, saying why; nothing is gone yet
        count = sum(len(part.runs) for part in parts)
        if count and not yes and not _agreed(parts, count):
            ui.say("nothing was deleted")
            return FINDINGS
    for part in parts if not dry_run else ():
        cleaning.remove(part)
    freed = sum(part.bytes for part in parts)
    if format_ == "json":
        ui.out(json.dumps({"dry_run": dry_run, "bytes": freed,
                           "parts": [part.to_dict() for part in parts]}, indent=2))
    else:
        _tell(parts, freed, dry_run)
    return OK


def _find(env: str | None, with_runs: bool, with_cache: bool,
          runs_dir: Path | None) -> list[Part]:
    """Parts that can be deleted. Without ENV, --cache also works outside an environment."""
    from ..projects import clean as cleaning

    parts: list[Part] = []
    if env is not None or with_runs or not with_cache or paths.is_env_folder(Path.cwd()):
        folder = _find_env(env, with_cache)
        parts += cleaning.find_build(folder)
        parts += cleaning.find_runs(folder, runs_dir) if with_runs else []
    return parts + (cleaning.find_cache() if with_cache else [])


def _find_env(env: str | None, with_cache: bool) -> Path:
    try:
        return paths.find_env(env)
    except UsageError as error:
        if env is None and with_cache:
            error.hint = "name an environment, or delete only the cache: puffer-sdk clean --cache"
        raise


def _agreed(parts: list[Part], count: int) -> bool:
    from .cmd_runs import agreed, summary

    for part in parts:
        for run in part.runs:
            ui.say(summary(run))
    return agreed("this run" if count == 1 else f"these {count} runs")


def _tell(parts: list[Part], freed: int, dry_run: bool) -> None:
    for part in parts:
        if part.goes or part.runs:
            what = [ui.plural(len(part.runs), "run")] if part.runs else []
            what.append(f"{ui.plural(part.files, 'file')}, {size(part.bytes)}")
            ui.out(f"{'would delete' if dry_run else 'deleted'}  {paths.shown(part.folder)}: "
                   + ", ".join(what))
        for path in part.kept:
            link = ", a link" if path.is_symlink() else ""
            shown = os.path.join(paths.shown(path.parent), path.name)    # a link, not its target
            ui.out(f"kept  {shown} (not created by puffer-sdk{link})")
    if not any(part.goes or part.runs for part in parts):
        ui.out("nothing to delete")
    elif len(parts) > 1:
        ui.out(f"{'would free' if dry_run else 'freed'}  {size(freed)}")


def size(count: int) -> str:
    """1.2 MB: bytes as people read them."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= one:
            return f"{count / one:.1f} {unit}"
    return f"{count} bytes"
