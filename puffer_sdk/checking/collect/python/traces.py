"""The same play again, in other circumstances.  Desk -> a trace; two traces -> Difference

A trace is what an environment said, step by step: some seeds, and for each a number of steps of
random actions through several episodes. WAYS says what is different each time; nothing of that may
change a bit.
"""
from __future__ import annotations

import hashlib
import random
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np

from . import clock, poison
from .acting import STICKY, UNIFORM
from .playing import Desk, Player, Stopwatch, number
from .python_facts import Compared, Difference

SHOWN = 256             # numbers of an observation that are kept as they are
PLAYS = 3               # seeds
SHARE = 16              # of the long play: steps for each seed
LONGEST = 512
PATIENCE = 1.5          # seconds of the first trace
WAYS = {
    "again": "a second instance in the same process",
    "random": "with Python's random in another state",
    "numpy": "with numpy.random in another state",
    "memory": "with other bytes in the memory that numpy.empty returns",
    "played": "an instance that has played before",
    "beside": "next to another instance",
    "seeded": "from other seeds: the only one in which something should differ",
    "process": "in another process",
    "drawn": "with render() after each step",
    "overwritten": "where the actions that it was given are overwritten",
}


@dataclass
class Trace:
    """plays: for each seed, for each step: {agent: (observation, reward, terminated, truncated)};
    infos: of the first reset and step."""

    plays: list[list[dict]] = field(default_factory=list)
    infos: list[bytes] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return sum(len(play) - 1 for play in self.plays)


def reseed(python: int = 11, numpy: int = 11) -> None:
    """Set the generators that the whole process shares."""
    random.seed(python)
    np.random.seed(numpy)


def make(desk: Desk, **options) -> Player:
    with clock.counting():          # the time of its making may be in its infos
        return Player(desk, **options)


