"""`puffer-sdk runs`: list, compare and delete runs."""
from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base import files, paths, ui
from ..base.errors import FINDINGS, OK, UsageError, did_you_mean
from ..interop.python_envs.makers import is_name
from ..training import printed, run_comparison, runs
from ..training.plotting import amount
from ..training.run_table import record
from . import completing
from .options import format_option, runs_dir_option
from .pages import GroupPage, Page

if TYPE_CHECKING:
    from ..training import plotting

tag_option = click.option("--tag", metavar="TAG", help="Only runs with this label.")
env_option = click.option("--env", "-e", metavar="ENV", shell_complete=completing.envs,
                          help="The environment of the runs.  [default: the current folder]")


class _ListByDefault(GroupPage):
    """`runs`, `runs my_env` and `runs --format json` all list."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:      # a shell asks what may follow
            return super().parse_args(ctx, args)
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ListByDefault, examples=[
    ("puffer-sdk runs my_env", "all its runs, newest last"),
    ("puffer-sdk runs compare 3 7 --env my_env", "settings that differ, and the last metrics"),
    ("puffer-sdk runs plot 3 7 --env my_env", "their learning curves")])
def command() -> None:
    """List, compare, plot and delete runs.

    Without a command, it lists. Name a run by its number, by 'latest', as my_env/7, or by its
    folder.
    """


@command.command("list", cls=Page, examples=[
    ("puffer-sdk runs list my_env", "number, age, steps, speed, result, status")])
@click.argument("env", required=False, shell_complete=completing.envs)
@click.option("--sweep", metavar="N", help="The trials of a sweep of the environment, or 'latest'.")
@tag_option
@click.option("--format", "format_", type=click.Choice(["text", "json", "csv"]), default="text",
              show_default=True, help="text for people, json and csv for programs.")
@runs_dir_option
def list_command(env: str | None, sweep: str | None, tag: str | None, format_: str,
                 runs_dir: Path | None) -> None:
    """List runs: number, age, steps, speed, result, tag and status."""
    folders = [_trials(env, runs_dir, sweep)] if sweep else _all_folders(runs_dir) \
        if env is None and not paths.is_env_folder(Path.cwd()) else [_folder(env, runs_dir)]
    rows = [record(run.env if ":" in run.env else folder.parent.parent.parent.name
                 if sweep else run.env, run)
            for folder in folders for run in runs.list_runs(folder) if tag in (None, run.tag)]
    if format_ == "json":
        ui.out(json.dumps(printed.RunsDocument(runs=rows), indent=2))
    elif format_ == "csv":
        _print_csv(rows)
    elif not rows and tag is not None:
        ui.say(f"no run has the tag '{tag}'")
    elif not rows:
        ui.say(f"no runs yet; create one: puffer-sdk train {env or ''}".rstrip())
        for folder in folders if not sweep else ():
            _list_others(env, folder)
    else:
        _print_list(rows, several=len(folders) > 1)
        from ..scoring.words import FELL_HINT
        fell = [f"{row['env']}/{row['number']}: {row['fell']}" for row in rows if row["fell"]]
        if fell:
            ui.warn(f"{ui.plural(len(fell), 'run')} ended far below the best", FELL_HINT,
                    details=ui.first(fell[::-1], 5))
        damaged = [runs.Run(Path(row["folder"])).damage for row in rows
                   if row["status"] == "damaged"]
        for damage in filter(None, damaged[:5]):
            ui.warn(damage.message, details=[line.strip() for line in damage.lines()[1:]])


@command.command("compare", cls=Page, context_settings={"allow_extra_args": True}, examples=[
    ("puffer-sdk runs compare my_env/3 my_env/7", "compare settings and results")])
@click.argument("first", metavar="A", shell_complete=completing.run_numbers)
@click.argument("second", metavar="B", shell_complete=completing.run_numbers)
@env_option
@format_option
@runs_dir_option
@click.pass_context
def compare_command(ctx: click.Context, first: str, second: str, env: str | None, format_: str,
                    runs_dir: Path | None) -> None:
    """Show what differs between runs A and B: settings, code, machine; and their last metrics."""
    from ..training import symptoms

    if ctx.args:
        raise _not_two([first, second, *ctx.args])
    pair = [_find(text, env, runs_dir) for text in (first, second)]
    result = run_comparison.compare_runs(*pair)
    if format_ == "json":
        ui.out(json.dumps({"runs": [str(run.folder) for run in pair], **result}, indent=2))
        return
    names = [f"{run.env}/{run.number}" for run in pair]
    _print_pairs("settings that differ", result["settings"], names, "none")
    _print_pairs("code that differs", result["code"], names, "none")
    if result["origin"]:
        _print_pairs("where they ran", result["origin"], names, "")
    _print_pairs("last metrics", result["metrics"], names, "none yet")
    for name, run in zip(names, pair):
        goal = symptoms.missed(run.settings().get("eval.goal", ""), run.evaluation)
        for line in symptoms.symptoms_of(run, goal):
            ui.out(f"why {name} does not learn: {line}")
    from ..training import plotting
    with suppress(UsageError):          # nothing was logged yet
        _draw(*plotting.curves(pair, together=False))


def _list_others(env: str | None, folder: Path) -> None:
    """Runs of other names in the project: a renamed folder leaves its policies under the old one.
    """
    others = [] if is_name(env) else runs.under_other_names(folder)
    if not others:
        return
    ui.say("under other names there are:")
    _print_list([record(run.env, run) for other in others for run in
                 runs.list_runs(other.folder.parent)], several=True)
    ui.say(f"a policy of the same sizes can be used: puffer-sdk eval{f' {env}' if env else ''} "
           f"--load-model-path {paths.shown(others[-1].folder)}")


def _not_two(words: list[str]) -> UsageError:
    """For `compare my_env 3 7`, the way other commands name an environment: the right form."""
    names = [word for word in words if not (word.isdigit() or word == "latest" or "/" in word)]
    pair = [word for word in words if word not in names]
    if len(names) == 1 and len(pair) == 2:
        form = " ".join(word if "/" in word else f"{names[0]}/{word}" for word in pair)
    else:
        form = "my_env/3 my_env/7"
    return UsageError("compare takes two runs", where="command line", expected="A B",
                      actual=" ".join(words), hint=f"puffer-sdk runs compare {form}")


@command.command("plot", cls=Page, examples=[
    ("puffer-sdk runs plot my_env/3", "in the terminal"),
    ("puffer-sdk runs plot 3 4 5 --env my_env -o curves.svg", "seeds of the same settings: a band"),
    ("puffer-sdk runs plot --env my_env --tag five", "all runs with this label"),
    ("puffer-sdk runs plot --env my_env --metric score", "the newest run")])
@click.argument("names", nargs=-1, metavar="[RUN]...", shell_complete=completing.run_numbers)
@click.option("--metric", "-m", metavar="NAME",
              help="Metric to plot: a name in the environment's log, or a key of metrics.jsonl.  "
                   "[default: the goal's, else perf]")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE",
              help="Image file: FILE.svg, .png or .html.  [default: draw in the terminal]")
@tag_option
@env_option
@runs_dir_option
def plot_command(names: tuple[str, ...], metric: str | None, output: Path | None, tag: str | None,
                 env: str | None, runs_dir: Path | None) -> None:
    """Draw learning curves of runs; runs of the same code that differ only in their seed are one
    curve and a band.

    The band is the 95 % interval of the mean over seeds (bootstrap). Without a name it draws the
    newest run. Files need matplotlib: the extra [plot].
    """
    from ..training import plotting

    chosen = [run for run in runs.list_runs(_folder(env, runs_dir)) if run.tag == tag] \
        if tag is not None and not names else \
        list(dict.fromkeys(_find(text, env, runs_dir) for text in names or ["latest"]))
    chosen = [run for run in chosen if tag in (None, run.tag)]
    if not chosen:
        raise UsageError(f"no run has the tag '{tag}'", where="--tag",
                         hint="puffer-sdk runs lists them; train --tag gives one")
    plotted, found = plotting.curves(chosen, metric)
    if output:
        ui.out(f"plotted  {paths.shown(plotting.save(plotted, found, output))}")
    else:
        _draw(plotted, found)


def _draw(metric: str, found: list[plotting.Curve]) -> None:
    from ..training import plotting

    fancy = ui.console().is_terminal
    ui.out_plain(plotting.terminal(metric, found, width=ui.width() or 80, colour=fancy))


@command.command("delete", cls=Page, examples=[
    ("puffer-sdk runs delete my_env/1 my_env/2", "asks first"),
    ("puffer-sdk clean my_env --runs", "removes all of them")],
    statuses={0: "deleted", 1: "the prompt was declined",
              2: "there is no such run, or it is running"})
@click.argument("numbers", nargs=-1, required=True, metavar="N...",
                shell_complete=completing.run_numbers)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@env_option
@runs_dir_option
def delete_command(numbers: tuple[str, ...], yes: bool, env: str | None,
                   runs_dir: Path | None) -> int:
    """Delete runs permanently. If one of them is running, none is deleted."""
    chosen = list(dict.fromkeys(_find(text, env, runs_dir) for text in numbers))
    for run in chosen:
        if run.status == "running":
            runs.delete_run(run)    # raises, saying why
    if not yes:
        for run in chosen:
            ui.say(summary(run))
        if not agreed("this run" if len(chosen) == 1 else f"these {len(chosen)} runs"):
            ui.say("nothing was deleted")
            return FINDINGS
    for run in chosen:
        name = run.env
        runs.delete_run(run)
        ui.say(f"deleted {name}/{run.folder.name}")
    return OK


def agreed(what: str) -> bool:
    """Ask on stderr. Raises UsageError if nobody can answer."""
    ui.say(f"delete {what} permanently? [y/N]")
    answer = sys.stdin.readline()
    if not answer:
        raise UsageError("cannot ask for confirmation: this is not a terminal",
                         where="standard input", hint="add --yes")
    return answer.strip().lower() in ("y", "yes")


# -- which folder


def _roots(runs_dir: Path | None) -> list[Path]:
    """Folders that may hold NAME/NNNN."""
    if runs_dir is not None:
        return [paths.runs_root(runs_dir, runs_dir)]
    here = Path.cwd()
    homes = [here, paths.project_root(here), *(paths.runs_home(env) for env in paths.known_envs()
                                               if here in env.parents)]
    return list(dict.fromkeys(map(paths.runs_root, homes)))


def _all_folders(runs_dir: Path | None) -> list[Path]:
    """Every environment's folder of runs below the roots."""
    found: dict[str, Path] = {}
    for root in _roots(runs_dir):
        for folder in runs.folders_of_runs(root):
            inside = folder.is_relative_to(root)        # not where a link led
            found.setdefault(str(folder.relative_to(root)) if inside else folder.name, folder)
    return list(found.values())


