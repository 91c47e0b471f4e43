"""Play policies against each other.  contestants, fixed seeds, swapped sides -> who won"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Any

from ..base.errors import UsageError
from ..env import child_process
from ..env.child_pipe import Link
from ..interop.python_envs import env_source, makers
from ..scoring.facing import facing
from ..scoring.games import Games, plan_games
from ..scoring.intervals import share_interval
from ..scoring.play_episodes import Play
from ..scoring.score import Score, score_of
from ..settings import torch_class
from ..training.metrics import without_nan
from .players import (
    BOT,
    SELF,
    Contestant,
    PlayersJob,
    find_contestant,
    make_contestant,
    make_sides,
)
from .scoring import report

GAMES = 400             # of each pair, unless told otherwise
MOST = 16               # contestants


@dataclass(frozen=True)
class Pairing:
    """The games of two contestants, each in either seat equally often.

    share       of the first: wins and half of the draws, of all games
    low, high   ends of its 95 % interval: Wilson's, over pairs of games that begin alike
    seats       share of the first in even seats, and in odd ones; None where it had none
    """

    first: str
    second: str
    games: int
    wins: int
    draws: int
    losses: int
    share: float
    low: float
    high: float
    seats: tuple[float | None, float | None]
    first_return: float         # mean over games, for each of its agents
    second_return: float
    length: float               # ticks

    @classmethod
    def of(cls, first: str, second: str, score: Score) -> Pairing:
        """From the score of the first against the second."""
        won = [game["win_rate"] for game in score.episodes]
        drawn = sum(int(game["draw_rate"]) for game in score.episodes)
        wins = won.count(1.0)
        share, low, high = share_interval(won, [game["env"] for game in score.episodes])
        even, odd = ([game["win_rate"] for game in score.episodes if game["seat"] == seat]
                     for seat in (0, 1))
        means = [float(score.mean[name] or 0.0)
                 for name in ("episode_return", "opponent_return", "episode_length")]
        return cls(first, second, len(won), wins, drawn, len(won) - wins - drawn, share, low, high,
                   (_mean(even), _mean(odd)), *means)


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


@dataclass(frozen=True)
class Match:
    """What match() found. The seeds are those of [eval] seed."""

    env: str
    seed: int
    players: tuple[str, ...]
    pairings: tuple[Pairing, ...] = field(repr=False)

    def to_dict(self) -> dict[str, object]:
        """JSON-able; a number that is not finite becomes None."""
        return {"env": self.env, "seed": self.seed, "players": list(self.players),
                "pairings": [without_nan(asdict(pairing)) for pairing in self.pairings]}

    def _repr_html_(self) -> str:
        """A table, where a notebook shows it."""
        rows = "".join(
            f"<tr><td>{escape(each.first)}</td><td>{escape(each.second)}</td><td>{each.wins}</td>"
            f"<td>{each.draws}</td><td>{each.losses}</td><td>{each.share:.3f} "
            f"[{each.low:.3f}, {each.high:.3f}]</td></tr>" for each in self.pairings)
        return (f"<table><caption>{escape(self.env)}</caption><tr><th></th><th>against</th>"
                f"<th>won</th><th>drawn</th><th>lost</th><th>share</th></tr>{rows}</table>")


@dataclass(frozen=True)
class MatchJob(PlayersJob):
    """What the child needs."""

    contestants: tuple[Contestant, ...] = field(kw_only=True)


def match(env: str | Path | Callable[..., object] | None = None,
          players: Sequence[str | Path] = ("best", "random"),
          settings: Mapping[str, object] | None = None, *, games: int = GAMES,
          greedy: bool = False, ini: Path | None = None, runs_dir: Path | None = None,
          on_progress: Callable[[str, int, int], None] | None = None, verbose: bool = False
          ) -> Match:
    """Play policies of ENV against each other, each pair of them.

    players       two or more: "random", "idle", "bot:LEVEL" (the header's c_bot, or
                  puf_set_bot_policy), "best" or "latest", a run's number or folder, weights
    games         of each pair, or a few more; half of them from the same seeds with swapped seats
    greedy        policies take the likeliest action instead of drawing one
    ini           a file of settings over the environment's own ini
    on_progress   called as on_progress(pair, done, total)
    A game is won by the side with the larger return: the mean over its agents of their rewards.
    Raises UsageError where the environment declares no teams, or a policy does not fit it;
    BuildError; RunError if the environment fails.
    """
    if not 2 <= len(players) <= MOST:
        raise UsageError("a match is between two players or more", actual=len(players),
                         expected=f"2 to {MOST}: random, idle, bot:LEVEL, runs or weights")
    if games < 1:
        raise UsageError("a match has a game or more", expected="1 or more", actual=games)
    settings = with_games(settings, games)
    source = env_source.find(makers.as_name(env), ini)
    torch_class.name_given(source, settings)
    found = contestants_of(players, source, settings, runs_dir, verbose=verbose)
    prepared = source.prepare(settings, verbose=verbose)
    job = prepared.job(MatchJob, model=None, greedy=greedy, contestants=found)

    def on_event(kind: str, payload: Any) -> None:
        if kind == "progress" and on_progress:
            on_progress(payload["policy"], payload["done"], payload["total"])

    pairings = child_process.run("puffer_sdk.policy.match:work", job, on_event, cwd=prepared.cwd,
                                 step_timeout=prepared.patience)
    return Match(prepared.spec.name, prepared.config.eval.seed,
                 tuple(each.name for each in found),
                 tuple(Pairing(**{**each, "seats": tuple(each["seats"])}) for each in pairings))


def with_games(settings: Mapping[str, object] | None, games: int) -> dict[str, object]:
    """The settings of a match of so many games, for what plays or films it."""
    return {**(settings or {}), "eval.episodes": games}


def contestants_of(players: Sequence[str | Path],
                   source: env_source.CompiledSource | env_source.PythonSource,
                   settings: Mapping[str, object] | None, runs_dir: Path | None, *,
                   verbose: bool = False) -> tuple[Contestant, ...]:
    """The contestants by their names; one that plays inside the env is never the first."""
    found = [find_contestant(str(text), source, settings, runs_dir, verbose=verbose)
             for text in players]
    if any(each.kind == SELF for each in found):
        raise UsageError("self is an opponent of eval, not of a match", actual=SELF,
                         expected="random, idle, bot:LEVEL, a run or weights")
    return tuple(sorted(found, key=lambda each: each.kind == BOT))


def work(job: MatchJob, link: Link) -> list[dict[str, object]]:
    """The child's target: a Pairing for each pair, as dicts."""
    library, resolved = job.open(), job.config
    agents = library.agents_per_env(resolved.env, link.watches(library.armed))
    whole = plan_games(resolved, agents)
    found = []
    for first, second in combinations(job.contestants, 2):
        makes = [make_contestant(who, job, library) for who in (first, second)]
        with make_sides(library, resolved, link, whole.envs, second) as vec:
            play = Play(vec, facing(makes)(vec, resolved), whole,
                        f"{first.name} against {second.name}", Games)
            entries = play.run(lambda: link.stop, lambda play: report(play, link))
        if link.stop:
            break
        found.append(asdict(Pairing.of(first.name, second.name, score_of(entries, first.name))))
    return found
