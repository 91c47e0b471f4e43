"""`puffer-sdk match`: an environment, two players or more -> who wins how often, a recording"""
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base import ui
from ..base.errors import UsageError
from ..interop.python_envs.makers import is_name
from .cmd_eval import print_recording, read_shot, recording_options
from .options import (
    env_argument,
    format_option,
    runs_dir_option,
    takes_settings,
    trust_option,
    verbose_option,
)
from .pages import Page

if TYPE_CHECKING:
    from ..policy.match import Match


@click.command(cls=Page, examples=[
    ("puffer-sdk match my_env best random", "how often the newest policy beats random play"),
    ("puffer-sdk match my_env 7 3 bot:2 --games 1000", "two runs and a scripted player, each pair"),
    ("puffer-sdk match my_env 7 3 --gif match.gif", "also record a game as a GIF")],
    groups={"Recording": ["gif", "mp4", "frames", "episodes", "ticks", "fps", "env_index", "grid",
                          "width", "force"]},
    statuses={0: "done", 2: "invalid option, setting or checkpoint; the environment has no teams",
              3: "it does not compile",
              4: "the environment died or hung, or a file cannot be written"})
@env_argument
@click.argument("players", nargs=-1, metavar="PLAYER...")
@takes_settings
@click.option("--games", type=int, metavar="N", help="Games of each pair.  [default: 400]")
@click.option("--greedy", is_flag=True, help="Take the most likely action instead of sampling.")
@recording_options
@runs_dir_option
@format_option
@trust_option
@verbose_option
def command(env: str | None, players: tuple[str, ...], settings: dict[str, str], games: int | None,
            greedy: bool, ini: Path | None, runs_dir: Path | None, format_: str, verbose: bool,
            **recording: Any) -> None:
    """Play policies of ENV against each other.

    PLAYER is random, idle, bot:LEVEL (the header's own), best or latest of the newest run, a run's
    number or folder, or a file of weights. Every pair plays from fixed seeds ([eval] seed), each
    side in each seat equally often.

    A game is won by the side with the larger return. A share counts wins and half of the draws; its
    95 % interval is Wilson's.
    """
    from ..policy.match import GAMES, match, with_games

    shot, film = read_shot(recording), None
    if shot and len(players) != 2:
        raise UsageError("a recording shows a match of two", where="command line",
                         expected="two players", actual=len(players))
    with ui.Progress() as bar:
        if shot and not is_name(env):       # what it draws with, before anything is played
            from ..raylib.drawing import shared
            shared("headless", on_progress=bar.update, verbose=verbose)
        games = GAMES if games is None else games
        result = match(env, players, settings, games=games, greedy=greedy, ini=ini,
                       runs_dir=runs_dir, on_progress=bar.update, verbose=verbose)
    if format_ == "text":
        print_match(result)
    if shot:
        from ..pictures.record import record_options
        from ..policy.players import is_bot
        first, second = sorted(players, key=is_bot)     # as the table has them
        with ui.Progress() as bar:
            film = record_options(shot, env, with_games(settings, games), model=None,
                                  greedy=greedy, first=first, opponent=second, ini=ini,
                                  runs_dir=runs_dir, on_progress=bar.update, verbose=verbose)
        print_recording(film, shot, text=format_ == "text")
    if format_ == "json":
        ui.out(json.dumps({**result.to_dict(), **({"recording": film.to_dict()} if film else {})}))


def print_match(result: Match) -> None:
    """One row for each pair."""
    from rich.table import Table

    table = Table(title=f"{result.env}, seeds from {result.seed}, sides swapped",
                  title_justify="left", box=None, title_style="bold", header_style="dim",
                  padding=(0, 0, 0, 3), pad_edge=False)
    for name in ("", "against", "won", "drawn", "lost", "share", "95 %", "seat 0", "seat 1",
                 "return", "length"):
        table.add_column(name, justify="left" if name in ("", "against") else "right",
                         no_wrap=True)
    for each in result.pairings:
        seats = ("-" if share is None else f"{share:.3f}" for share in each.seats)
        table.add_row(each.first, each.second, f"{each.wins:,}", f"{each.draws:,}",
                      f"{each.losses:,}", f"{each.share:.3f}", f"{each.low:.3f} to {each.high:.3f}",
                      *seats, f"{each.first_return:.3g} : {each.second_return:.3g}",
                      f"{each.length:,.1f}")
    ui.out_renderable(table)
