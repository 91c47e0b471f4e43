"""A long play of random, sticky, extreme and held actions.  Desk -> Play, Long, Oddities"""
import os
import sys
from collections import defaultdict
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from .acting import CORNERS, HELD, STICKY, UNIFORM, Actor
from .clock import Stopwatch
from .playing import Desk, Player, Turn
from .python_facts import Episode, Long, Play, number
from .watching import Sizes, Watch

Rows = dict[Hashable, NDArray[np.float64]]      # observations, by agent
STYLES = (UNIFORM, UNIFORM, STICKY, CORNERS, UNIFORM, HELD)
KEPT = 1024             # rewards of an episode that are kept
TIMED = 64              # steps of an episode, in which elements are compared with others'
WIDE = 4096             # numbers of an observation, up to which bytes and times are followed
LONG = 30_000           # steps of the quick play
PATIENCE = 3.0          # seconds of it
MOST = 4.0              # seconds of the long play, where steps take longer than those timed
STEP = 8                # by which a byte may move, and count as smooth


def play(desk: Desk) -> Play:
    """The long play, with every return compared with what was declared."""
    player = Player(desk, checked=True)
    record = _Record(player, player.plan.sizes)
    watching, sizes = Watch(desk), Sizes(player.inner)
    cut = max(desk.unit // 4, 8)
    number_of = steps = 0
    most = MOST * max(1.0, desk.budget)
    printed, watch = _printed(), Stopwatch()
    while steps < desk.unit and watch.seconds < most:
        actor = player.actor(2, number_of, style=STYLES[number_of % len(STYLES)])
        seeded = number_of % 2 == 0
        player.reset(desk.seed + number_of if seeded else None)
        sizes.look()
        if number_of == 0:
            printed = _printed()
            watching.start()
        record.begin(seeded)
        over = False
        while not over and steps < desk.unit and player.step_number < cut \
                and watch.seconds < most:
            actions = actor.choose(player.living, player.masks)
            turn = player.step(actions)
            over = turn.over
            steps += 1
            record.step(turn, actor)
        record.end(over)
        for head, seen in enumerate(actor.seen):
            record.seen[head] |= seen
        number_of += 1
    found = record.result(steps)
    watching.stop()
    found.printed, found.grown = _printed() - printed, sizes.grown()
    found.slept, found.opened, found.outside = watching.slept, watching.opened, watching.outside
    player.close()
    desk.put(found)
    return found


def _printed() -> int:
    """Bytes that were written to standard output so far."""
    sys.stdout.flush()
    return os.fstat(1).st_size


def long(desk: Desk, found: Play | None) -> None:
    """A quick play, where no reward or no ending was seen, until both are."""
    if found is None or (found.nonzero and (found.terminals or found.truncations)):
        return
    player = Player(desk)
    limit, watch = int(LONG * min(1.0, desk.budget)), Stopwatch()
    steps = endings = nonzero = longest = 0
    turn = None
    while steps < limit and not (nonzero and endings):
        if turn is None or turn.over:
            longest = max(longest, player.step_number)
            player.reset(desk.seed if steps == 0 else None)
            actor = player.actor(3, steps)
        turn = player.step(actor.choose(player.living, player.masks))
        steps += 1
        endings += turn.over
        nonzero += any(number(reward) != 0 for reward in turn.rewards.values())
        if steps % 64 == 0 and watch.seconds > PATIENCE * desk.budget:
            break
    player.close()
    desk.put(Long(steps, endings, nonzero, max(longest, player.step_number)))


class _Record:
    """What a play shows, number by number."""

    def __init__(self, player: Player, sizes: tuple[int, ...]):
        self.player, size = player, player.flat_size
        self.bytes_at = player.bytes_at
        self.low, self.high = np.full(size, np.inf), np.full(size, -np.inf)
        self.flags = np.ones(size, bool)
        self.wraps, self.smooth = np.zeros(size, int), np.zeros(size, int)
        self.at_time: dict[int, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}
        self.times_seen: dict[int, int] = defaultdict(int)
        self.episodes: list[Episode] = []
        self.changes = self.moves = self.nonzero = self.terminals = self.truncations = 0
        self.endings = 0
        self.reward, self.reward_step = [np.inf, -np.inf], 0
        self.seen: list[set[int]] = [set() for _ in sizes]
        self.moved: set[Hashable] = set()
        self.met: set[Hashable] = set()
        self.ends_by: dict[bytes, list[int]] = defaultdict(lambda: [0, 0, 0])
        self.last: dict[Hashable, NDArray[np.float64]] = {}

    def begin(self, seeded: bool) -> None:
        rows = {agent: self.player.flat(agent, ob) for agent, ob in self.player.obs.items()}
        first = next(iter(rows))
        self.as_before = bool(self.last) and first in self.last and np.array_equal(
            rows[first], self.last[first])
        self.opening = hash(b"".join(row.tobytes() for row in rows.values()))
        self.first, self.last, self.lead = rows, dict(rows), first
        self.seeded, self.length = seeded, 0
        self.rewards: list[float] = []
        self.stale_first = self.stale_last = self.both = False
        self.ending = [False, False]
        self._look(rows)

    def _look(self, rows: Rows) -> None:
        for agent, row in rows.items():
            np.minimum(self.low, row, out=self.low)
            np.maximum(self.high, row, out=self.high)
            self.met.add(agent)
        lead = rows.get(self.lead)
        if lead is None or len(lead) > WIDE:
            return
        self.flags &= (lead == 0) | (lead == 1)
        if self.length < TIMED:
            if self.length not in self.at_time:
                self.at_time[self.length] = (lead.copy(), np.ones(len(lead), bool))
            else:
                before, same = self.at_time[self.length]
                same &= before == lead
            self.times_seen[self.length] += 1

    def step(self, turn: Turn, actor: Actor) -> None:
        self.length += 1
        rows = {agent: self.player.flat(agent, ob) for agent, ob in turn.obs.items()}
        for agent, value in turn.rewards.items():
            reward = number(value)
            self.nonzero += reward != 0
            if np.isfinite(reward):
                if abs(reward) > max(map(abs, self.reward), default=0) \
                        or not np.isfinite(self.reward[0]):
                    self.reward_step = self.length
                self.reward = [min(self.reward[0], reward), max(self.reward[1], reward)]
            if agent == self.lead and len(self.rewards) < KEPT:
                self.rewards.append(reward)
        for agent, row in rows.items():
            before = self.last.get(agent)
            if before is not None and not np.array_equal(row, before):
                self.moved.add(agent)
        self._compare(rows, turn, actor)
        self._look(rows)
        self.last.update(rows)
        for agent in turn.terminated:
            ends = [bool(np.any(part.get(agent))) for part in (turn.terminated, turn.truncated)]
            self.terminals += ends[0]
            self.truncations += ends[1]
            self.endings += any(ends)
            self.both |= all(ends)
            self.ending = [one or other for one, other in zip(self.ending, ends)]

    def _compare(self, rows: Rows, turn: Turn, actor: Actor) -> None:
        """The lead's observation with its last one."""
        row, before = rows.get(self.lead), self.last.get(self.lead)
        if row is None or before is None:
            return
        same = np.array_equal(row, before)
        if self.length == 1:
            self.stale_first = same
        if turn.over:
            self.stale_last = same
        else:
            self.moves += 1
            self.changes += not same
        chosen = actor.last.get(self.lead)
        if chosen is not None:
            count = self.ends_by[(chosen * 2).round().tobytes()]
            count[0] += turn.over and same
            count[1] += not turn.over
            count[2] += not turn.over and not same
        if len(row) <= WIDE and self.bytes_at is not None:
            jump = row - before
            round_ = (jump + 128) % 256 - 128
            near = self.bytes_at & (np.abs(round_) <= STEP) & (jump != 0)
            self.smooth += near
            self.wraps += near & (np.abs(jump) > 256 - 2 * STEP)

    def end(self, over: bool) -> None:
        self.episodes.append(Episode(
            self.length, self.ending[0], self.ending[1], self.both, not over, self.seeded,
            self.stale_first, self.stale_last, self.opening, self.as_before,
            np.array(self.rewards)))
        if not over:
            self.last = {}

    def _timed(self) -> NDArray[np.bool_]:
        """Numbers that are the same at the same step of every episode, and differ over time."""
        found = np.zeros(len(self.low), bool)
        often = [time for time, seen in self.times_seen.items() if seen >= 3]
        if len(self.low) > WIDE or len(often) < 3:
            return found
        rows = np.stack([self.at_time[time][0] for time in often])
        fixed = np.stack([self.at_time[time][1] for time in often]).all(axis=0)
        timed: NDArray[np.bool_] = fixed & (np.ptp(rows, axis=0) > 0)
        return timed

    def result(self, steps: int) -> Play:
        ends = [count for count in self.ends_by.values() if count[0]]
        quiet = sum(count[0] for count in ends)
        agreed = sum(count[0] for count in ends if count[1] >= 4 and count[2] >= 0.9 * count[1])
        return Play(
            steps, self.episodes, self.low, self.high, self.flags, self.wraps, self.smooth,
            self._timed(), self.changes, self.moves,
            [str(agent) for agent in self.met - self.moved], [str(agent) for agent in self.moved],
            (self.reward[0], self.reward[1]), self.reward_step, self.nonzero,
            [len(seen) for seen in self.seen], self.terminals, self.truncations,
            endings=self.endings, quiet_actions=quiet > 0 and agreed >= 0.9 * quiet)