def _folder(env: str | None, runs_dir: Path | None) -> Path:
    """The folder of one environment's runs, even if the environment is gone."""
    if env is None and not paths.is_env_folder(Path.cwd()):
        folders = _all_folders(runs_dir)
        if len(folders) == 1:
            return folders[0]
        names = [run.env for folder in folders if (run := runs.latest_run(folder))]
        raise UsageError("name the environment of the runs", where=Path.cwd(),
                         hint=f"--env {names[0]}, or {names[0]}/NUMBER" if names
                         else "there are no runs yet: puffer-sdk train")
    try:
        from ..interop.python_envs import env_source

        return env_source.find(env).runs_dir(runs_dir)
    except UsageError as error:
        known = {folder.name: folder for folder in _all_folders(runs_dir)}
        if env in known:
            return known[env]
        error.hint = did_you_mean(env or "", known) or error.hint
        raise


def _find(text: str, env: str | None, runs_dir: Path | None) -> runs.Run:
    """The run that '7', 'latest', 'squared/7' or a path names."""
    name, slash, number = text.rpartition("/")
    if Path(text).is_dir() or not slash:
        return runs.find_run(files.typed(text).parent if slash else _folder(env, runs_dir),
                             text, "")
    return runs.find_run(_folder(name, runs_dir), number, "")


