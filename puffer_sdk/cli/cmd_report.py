"""`puffer-sdk report`: parse, measure, write the page, print the summary."""
from __future__ import annotations

import json
from pathlib import Path

import click

from ..base import paths, ui
from .options import env_argument, format_option, takes_settings, verbose_option
from .pages import Page


@click.command(
    cls=Page, examples=[
        ("puffer-sdk report my_env", "train three times, write a page to build/"),
        ("puffer-sdk report my_env --compare old/report.json", "show the effect of a change"),
        ("puffer-sdk report gymnasium:CartPole-v1", "a Python environment")],
    statuses={0: "no problem was found",
              1: "check found errors, or the environment fails or is not deterministic"})
@env_argument
@takes_settings
@click.option("--seeds", type=click.IntRange(1, 32), default=3, show_default=True, metavar="N",
              help="Number of training runs, with consecutive seeds from train.seed.")
@click.option("--compare", metavar="BASE",
              help="Compare with BASE: an earlier report's .html or .json, or another environment, "
                   "which is then also measured.")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE.html",
              help="Output page; the summary (.md) and the data (.json) go next to it.  [default: "
                   "report.html in the environment's build/, or with the runs of one in Python]")
@click.option("--fresh", is_flag=True,
              help="Measure everything again, without results of earlier reports.")
@format_option
@verbose_option
def command(env: str | None, settings: dict[str, str], ini: Path | None, seeds: int,
            compare: str | None, output: Path | None, fresh: bool, format_: str,
            verbose: bool) -> int:
    """Measure ENV and write a report for reviewers.

    Checks, trains with several seeds, evaluates, records, compares speeds with the Squared
    template, and compiles the web page. Writes one self-contained HTML file and a summary for a
    pull request. For Python environments, C-only stages are skipped.

    Results are stored: after an interruption, the same command continues. For shorter trainings,
    set --train.total-timesteps N. The exit status is 1 if check finds errors or the environment
    fails.
    """
    from ..reporting import summary
    from ..reporting.report import report

    done = report(env, settings, ini=ini, seeds=seeds, compare=compare, output=output, fresh=fresh,
                  verbose=verbose)
    if format_ == "json":
        ui.out(json.dumps(done.data))
        return done.exit_status
    for row in summary.rows(done.data):
        ui.out(f"{row.label:<10} {row.whole}")
    if "comparison" in done.data:
        rows = done.data["comparison"]["rows"]
        for row in rows:
            if row["changed"]:
                ui.out(f"changed    {row['name']}: {row['base']} -> {row['now']} ({row['word']})")
        ui.out(f"compared   {sum(not row['changed'] for row in rows)} of {len(rows)} numbers are "
               "unchanged or within noise")
    for text in done.problems:
        ui.out(f"problem    {text}", style="bold red")
    ui.out(f"report     {paths.shown(done.html)} ({summary.size(done.html.stat().st_size)}, "
           f"{done.seconds:.0f} s)")
    ui.out(f"summary    {paths.shown(done.markdown)}")
    return done.exit_status
