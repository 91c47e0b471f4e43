"""`puffer-sdk profile`: parse, train for some seconds, print where the time went."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base import ui
from .options import env_argument, format_option, takes_settings, verbose_option
from .pages import Page

if TYPE_CHECKING:
    from rich.table import Table

    from ..training.profiling import Profile

BAR = 24                # columns of the longest bar
MUON_SHARE = 0.1        # of all operations, from which on a line says what Muon costs


@click.command(cls=Page, examples=[
    ("puffer-sdk profile my_env", "a bar for each phase of training"),
    ("puffer-sdk profile my_env --seconds 10", "train longer, for less noise")])
@env_argument
@takes_settings
@click.option("--seconds", type=click.FloatRange(0.5, 600), metavar="S", default=3.0,
              show_default=True,
              help="How long to train.")
@format_option
@verbose_option
def command(env: str | None, settings: dict[str, str], ini: Path | None, seconds: float,
            format_: str, verbose: bool) -> None:
    """Show where training time on ENV goes.

    Trains for some seconds with the given settings, in a separate process. Writes no run.
    """
    from ..training.profiling import profile

    with ui.Progress() as bar:
        found = profile(env, settings, ini=ini, seconds=seconds, on_progress=bar.update,
                        verbose=verbose)
    if found is None:
        return                      # rank 0 says it
    if format_ == "json":
        ui.out(json.dumps(found.to_dict()))
        return
    print_table(found)


def _table(title: str, *columns: str) -> Table:
    """Names on the left, numbers in these columns."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim",
                  box=None, padding=(0, 0, 0, 3), pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_table(found: Profile) -> None:
    """One row per phase, with a bar on a terminal; below it, what the network costs."""
    fancy = ui.console().is_terminal
    rates = ["GFLOP/s"] if any(phase.gflops for phase in found.phases) else []
    table = _table(f"{found.env}, {found.steps_per_second:,.0f} steps/s", "share", "ns/step",
                   *rates)
    if fancy:
        table.add_column("", no_wrap=True, style="cyan")
    most = max(phase.share for phase in found.phases)
    for phase in found.phases:
        bar = ["█" * round(BAR * phase.share / most)] if fancy else []
        rate = [f"{phase.gflops:,.0f}" if phase.gflops else ""] if rates else []
        table.add_row(phase.name, f"{phase.share:.1%}", f"{phase.ns_per_step:,.0f}", *rate, *bar,
                      style="dim" if phase.share < 0.01 else None)
    ui.out_renderable(table)
    gpu: Mapping[str, Any] = found.gpu or {}
    most = gpu.get("gpus", 1) * found.matmul_gflops
    who = named(gpu) if gpu else f"{found.threads} threads"
    reach = "reaches" if gpu.get("gpus") == 1 else "reach"
    ui.out(f"products  {found.gflops:,.0f} GFLOP/s, {found.gflops / most:.0%} of the "
           f"{most:,.0f} that {who} {reach} in " + ("matrix products" if gpu else
                                                    "products of these shapes"))
    if found.muon_share >= MUON_SHARE:
        half = found.muon_share / (2 - found.muon_share)
        ui.out(f"Muon      {found.muon_gflop:,.1f} GFLOP a minibatch of any size: "
               f"{found.muon_share:.0%} of all operations, {half:.0%} with twice the "
               "train.minibatch_size")
    if gpu:
        print_kernels(found, gpu)
        return
    if found.ranks:
        print_ranks(found.ranks)
    cut = "all agents tick together" if found.lockstep else \
        f"{found.blocks} blocks of {found.block_agents} agents"
    ui.out(f"trainer   {found.path}, {found.precision}, {found.threads} threads, {cut}, "
           f"{found.bytes / 2**20:,.0f} MiB")


def print_ranks(ranks: Sequence[Mapping[str, Any]]) -> None:
    """One line for each process of the run."""
    waits = [rank["exchange"] for rank in ranks]
    for number, rank in enumerate(ranks):
        total = rank["rollout"] + rank["update"]
        others = ", the others wait for it" if waits.index(min(waits)) == number else ""
        ui.out(f"rank {number}    {rank['host']}: rollout {rank['rollout'] / total:.0%}, learning "
               f"{(rank['update'] - rank['exchange']) / total:.0%}, waiting "
               f"{rank['exchange'] / total:.0%}{others}")


def named(gpu: Mapping[str, Any]) -> str:
    return gpu["name"] if gpu["gpus"] == 1 else f"{gpu['gpus']} x {gpu['name']}"


def print_kernels(found: Profile, gpu: Mapping[str, Any]) -> None:
    """One row per kernel, slowest first; kernels below 1 % are left out."""
    major, minor = gpu["compute_capability"]
    who = "environments on the GPU too" if gpu["envs_on_gpu"] else \
        f"{found.threads} threads step environments"
    ui.out(f"trainer   {named(gpu)} (sm_{major}{minor}), {found.precision}, "
           f"{who}, {found.blocks} slices of "
           f"{found.block_agents} agents, {found.bytes / 2**20:,.0f} MiB")
    if gpu["unpinned"]:
        ui.out(f"memory    the environments' memory cannot be pinned ({gpu['unpinned']}): "
               "rows are copied once more")
    if gpu["stack"]:
        ui.out(f"stack     the environment's functions call themselves: {gpu['stack'] >> 10} KiB "
               "for each thread")
    first = "of the first: " if gpu["gpus"] > 1 else ""
    ui.out(f"GPU       {first}kernels, one after another, take {found.busy:.0%} of an epoch's "
           f"time; a copy reads and writes {(found.copy_rate or 0) / 1e9:,.0f} GB/s\n")
    title = "each kernel timed by itself" + ", on the first GPU" * bool(first)
    table = _table(title, "share", "calls/epoch", "us/call", "GB/s", "of copy", "GFLOP/s")
    for kernel in found.kernels:
        if kernel.share < 0.01:
            continue
        flops = f"{kernel.flops / 1e9:,.0f}" if kernel.flops else ""
        moved = (f"{kernel.bandwidth / 1e9:,.0f}", f"{kernel.of_copy:.0%}") \
            if kernel.bandwidth else ("", "")       # unknown for an environment
        table.add_row(kernel.name, f"{kernel.share:.1%}", f"{kernel.calls:,.0f}",
                      f"{kernel.microseconds:,.1f}", *moved, flops)
    ui.out_renderable(table)
