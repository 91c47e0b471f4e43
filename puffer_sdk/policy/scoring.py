"""Score players in a child process.  job -> one Score a player

Where no episode of random play ends, the others play as long as it did: it goes first, and shows
which kind an environment is.
"""
from __future__ import annotations

import math
import time
from dataclasses import asdict, replace

from ..env.link import Link
from ..scoring.playing import Play, make_envs, plan
from ..scoring.score import ENDLESS, Score, comparable, score_of
from .players import PlayersJob, load_players


def work(job: PlayersJob, link: Link) -> dict:
    """The child's target: one Score a player, as dicts."""
    resolved, library = job.config, job.open()
    scores: dict[str, Score] = {}
    agents = library.agents_per_env(resolved.env, link.watches(library.armed))
    whole = plan(resolved, agents)
    for name, make_player in load_players(job, library).items():
        if link.stop:
            break
        random, most = scores.get("random"), whole
        if random and random.unit == ENDLESS:
            most = replace(whole, most=random.ticks)
        vec = make_envs(library, resolved, link, whole.envs)
        play = Play(vec, make_player(vec, resolved), most, name)
        end = time.monotonic() + job.seconds if job.seconds else math.inf
        play.run(lambda end=end: link.stop or time.monotonic() > end,
                 lambda play: report(play, link))
        vec.close()
        scores[name] = score_of(play.entries, name)
    found = {score.policy: asdict(score) for score in comparable(scores.values())}
    return {name: found[name] for name in ("trained", "random", "idle") if name in found}


def report(play: Play, link: Link) -> None:
    entries = play.entries
    if entries.ended.any() or entries.alone.any():
        done, total = int(entries.done.sum()), len(entries.done)
    else:
        done, total = entries.tick, play.plan.most
    link.emit("progress", policy=play.name, done=done, total=total)
