"""Score players in a child process.  job -> one Score a player

Random play goes first. If none of its episodes ends, the others play as long as it did. If not all
episodes of a player end, rates per 1000 ticks are compared, and players that finished sooner play
once more, for the whole span.
"""
from __future__ import annotations

import math
import time
from dataclasses import asdict, replace

from ..env.child_pipe import Link
from ..env.library import EnvLibrary
from ..scoring.baselines import MakePlayer
from ..scoring.entries import Entries
from ..scoring.games import Games
from ..scoring.play_episodes import Plan, Play
from ..scoring.score import ENDLESS, Score, comparable, score_of
from .players import (
    Contestant,
    PlayersJob,
    find_opponent,
    load_players,
    make_sides,
    plan_of,
)


def work(job: PlayersJob, link: Link) -> dict[str, dict[str, object]]:
    """The child's target: one Score a player, as dicts."""
    resolved, library = job.config, job.open()
    scores: dict[str, Score] = {}
    agents = library.agents_per_env(resolved.env, link.watches(library.armed))
    opponent = find_opponent(job, library, link, agents)
    whole = replace(plan_of(resolved, agents, opponent), rating=bool(job.seconds))
    players = load_players(job, library, opponent)
    for name, make_player in players.items():
        random, most = scores.get("random"), whole
        if random and random.unit == ENDLESS:
            most = replace(whole, most=random.ticks)
        if not link.stop:
            scores[name] = play(job, library, link, most, name, make_player, opponent)
    if not all(score.whole for score in scores.values()):
        span = max(score.span for score in scores.values())
        for name in [name for name, score in scores.items() if score.span < span]:
            if not link.stop:
                scores[name] = play(job, library, link, replace(whole, rating=True), name,
                                    players[name], opponent)
    found = {score.policy: asdict(score) for score in comparable(scores.values())}
    return {name: found[name] for name in ("trained", "random", "idle") if name in found}


def play(job: PlayersJob, library: EnvLibrary, link: Link, wanted: Plan, name: str,
         make_player: MakePlayer, opponent: Contestant | None = None) -> Score:
    """The score of one player."""
    with make_sides(library, job.config, link, wanted.envs, opponent) as vec:
        found = Play(vec, make_player(vec, job.config), wanted, name,
                     Games if opponent else Entries)
        end = time.monotonic() + job.seconds if job.seconds else math.inf
        return score_of(found.run(lambda: link.stop or time.monotonic() > end,
                                  lambda found: report(found, link)), name,
                        opponent.name if opponent else "")


def report(play: Play, link: Link) -> None:
    entries = play.entries
    if entries.ended.any() or entries.alone.any():
        done, total = int(entries.done.sum()), len(entries.done)
    else:
        done, total = entries.tick, play.plan.most
    link.emit("progress", policy=play.name, done=done, total=total)
