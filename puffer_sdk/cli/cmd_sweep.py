"""`puffer-sdk sweep`: parse, search, print what was found."""
from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base import paths, processes, ui
from ..base.errors import UsageError
from .options import env_argument, format_option, runs_dir_option, takes_settings, trust_option
from .pages import Page

if TYPE_CHECKING:
    from ..interop.python_envs.env_source import CompiledSource, PythonSource
    from ..sweeping.results import SweepResult

MAP = "sweeps.html"
OPTIONS = {"seconds": "seconds", "runs": "max_runs", "workers": "workers", "only": "only",
           "method": "method", "metric": "metric", "cost": "cost"}


@click.command(cls=Page, context_settings={"allow_extra_args": True}, examples=[
    ("puffer-sdk sweep my_env --seconds 600", "search for ten minutes"),
    ("puffer-sdk sweep my_env --best", "print the best settings"),
    ("puffer-sdk sweep gymnasium:CartPole-v1 --runs 40", "a Python environment")],
    groups={"Several machines": ["storage", "join", "name", "serve"],
            "Results": ["show", "best", "map_", "output"],
            "Loggers": ["tag", "wandb", "tensorboard"]},
    statuses={0: "the sweep ended", 2: "invalid option, setting or range",
              3: "it does not compile", 4: "the storage does not answer, or the disk is full",
              130: "Ctrl-C; --resume continues"})
@env_argument
@takes_settings
@click.option("--seconds", metavar="S", help="Time limit of the sweep in seconds, including the "
              "verdict; 0 for no limit.  [default: 600, or no limit with --runs]")
@click.option("--runs", metavar="N", help="Number of trials.  [default: no limit]")
@click.option("--workers", metavar="N", help="Trials in parallel.  [default: one a core]")
@click.option("--only", metavar="NAMES", help="Search only these, such as lr,gamma,train.horizon.")
@click.option("--method", metavar="NAME", help="gp (or protein), tpe, random.  [default: gp]")
@click.option("--metric", metavar="NAME", help="Metric to optimize: a value of the environment's "
              "log, or time_to_goal.  [default: what the goal names, or score]")
@click.option("--minimize", is_flag=True, help="Minimize the metric.")
@click.option("--cost", metavar="KIND", help="Count costs in cpu or wall seconds, or in compute.  "
              "[default: cpu]")
@click.option("--seeds", type=click.IntRange(0, 1000), default=None,
              help="Unseen seeds on which best and default are compared; 0 for no verdict.  "
              "[default: 5]")
@click.option("--resume", is_flag=False, flag_value="latest", metavar="[SWEEP]",
              help="Continue a sweep.  [default: the newest]")
@click.option("--storage", metavar="URL", help="Store trials there: postgresql://USER@HOST/NAME or "
              "grpc://HOST:PORT.  [default: a journal in the sweep's folder]")
@click.option("--join", metavar="TARGET", help="Join a sweep as another worker: its folder, or the "
              "URL of its storage.")
@click.option("--name", metavar="NAME", help="The sweep to join, where a storage has several.")
@click.option("--serve", metavar="PORT", type=click.IntRange(1, 65535),
              help="Serve the newest sweep's journal to other machines, as grpc://HOST:PORT.")
@click.option("--show", is_flag=False, flag_value="latest", metavar="[SWEEP]",
              help="Print the table of a sweep.")
@click.option("--best", is_flag=False, flag_value="latest", metavar="[SWEEP]",
              help="Print the best settings as an ini.")
@click.option("--map", "map_", is_flag=True, help="Draw several sweeps on one page: name each by "
              "its environment, as my_env/2, or by its folder.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path),
              help="The page of --map.  [default: sweeps.html]")
@click.option("--tag", default="", help="A label for the trials' runs.")
@trust_option
@click.option("--wandb", is_flag=True, help="Also log trials to Weights & Biases.")
@click.option("--tensorboard", is_flag=True, help="Also write TensorBoard files.")
@runs_dir_option
@format_option
@click.pass_context
def command(ctx: click.Context, /, env: str | None, settings: dict[str, str], seeds: int | None,
            map_: bool, output: Path | None, resume: str | None, storage: str | None,
            join: str | None, name: str | None, serve: int | None, show: str | None,
            best: str | None, tag: str, wandb: bool, tensorboard: bool, minimize: bool,
            ini: Path | None, runs_dir: Path | None, format_: str, **options: str | None) -> None:
    """Tune the hyperparameters of ENV for score per compute.

    ENV is a folder, a name, or a Python environment.

    The environment's own settings run first. A sampler then proposes trials, each a separate run.
    At the end, the best trial and the default are rerun on unseen seeds, and a verdict states
    whether the gain is significant. [sweep.SECTION.KEY] in the ini defines the search space;
    without any, a default space is used.
    """
    from ..interop.python_envs import env_source
    from ..sweeping import sweep as sweeping

    if storage:
        sweeping.name_storage(storage)
    if map_:
        _draw_map([*([env] if env else []), *ctx.args], runs_dir, output)
        return
    if ctx.args:
        raise UsageError("one environment at a time", where="command line",
                         actual=" ".join([env or "", *ctx.args]), hint="--map draws several sweeps")
    source = env_source.find(env)
    home = sweeping.sweeps_dir(source, runs_dir)
    asked = dict(settings)
    for option, key in OPTIONS.items():
        value = options[option]
        if value is not None:
            asked[f"sweep.{key}"] = value
    if "sweep.max_runs" in asked and "sweep.seconds" not in asked and not resume:
        asked["sweep.seconds"] = "0"
    if minimize:
        asked["sweep.goal"] = "minimize"
    if shown := show or best:
        _print(sweeping.find_sweep(home, shown), format_, ini=bool(best))
    elif serve:
        from ..sweeping.serving import serve as run_server
        run_server(sweeping.find_sweep(home, resume or "latest"), serve)
    elif join:
        if ini:
            asked["config"] = str(ini)
        _join(join, source, runs_dir, name, tag, wandb, tensorboard, asked)
    else:
        from ..sweeping.board import Board
        with Board() as board:
            result = sweeping.sweep(env, asked, resume=resume, storage=storage, runs_dir=runs_dir,
                                    seeds=seeds, tag=tag, wandb=wandb, tensorboard=tensorboard,
                                    ini=ini, show_table=board, age=processes.age())
        _report(result, format_, env, runs_dir)


