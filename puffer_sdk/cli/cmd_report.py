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
        ("puffer-sdk report my_env", "trains three times, writes a page in build/"),
        ("puffer-sdk report my_env --compare old/report.json", "what a change did"),
        ("puffer-sdk report gymnasium:CartPole-v1", "an environment in Python")],
    statuses={0: "no problem was found",
              1: "check found errors, or the environment fails or is not deterministic"})
@env_argument
@takes_settings
@click.option("--seeds", type=click.IntRange(1, 32), default=3, show_default=True, metavar="N",
              help="How many trainings, with seeds from train.seed on.")
@click.option("--compare", metavar="BASE",
              help="Show what changed since BASE: an earlier report's .html or .json, or another "
                   "environment, which is then measured too.")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE.html",
              help="The page. The summary (.md) and the data (.json) go next to it.  [default: "
                   "report.html in the environment's build/, or with the runs of one in Python]")
@click.option("--fresh", is_flag=True,
              help="Measure everything again, also what an earlier report measured.")
@format_option
@verbose_option
def command(env, settings, ini, seeds, compare, output, fresh, format_, verbose):
    """Measure all that a reviewer of ENV asks for, and write a page about it.

    Checks, trains with several seeds, evaluates, records, compares speeds with the Squared
    template, and compiles the web page. Writes one HTML file that needs no network, and a summary
    for a pull request. Of an environment in Python, what needs C is left out.

    Results are kept: after an interruption, the same command continues. For shorter trainings,
    set --train.total-timesteps N. The status is 1 if check finds errors or the environment fails.
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
               "unchanged, or within their noise")
    for text in done.problems:
        ui.out(f"problem    {text}", style="bold red")
    ui.out(f"report     {paths.shown(done.html)} ({summary.size(done.html.stat().st_size)}, "
           f"{done.seconds:.0f} s)")
    ui.out(f"summary    {paths.shown(done.markdown)}")
    return done.exit_status
