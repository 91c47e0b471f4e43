"""puffer-sdk check: run the rules, print what they found."""
from __future__ import annotations

import json

import click

from .. import ui
from ..errors import UsageError
from .options import env_argument, takes_settings, verbose_option


@click.command()
@env_argument
@takes_settings
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--seed", type=click.IntRange(0), default=42, show_default=True,
              help="Of the environments and of the actions that are tried.")
@click.option("--budget", type=click.FloatRange(0.01, 1000), default=1.0, show_default=True,
              help="Factor on the length of every experiment.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text",
              show_default=True, help="text for people, json for programs.")
@click.option("--mutate", is_flag=True,
              help="Plant faults into a copy of ENV, and report which ones check and the tests of "
                   "[check] test catch.")
@click.option("--mutants", type=click.IntRange(1, 10_000), default=24, show_default=True,
              help="With --mutate: how many, at most.")
@click.option("--learn", is_flag=True,
              help="Train for some seconds as well: is there anything to learn, and do the "
                   "observations carry it? Needs PyTorch.")
@click.option("--learn-seconds", type=click.FloatRange(1, 3600), default=12, show_default=True,
              help="With --learn: about how long. The number of steps follows from it.")
@verbose_option
def command(env, settings, strict, seed, budget, format_, mutate, mutants, learn, learn_seconds,
            verbose):
    """Find the bugs that silently ruin training.

    Builds ENV twice (fast, and with sanitizers), plays it in processes of their own under
    random, sticky and held actions, and reports each fault with its file and line. The exit
    status is 1 if there are errors. `puffer-sdk explain CODE` explains a rule.
    """
    if mutate and learn:
        raise UsageError("--mutate and --learn are two runs", where="command line",
                         hint="first --learn, then --mutate")
    if mutate:
        return show_mutants(env, settings, strict, seed, budget, format_, mutants)
    from ..checking import check
    from ..checking.report import lines

    with ui.Progress() as progress:
        result = check(env, settings=settings, strict=strict, seed=seed, budget=budget,
                       learn=learn, learn_seconds=learn_seconds, on_progress=progress.update,
                       verbose=verbose)
    if format_ == "json":
        ui.out(json.dumps(result.to_dict(), indent=2))
    else:
        for text, style in lines(result, strict=strict):
            ui.out(text, style=style)
    return result.exit_status


def show_mutants(env, settings, strict, seed, budget, format_, count):
    """check --mutate: the exit status is 1 if, with --strict, a planted fault went unnoticed."""
    from ..checking import mutation

    with ui.Progress() as progress:
        result = mutation.run(env, settings=settings, count=count, seed=seed, budget=budget,
                              on_progress=progress.update)
    if format_ == "json":
        ui.out(json.dumps(result.to_dict(), indent=2))
    else:
        for text, style in mutation.lines(result):
            ui.out(text, style=style)
    return result.exit_status(strict)