def _join(target: str, source: CompiledSource | PythonSource, runs_dir: Path | None,
          name: str | None, tag: str, wandb: bool, tensorboard: bool,
          asked: dict[str, str]) -> None:
    from ..sweeping.joining import join as work

    if asked:
        raise UsageError("a worker that joins takes its settings from the sweep",
                         where="--join", actual=", ".join(f"--{name}" for name in asked),
                         hint="leave them out")
    ui.say(f"joined {target}; Ctrl-C leaves, and another worker goes on")
    count = work(target, source, source.runs_dir(runs_dir), name=name, tag=tag,
                 wanted={"wandb": wandb, "tensorboard": tensorboard})
    ui.say(f"the sweep has {ui.plural(count, 'trial')} now")


def _draw_map(names: list[str], runs_dir: Path | None, output: Path | None) -> None:
    from ..base import files
    from ..interop.python_envs import env_source
    from ..sweeping import results
    from ..sweeping.page.sweep_page import render_map
    from ..sweeping.sweep import find_sweep, open_sweep, sweeps_dir

    found = []
    for name in names or [""]:
        if name and (Path(name) / "sweep.json").is_file():
            place = find_sweep(Path(name).parent, name)
        else:
            env, slash, number = name.rpartition("/")
            if not slash or not number.isdecimal():
                env, number = name, "latest"
            place = find_sweep(sweeps_dir(env_source.find(env or None), runs_dir), number)
        store, plan = open_sweep(place)
        found.append(results.as_json(results.find_result(place, store, plan, store.trials())))
    save, output = (files.save_typed, output) if output else (files.save, Path.cwd() / MAP)
    save(output, render_map(found), what="the map")
    ui.out(f"page     {paths.shown(output)}")


def _print(place: Path, format_: str, ini: bool) -> None:
    from ..sweeping import results
    from ..sweeping.sweep import open_sweep

    store, plan = open_sweep(place)
    found = results.find_result(place, store, plan, store.trials())
    if ini:
        ui.out(found.ini_of(found.best_trial).rstrip())
    elif format_ == "json":
        ui.out(json.dumps(results.as_json(found), indent=1))
    else:
        ui.out_renderable(results.table(found))
        for line in results.failures(found):
            ui.out(line, style="yellow")
        _say_verdict(found)


def _report(result: SweepResult, format_: str, env: str | None, runs_dir: Path | None) -> None:
    from ..sweeping import results

    if format_ == "json":
        ui.out(json.dumps(results.as_json(result), indent=1))
        return
    count = results.counts(result.trials)
    top = result.best_trial
    ui.out(f"swept    {ui.plural(count['done'], 'trial')}, {count['stopped']} stopped early, "
           f"{count['failed']} failed")
    ui.out(f"best     trial {top.number}: {results.result_of(result.plan, top)}")
    _say_verdict(result)
    found = str(paths.shown(result.folder / "best.ini"))
    ui.out(f"copy     {found}")
    ui.out(f"page     {paths.shown(result.folder / 'sweep.html')}")
    words = ["puffer-sdk", "train", *([env] if env else []), "--config", found,
             *(["--runs-dir", str(runs_dir)] if runs_dir else [])]
    ui.out(f"next     {shlex.join(words)}")


def _say_verdict(result: SweepResult) -> None:
    """The verdict, or why there is none; the settings that it leaves open; what was lost."""
    from ..scoring.words import FELL_HINT
    from ..sweeping import results

    if fell := results.fallen(result):
        ui.warn(fell, FELL_HINT)
    ui.out(f"verdict  {result.verdict.sentence}" if result.verdict else
           f"verdict  none: {result.unjudged}")
    if result.untried:
        ui.out(f"untried  {result.untried}")
