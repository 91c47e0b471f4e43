"""`puffer-sdk eval`: parse, play, print the table."""
from __future__ import annotations

import json
from pathlib import Path

import click

from .. import paths, ui
from .options import env_argument, format_option, runs_dir_option, takes_settings, verbose_option


@click.command()
@env_argument
@takes_settings
@click.option("--load-model-path", "model", metavar="PATH", default="latest", show_default=True,
              help="'latest', a run's number or folder, or a checkpoint file.")
@click.option("--baselines", is_flag=True, help="Only random and idle play: no policy needed.")
@click.option("--greedy", is_flag=True, help="Take the likeliest action instead of drawing one.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path),
              help="Where the episodes go [default: episodes.json in the run's folder].")
@runs_dir_option
@format_option
@verbose_option
def command(env, settings, model, baselines, greedy, output, runs_dir, format_, verbose):
    """Measure a policy of ENV against random and idle play.

    Episodes start from fixed seeds ([eval] seed), so the numbers can be compared. Environments
    without endings are judged over [eval] steps ticks of each agent. Where the ini states a goal,
    the status is 1 when it is not met.
    """
    from ..evaluating import evaluate

    bar = ui.Progress()
    with bar:
        result = evaluate(env, settings, model=None if baselines else model, output=output,
                          runs_dir=runs_dir, greedy=greedy, on_progress=bar.update,
                          verbose=verbose)
    if format_ == "json":
        ui.out(json.dumps(result.to_dict()))
        raise SystemExit(int(result.solved is False))
    print_table(result)
    if result.path:
        ui.out(f"episodes  {paths.shown(result.path)}")
    if result.goal and "trained" in result.scores:
        said = {True: "met", False: "not met", None: "not among what is measured here"}
        ui.out(f"goal      {result.goal}: {said[result.solved]}")
    raise SystemExit(int(result.solved is False))


def print_table(result) -> None:
    """One column a policy, one row a measure: mean, and half the width of its interval."""
    from rich.table import Table

    scores = list(result.scores.values())
    for unit in dict.fromkeys(score.unit for score in scores):
        group = [score for score in scores if score.unit == unit]
        names = list(dict.fromkeys(name for score in group for name in score.mean))
        table = Table(title=f"{result.env}, {unit}", title_justify="left", box=None,
                      title_style="bold", header_style="dim", padding=(0, 0, 0, 4), pad_edge=False)
        table.add_column("", no_wrap=True)
        for score in group:
            table.add_column(score.policy, justify="right", no_wrap=True,
                             style="bold cyan" if score.policy == "trained" else None)
        for name in names:
            if name == "log_entries" and not any(score.mean.get(name) for score in group):
                continue            # an environment that logs nothing
            table.add_row(name.replace("_", " "), *(
                measure(score.mean.get(name), score.interval.get(name)) for score in group))
        table.add_row("agents" if unit != "per episode" else "episodes",
                      *(f"{score.count:,}" for score in group), style="dim")
        ui.out_renderable(table)
    for score in scores:
        if score.unfinished:
            ui.warn(f"{score.policy} play: {score.unfinished:,} agents did not finish within "
                    f"{score.ticks:,} ticks; the means are of those that did",
                    hint="a larger --eval.steps waits longer")


def measure(mean: float | None, half: float | None) -> str:
    """'0.973 ± 0.010'"""
    if mean is None:
        return "-"
    digits = 3 if abs(mean) < 100 else 1
    return f"{mean:,.{digits}f}" + (f" ± {half:,.{digits}f}" if half is not None else "")
