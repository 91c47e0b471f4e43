"""`puffer-sdk play`: parse, open the window, say how it went."""
from __future__ import annotations

import click

from ..base import ui
from . import completing
from .options import env_argument, runs_dir_option, takes_settings, verbose_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk play my_env", "the newest policy plays; SHIFT and you do"),
    ("puffer-sdk play my_env --watch", "save the header, and the same moment goes on"),
    ("puffer-sdk play my_env --load-model-path none", "without a policy")],
    statuses={0: "the window was closed", 3: "it does not compile",
              4: "there is no screen, or the environment died"})
@env_argument
@takes_settings
@click.option("--load-model-path", "model", metavar="MODEL", default="latest", show_default=True,
              shell_complete=completing.models_or_none,
              help="'latest', a run's number or folder, a checkpoint file, or 'none': dice play.")
@click.option("--watch", is_flag=True, help="Rebuild when a file is saved, and go on.")
@click.option("--seed", type=click.IntRange(0), metavar="N",
              help="Of the first game.  [default: eval.seed]")
@click.option("--greedy", is_flag=True, help="Take the likeliest action instead of drawing one.")
@click.option("--paused", is_flag=True, help="Begin paused.")
@click.option("--ticks", type=click.IntRange(1), metavar="N", help="End after so many.")
@runs_dir_option
@verbose_option
def command(env, settings, model, watch, seed, greedy, paused, ticks, runs_dir, verbose):
    """Open a window and play ENV. Hold SHIFT to drive; otherwise the policy does.

    \b
    SHIFT        hold it: your keys act            P            pause
    .  ,         one tick forward, one back        - =          slower, faster
    F1           the panel: what the agent sees    F2           policy or dice
    F5  F6       again, next seed                  [ ]          another agent
    F12          a picture, NAME-001.png           Ctrl+F12     a GIF, on and off
    ESC          end

    Which keys act is c_keys in NAME.c. Without one, digits choose the first head's action and
    arrows push continuous ones.
    """
    from ..playing.play import play

    bar = ui.Progress()
    with bar:
        played = play(env, settings, model=None if model == "none" else model, runs_dir=runs_dir,
                      seed=seed, greedy=greedy, watch=watch, paused=paused, ticks=ticks,
                      on_said=ui.say, on_progress=bar.update, verbose=verbose)
    ui.out(f"played  {played.ticks:,} ticks, {played.episodes:,} episodes")
