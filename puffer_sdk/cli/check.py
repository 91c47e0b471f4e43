"""puffer-sdk check: run the rules, print what they found."""
from __future__ import annotations

import json
import sys

import click

from .. import ui
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
@click.option("--stats", is_flag=True,
              help="Print the table of what was observed, even if it is long.")
@click.option("--replay", metavar="FILE",
              help="Compile and run a build/check/repro_PUFnnn.c again.")
@verbose_option
def command(env, settings, strict, seed, budget, format_, stats, replay, verbose):
    """Find the bugs that silently ruin training.

    Builds ENV twice (fast, and with sanitizers), plays it in processes of their own under
    random, sticky and held actions, and reports each fault with its file and line. The exit
    status is 1 if there are errors. `puffer-sdk explain CODE` explains a rule.
    """
    if replay is not None:
        return _replay(replay, env, verbose)
    from ..checking import check
    from ..checking.report import lines

    result = check(env, settings=settings, strict=strict, seed=seed, budget=budget,
                   verbose=verbose)
    if format_ == "json":
        ui.out(json.dumps(result.to_dict(), indent=2))
    else:
        for text, style in lines(result, strict=strict, stats=stats,
                                 encoding=sys.stdout.encoding):
            ui.out(text, style=style)
    return result.exit_status


def _replay(file: str, env, verbose: bool) -> int:
    """Play one finding again: 1 if it still fails, 0 if it is mended."""
    from ..checking import replaying

    replayed = replaying.replay(file, env, verbose=verbose)
    for text, style in replayed.lines:
        ui.out(text, style=style)
    return replayed.exit_status