def record(desk: Desk, player: Player, *, lengths: list[int] | None = None, seed: int | None = None,
           backwards: bool = False, between=None, after=None, patience: float = PATIENCE) -> Trace:
    """Play, and write down what comes back.

    lengths     steps for each seed; None: as many as there is time for
    backwards   the last seed is played first
    between     called before each step
    after       called as after(player, actions, turn) after each step
    """
    wanted = lengths or [max(8, min(LONGEST, desk.unit // SHARE))] * PLAYS
    trace, watch = Trace(), Stopwatch()
    trace.plays = [[] for _ in wanted]
    for index, length in sorted(enumerate(wanted), reverse=backwards):
        base = (desk.seed if seed is None else seed) + 101 * index
        actor = player.actor(4, index, style=(UNIFORM, STICKY)[index % 2])
        with clock.counting() if index == 0 else nullcontext():
            player.reset(base)
        play = trace.plays[index] = [seen_of(player, None)]
        if index == 0:
            trace.infos.append(_info(player.infos))
        while len(play) <= length:
            if between:
                between()
            actions = actor.choose(player.living, player.masks)
            with clock.counting() if index == 0 and len(play) == 1 else nullcontext():
                turn = player.step(actions)
            play.append(seen_of(player, turn))
            if index == 0 and len(play) == 2:
                trace.infos.append(_info(turn.infos))
            if after:
                after(player, actions, turn)
            if turn.over:
                player.reset()
                play[-1]["opening"] = seen_of(player, None)
            if lengths is None and watch.seconds > patience:
                trace.plays = [each for each in trace.plays if each]
                return trace
    return trace


def seen_of(player: Player, turn) -> dict:
    obs = player.obs if turn is None else turn.obs
    found = {}
    for agent, ob in obs.items():
        row = player.flat(agent, ob)
        shown = row if len(row) <= SHOWN else hashlib.blake2b(row.tobytes(),
                                                              digest_size=8).hexdigest()
        mask = player.masks.get(agent)
        told = () if turn is None else (number(turn.rewards.get(agent)), *(
            bool(np.any(part.get(agent))) for part in (turn.terminated, turn.truncated)))
        found[str(agent)] = (shown, *told, None if mask is None else mask.tobytes())
    return found


def _info(infos: dict) -> bytes:
    """What infos hold that can be compared: numbers, texts and arrays."""
    found = []
    for agent, info in infos.items():
        for key, value in sorted(info.items(), key=str) if isinstance(info, dict) else ():
            if not isinstance(value, (bool, int, float, str, np.ndarray, np.generic)):
                continue
            if isinstance(value, np.ndarray) and value.dtype == object:
                continue
            found.append(f"{agent}.{key}={value!r}")
    return "\n".join(found).encode()


def difference(one: Trace, other: Trace) -> Difference | None:
    """The first place where two traces differ, as far as both go."""
    for index, (first, second) in enumerate(zip(one.plays, other.plays)):
        for step, (a, b) in enumerate(zip(first, second)):
            found = step_difference(a, b)
            if found:
                return Difference(index, step, **found)
        if len(first) != len(second):
            break                       # the next play follows another one
    if one.infos[:1] != other.infos[:1] or (len(one.infos) == len(other.infos)
                                            and one.infos != other.infos):
        pair = next((a, b) for a, b in zip(one.infos, other.infos) if a != b)
        lines = [each.decode().splitlines() for each in pair]
        a, b = next(((a, b) for a, b in zip(*lines) if a != b), (f"{len(lines[0])} entries",
                                                                 f"{len(lines[1])} entries"))
        return Difference(0, one.infos.index(pair[0]), "info", one=a[:60], other=b[:60])
    return None


def step_difference(a: dict, b: dict) -> dict | None:
    if a.keys() != b.keys():
        return {"array": "agents" if a.keys() - {"opening"} != b.keys() - {"opening"}
                else "ending", "one": ", ".join(sorted(a)), "other": ", ".join(sorted(b))}
    for agent in a:
        if agent == "opening":
            found = step_difference(a[agent], b[agent])
            if found:
                return found
            continue
        (row, *told), (row_b, *told_b) = a[agent], b[agent]
        if isinstance(row, str) or isinstance(row_b, str):
            if row != row_b:
                return {"array": "observation", "agent": agent}
        elif row.tobytes() != row_b.tobytes():
            wrong = np.flatnonzero(~((row == row_b) | (np.isnan(row) & np.isnan(row_b)))) \
                if len(row) == len(row_b) else ()
            if len(wrong):
                element = int(wrong[0])
                return {"array": "observation", "agent": agent, "element": element,
                        "one": float(row[element]), "other": float(row_b[element])}
        for name, x, y in zip(("reward", "terminated", "truncated"), told[:-1], told_b[:-1]):
            if x != y and not (x != x and y != y):
                return {"array": name, "agent": agent, "one": x, "other": y}
        if told[-1:] != told_b[-1:]:
            return {"array": "action_mask", "agent": agent}
    return None


def traces(desk: Desk) -> Trace:
    """Every way but those of other experiments. Sends what differs; returns the first trace."""
    reseed()
    poison.fill(1)
    first_player = make(desk)
    first = record(desk, first_player)
    lengths = [len(play) - 1 for play in first.plays]

    def compare(way: str, **circumstances) -> bool:
        other = _one(desk, way, lengths, first_player, **circumstances)
        found = difference(first, other)
        desk.put(Compared(way, found, other.steps))
        return found is None

    if compare("again"):
        compare("memory")
        compare("played")
        compare("beside")
        compare("random", python=12)
        compare("numpy", numpy=12)
        compare("seeded")
    reseed()
    first_player.close()
    return first


def _one(desk: Desk, way: str, lengths: list[int], played: Player, **generators) -> Trace:
    reseed(**generators)
    poison.fill(2 if way == "memory" else 1)
    if way == "played":
        played.reset(desk.seed + 5000)
        _spend(desk, played, 2 * max(lengths))
        reseed()
        return record(desk, played, lengths=lengths, backwards=True)
    player = make(desk)
    if way == "beside":
        return _beside(desk, player, lengths)
    found = record(desk, player, lengths=lengths,
                   seed=desk.seed + 9000 if way == "seeded" else None)
    player.close()
    return found


def _spend(desk: Desk, player: Player, steps: int) -> None:
    """Play on for a while, and stop in the middle of an episode."""
    actor = player.actor(5, style=STICKY)
    for _ in range(steps):
        if player.step(actor.choose(player.living, player.masks)).over:
            player.reset()
    if player.step_number == 0:
        player.step(actor.choose(player.living, player.masks))


def _beside(desk: Desk, player: Player, lengths: list[int]) -> Trace:
    """Another instance, of another seed, takes a step before each of this one's."""
    other = Player(desk)
    actor = other.actor(6)
    other.reset(desk.seed + 7000)

    def between() -> None:
        if other.step(actor.choose(other.living, other.masks)).over:
            other.reset()
    found = record(desk, player, lengths=lengths, between=between)
    other.close()
    player.close()
    return found
