"""`puffer-sdk list`: the environments that the other commands find by name."""
from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from ..base import paths, ui
from ..base.errors import PufferError
from ..base.spec import Spec
from ..env import header, job
from ..settings import inifile
from ..settings.config import find_ini
from ..training.run_comparison import Best, best_score
from ..training.runs import list_runs
from .options import format_option, runs_dir_option
from .pages import Page

_SETS_AGENTS = re.compile(r"\b(num|max)_agents\s*=(?!=)")


@click.command(cls=Page, examples=[
    ("puffer-sdk list", "names that other commands accept as ENV")])
@format_option
@runs_dir_option
def command(format_: str, runs_dir: Path | None) -> None:
    """List the environments that commands find by name.

    It searches the current folder, examples/, ocean/, and the environments of puffer-sdk itself.
    """
    folders = paths.known_envs()
    here = Path.cwd()
    if paths.is_env_folder(here):
        folders = [here, *(folder for folder in folders if folder != here)]
    rows: list[_Row] = []
    with ui.Progress() as bar:
        for folder in folders:
            bar.update("environments", len(rows), len(folders))
            rows.append(_describe(folder, runs_dir))
    if format_ == "json":
        ui.out(json.dumps({"environments": [asdict(row) for row in rows]}, indent=2))
    elif not rows:
        ui.say("no environments here; create one: puffer-sdk new my_env")
    else:
        _print(rows)


@dataclass
class _Row:
    """An environment. What cannot be read is None, so broken environments are listed too."""

    name: str
    where: str
    agents: int | None
    obs: str | None
    actions: str | None
    runs: int
    best: Best | None
    problem: str | None


def _describe(folder: Path, runs_dir: Path | None) -> _Row:
    runs = list_runs(paths.runs_dir(folder, runs_dir))
    row = _Row(folder.name, _relative(folder), None, None, None, len(runs), best_score(runs), None)
    try:
        spec = header.read(folder)
    except PufferError as error:
        row.problem = error.message
        return row
    except Exception as error:  # noqa: BLE001 (one environment must not hide the others)
        row.problem = f"{type(error).__name__}: {error}"
        return row
    size = _tidy(spec.obs_size) if spec.obs_count is None else spec.obs_count
    row.obs = f"{size} {spec.obs_dtype}"
    row.actions = spec.act_sizes
    if spec.act_widths:
        row.actions = "{" + ", ".join(map(str, spec.act_widths)) + "}"
    row.agents = _agents(folder, spec)
    return row


def _agents(folder: Path, spec: Spec) -> int | None:
    """Agents of one env: [env] num_agents; where init or a binding sets them, what it sets."""
    sources = [path for path in paths.c_files(folder) if path.name != f"{spec.name}.c"]
    try:
        if any(_SETS_AGENTS.search(paths.text(path)) for path in sources):
            return job.count_agents(folder)
        ini = find_ini(folder)
        entries = inifile.read(ini)[0] if ini else []
        return next((int(entry.text) for entry in entries
                     if (entry.section, entry.key) == ("env", spec.rows_field)), 1)
    except (PufferError, OSError, ValueError):
        return None


def _tidy(macro: str | None) -> str:
    """'( env -> size * env -> size )' as 'size * size'."""
    text = re.sub(r"\benv\s*->\s*", "", macro or "?").strip()
    inner = text[1:-1].strip()
    return inner if text.startswith("(") and "(" not in inner else text


def _relative(folder: Path) -> str:
    shown = os.path.relpath(folder)
    return str(folder) if shown.startswith("..") else shown


def _obs(obs: str) -> str:
    """The observation, for the table: long expressions become a word."""
    size, dtype = obs.rsplit(" ", 1)
    return f"{size if len(size) < 16 else 'by settings'} {dtype}"


def _print(rows: list[_Row]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("name", "where"):
        table.add_column(name, no_wrap=True)
    table.add_column("agents", justify="right")
    table.add_column("observation")
    table.add_column("actions")
    table.add_column("best", justify="right")
    for row in rows:
        best = row.best
        shown = f"{best['metric']} {best['value']:.3g} (run {best['run']})" if best else "-"
        bundled = Path(row.where).parent == paths.data_dir("examples")
        cells = [row.name, "bundled" if bundled else row.where,
                 "-" if row.agents is None else str(row.agents)]
        cells += [_obs(row.obs), row.actions or "-"] if row.obs else ["does not build", "-"]
        table.add_row(*(ui.visible(cell, line=True) for cell in (*cells, shown)))
    ui.out_renderable(table)
    for row in rows:
        if row.problem:
            ui.say(f"{row.name}: {row.problem}\n  hint: puffer-sdk check {row.where}")
