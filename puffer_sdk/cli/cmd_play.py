"""`puffer-sdk play`: parse, open the window, print what was played."""
from __future__ import annotations

from pathlib import Path

import click

from ..base import ui
from . import completing
from .options import env_argument, runs_dir_option, takes_settings, trust_option, verbose_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk play my_env", "watch the newest policy; hold SHIFT to play"),
    ("puffer-sdk play my_env --watch", "rebuild and continue when a file is saved"),
    ("puffer-sdk play my_env --load-model-path none", "without a policy")],
    statuses={0: "the window was closed", 2: "no display", 3: "it does not compile",
              4: "the environment died"})
@env_argument
@takes_settings
@click.option("--load-model-path", "model", metavar="MODEL", default="best", show_default=True,
              shell_complete=completing.models_or_none,
              help="The policy: 'best' or 'latest' of the newest run, a run's number or folder "
                   "(its best), a checkpoint file, PufferLib's weights (.bin), or 'none' for "
                   "random actions.")
@click.option("--watch", is_flag=True, help="Rebuild when a file is saved, and continue.")
@click.option("--seed", type=click.IntRange(0), metavar="N",
              help="Seed of the first game.  [default: eval.seed]")
@click.option("--greedy", is_flag=True, help="Take the most likely action instead of sampling.")
@click.option("--paused", is_flag=True, help="Start paused.")
@click.option("--seat", type=click.IntRange(0), metavar="N", default=0, show_default=True,
              help="The agent that your keys control; the policy plays the others.")
@click.option("--ticks", type=click.IntRange(1), metavar="N", help="Stop after N ticks.")
@runs_dir_option
@trust_option
@verbose_option
def command(env: str | None, settings: dict[str, str], ini: Path | None, model: str | None,
            watch: bool, seed: int | None, greedy: bool, paused: bool, seat: int, ticks: int | None,
            runs_dir: Path | None, verbose: bool) -> None:
    """Open a window and play ENV. Hold SHIFT to play; otherwise the policy plays.

    \b
    SHIFT        hold it: your keys act            P            pause
    .  ,         one tick forward, one back        - =          slower, faster
    F1           the panel: what the agent sees    F2           policy or dice
    F5  F6       again, next seed                  [ ]          another seat
    F12          a screenshot, NAME-001.png        Ctrl+F12     a GIF, on and off
    ESC          quit

    c_keys in NAME.c (5.0: in NAME.h) maps keys to actions. Without it, digits choose the first
    head's action, and arrows change continuous actions. An id of -1 means "no key yet": the game
    waits.
    """
    from ..playing.play import play

    bar = ui.Progress()
    with bar:
        played = play(env, settings, model=None if model == "none" else model, ini=ini,
                      runs_dir=runs_dir, seed=seed, greedy=greedy, watch=watch, paused=paused,
                      seat=seat, ticks=ticks, on_said=ui.say, on_progress=bar.update,
                      verbose=verbose)
    ui.out(f"played  {ui.plural(played.ticks, 'tick')}, "
           f"{ui.plural(played.episodes, 'episode')}")
