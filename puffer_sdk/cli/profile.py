"""`puffer-sdk profile`: train for some seconds, print where they went."""
from __future__ import annotations

import json

import click

from .. import ui
from .options import env_argument, format_option, takes_settings, verbose_option

BAR = 24                # columns of the longest bar


@click.command()
@env_argument
@takes_settings
@click.option("--seconds", type=click.FloatRange(0.5, 600), default=3.0, show_default=True,
              help="How long to train.")
@format_option
@verbose_option
def command(env, settings, seconds, format_, verbose):
    """Show where the time of training on ENV goes.

    Trains for some seconds with the settings given, in a process of its own, and writes no run.
    """
    from ..profiling import profile

    with ui.Progress() as bar:
        found = profile(env, settings, seconds=seconds, on_progress=bar.update, verbose=verbose)
    if format_ == "json":
        ui.out(json.dumps(found.to_dict()))
        return
    print_table(found)


def print_table(found) -> None:
    """A row a phase, with a bar on a terminal; below it what the network costs."""
    from rich.table import Table

    fancy = ui.console().is_terminal
    table = Table(title=f"{found.env}, {found.steps_per_second:,.0f} steps/s",
                  title_justify="left", title_style="bold", header_style="dim", box=None,
                  padding=(0, 0, 0, 3), pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("ns/step", justify="right", no_wrap=True)
    if fancy:
        table.add_column("", no_wrap=True, style="cyan")
    most = max(phase.share for phase in found.phases)
    for phase in found.phases:
        bar = ["█" * round(BAR * phase.share / most)] if fancy else []
        table.add_row(phase.name, f"{phase.share:.1%}", f"{phase.ns_per_step:,.0f}", *bar,
                      style="dim" if phase.share < 0.01 else None)
    ui.out_renderable(table)
    share = found.gflops / found.matmul_gflops
    ui.out(f"network   {found.gflops:,.0f} GFLOP/s, {share:.0%} of the "
           f"{found.matmul_gflops:,.0f} that {found.threads} threads reach in products alone")
    cut = "all agents tick together" if found.lockstep else \
        f"{found.blocks} blocks of {found.block_agents} agents"
    ui.out(f"trainer   {found.path}, {found.precision}, {found.threads} threads, {cut}, "
           f"{found.bytes / 2**20:,.0f} MiB")