# -- what is shown


def _trials(env: str | None, runs_dir: Path | None, which: str) -> Path:
    """The folder of a sweep's trials."""
    from ..sweeping.sweep import find_sweep

    return find_sweep(_folder(env, runs_dir) / "sweeps", which) / "trials"


_COLOURS = {"running": "cyan", "finished": "green", "interrupted": "yellow", "failed": "red",
            "killed": "red", "damaged": "red"}


def _print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """A line of names, then one for each run; hosts with spaces between."""
    file = io.StringIO()
    names = list(rows[0]) if rows else ["env", "number", "status"]
    table = csv.DictWriter(file, names, lineterminator="\n")
    table.writeheader()
    table.writerows({**row, "hosts": " ".join(row["hosts"])} for row in rows)
    ui.out_plain(file.getvalue())


def _print_list(rows: Sequence[Mapping[str, Any]], several: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (["env"] if several else []) + ["run"]:
        table.add_column(name, justify="left" if name == "env" else "right")
    # what a game of teams has, and what an environment of Gymnasium has in place of a score
    shown = ["win_rate"] * any(row["win_rate"] is not None for row in rows) + ["perf", "score"]
    shown += ["episode_return"] * any(row["perf"] is None and row["score"] is None
                                      and row["episode_return"] is not None for row in rows)
    for name in ("age", "steps", "SPS", *(
            name.removeprefix("episode_").replace("_", " ") for name in shown)):
        table.add_column(name, justify="right")
    codes = ["code"] * (len({(row["env"], row["code"]) for row in rows})
                        > len({row["env"] for row in rows}))
    shared = ["processes"] * any(row["processes"] > 1 for row in rows)
    for name in (*shared, *codes, "status", "tag"):
        table.add_column(name)
    for row in rows:
        cells = ([row["env"]] if several else []) + [str(row["number"]), age(row["started"])]
        cells += [amount(row["step"]), amount(row["sps"]), *(number(row[name]) for name in shown)]
        cells += [_where(row) for _ in shared] + [row["code"] or "-" for _ in codes]
        table.add_row(*cells, Text(row["status"], _COLOURS[row["status"]]),
                      ui.visible(row["tag"], line=True))
    ui.out_renderable(table)


def _where(row: Mapping[str, Any]) -> str:
    """"4 on a, b": how many processes share the run, and where."""
    if row["processes"] == 1:
        return "1"
    more = f" and {len(row['hosts']) - 2} more" if len(row["hosts"]) > 2 else ""
    return f"{row['processes']} on {', '.join(row['hosts'][:2])}{more}"


def _print_pairs(title: str, pairs: Mapping[str, Sequence[object]], names: list[str],
                 nothing: str) -> None:
    from rich.table import Table

    if not pairs:
        ui.out(f"{title}: {nothing}")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title)
    for name in names:
        table.add_column(name, justify="right")
    for key, pair in pairs.items():
        table.add_row(*(ui.visible(cell, line=True) for cell in (key, *map(number, pair))))
    ui.out_renderable(table)


def summary(run: runs.Run) -> str:
    row = record(run.env, run)
    parts = [f"{row['env']}/{row['number']}", row["status"], f"{amount(row['step'])} steps",
             f"{age(row['started'])} old"]
    parts += [f"perf {number(row['perf'])}"] if row["perf"] is not None else []
    return "  " + ", ".join(parts + ([row["tag"]] if row["tag"] else []))


def age(started: str | None) -> str:
    """'3 min': the time since then, in its largest unit."""
    try:
        then = datetime.fromisoformat(started or "")
        seconds = (datetime.now(timezone.utc) - then).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def number(value: object) -> str:
    """Four digits of a number; a text unchanged; '-' for None."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return str(value)
