"""The same play again, in other circumstances.  Desk -> a trace; two traces -> Difference

A trace is what an environment said, step by step: some seeds, and for each a number of steps of
random actions through several episodes. WAYS says what is different each time; nothing of that may
change a bit.
"""
from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import clock, poison
from .acting import STICKY, UNIFORM
from .playing import ByAgent, Desk, Player, Turn
from .python_facts import Compared, Difference, number

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


class Shown(NamedTuple):
    """What an agent was shown: the numbers, or where these are many their hash."""

    row: NDArray[np.float64] | str
    told: tuple[float | bool, ...]      # (reward, terminated, truncated); () by reset
    mask: bytes | None


@dataclass
class Seen:
    """A reset or a step, and the reset that followed it."""

    agents: dict[str, Shown]
    opening: Seen | None = None

    @property
    def names(self) -> str:
        return ", ".join(sorted([*self.agents, *(["opening"] if self.opening else [])]))


@dataclass
class Trace:
    """plays: for each seed, for each step what was seen; infos: of the first reset and step."""

    plays: list[list[Seen]] = field(default_factory=list)
    infos: list[bytes] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return sum(len(play) - 1 for play in self.plays)


def reseed(python: int = 11, numpy: int = 11) -> None:
    """Set the generators that the whole process shares."""
    random.seed(python)
    np.random.seed(numpy)


def make(desk: Desk, **keywords: object) -> Player:
    with clock.counting():          # the time of its making may be in its infos
        return Player(desk, checked=False, **keywords)


def record(desk: Desk, player: Player, *, lengths: list[int] | None = None, seed: int | None = None,
           backwards: bool = False, between: Callable[[], None] | None = None,
           after: Callable[[Player, ByAgent, Turn], None] | None = None,
           patience: float = PATIENCE) -> Trace:
    """Play, and write down what comes back.

    lengths     steps for each seed; None: as many as there is time for
    backwards   the last seed is played first
    between     called before each step
    after       called as after(player, actions, turn) after each step
    """
    wanted = lengths or [max(8, min(LONGEST, desk.unit // SHARE))] * PLAYS
    trace, watch = Trace(), clock.Stopwatch()
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
                play[-1].opening = seen_of(player, None)
            if lengths is None and watch.seconds > patience:
                trace.plays = [each for each in trace.plays if each]
                return trace
    return trace


def seen_of(player: Player, turn: Turn | None) -> Seen:
    obs = player.obs if turn is None else turn.obs
    found = {}
    for agent, ob in obs.items():
        row = player.flat(agent, ob)
        mask = player.masks.get(agent)
        found[str(agent)] = Shown(
            row if len(row) <= SHOWN else hashlib.blake2b(row.tobytes(), digest_size=8).hexdigest(),
            () if turn is None else (number(turn.rewards.get(agent)), *(
                bool(np.any(part.get(agent))) for part in (turn.terminated, turn.truncated))),
            None if mask is None else mask.tobytes())
    return Seen(found)


def _info(infos: ByAgent) -> bytes:
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
                return replace(found, play=index, step=step)
        if len(first) != len(second):
            break                       # the next play follows another one
    if one.infos[:1] != other.infos[:1] or (len(one.infos) == len(other.infos)
                                            and one.infos != other.infos):
        pair = next((a, b) for a, b in zip(one.infos, other.infos) if a != b)
        mine, theirs = (each.decode().splitlines() for each in pair)
        entries = next(((x, y) for x, y in zip(mine, theirs) if x != y),
                       (f"{len(mine)} entries", f"{len(theirs)} entries"))
        return Difference(0, one.infos.index(pair[0]), "info", one=entries[0][:60],
                          other=entries[1][:60])
    return None


def step_difference(a: Seen, b: Seen) -> Difference | None:
    """What differs first between two steps; its play and step are 0."""
    if a.agents.keys() != b.agents.keys():
        return Difference(0, 0, "agents", one=a.names, other=b.names)
    if (a.opening is None) != (b.opening is None):
        return Difference(0, 0, "ending", one=a.names, other=b.names)
    for agent, one in a.agents.items():
        other = b.agents[agent]
        if isinstance(one.row, str) or isinstance(other.row, str):
            if not (isinstance(one.row, str) and isinstance(other.row, str)
                    and one.row == other.row):
                return Difference(0, 0, "observation", agent)
        elif one.row.tobytes() != other.row.tobytes():
            wrong = np.flatnonzero(~((one.row == other.row) | (
                np.isnan(one.row) & np.isnan(other.row)))).tolist() \
                if len(one.row) == len(other.row) else []
            if wrong:
                element = int(wrong[0])
                return Difference(0, 0, "observation", agent, element, float(one.row[element]),
                                  float(other.row[element]))
        for name, x, y in zip(("reward", "terminated", "truncated"), one.told, other.told):
            if x != y and not (x != x and y != y):
                return Difference(0, 0, name, agent, one=x, other=y)
        if one.mask != other.mask:
            return Difference(0, 0, "action_mask", agent)
    return step_difference(a.opening, b.opening) if a.opening and b.opening else None


def traces(desk: Desk) -> Trace:
    """Every way but those of other experiments. Sends what differs; returns the first trace."""
    reseed()
    poison.fill(1)
    first_player = make(desk)
    first = record(desk, first_player)
    lengths = [len(play) - 1 for play in first.plays]

    def compare(way: str, python: int = 11, numpy: int = 11) -> bool:
        other = _one(desk, way, lengths, first_player, python, numpy)
        found = difference(first, other)
        desk.put(Compared(way, found, other.steps))
        return found is None

    if desk.alone or compare("again"):
        compare("memory")
        compare("played")
        if not desk.alone:
            compare("beside")
        compare("random", python=12)
        compare("numpy", numpy=12)
        compare("seeded")
    reseed()
    first_player.close()
    return first


def _one(desk: Desk, way: str, lengths: list[int], played: Player, python: int, numpy: int
         ) -> Trace:
    reseed(python, numpy)
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
