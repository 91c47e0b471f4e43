"""Count the first log entries of every env.  VecEnv, tick by tick -> entries

An environment logs a finished episode as an entry of its Log. Each entry counts once, with an
ending (terminals, truncations) beside it or without one: many environments log an episode that a
time limit ended and set no terminal.

Every agent has the same quota. Collecting what ends first would favour short episodes, so an
agent's episodes beyond its quota do not count while others still play theirs. With a variable
number of agents, death is an ending, and rows that have had no agent yet have no quota.

What comes in 1000 ticks is measured over the first `span` ticks of every env, whatever ends in
them: an env that is stopped once it has ended enough shows little of one that does not end. Where
all envs end what counts within the span nobody asks for it, and they need not play so long.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..env.agent_slots import ended as endings_of
from ..env.agent_slots import living

if TYPE_CHECKING:
    from ..env.vec import VecEnv

STUCK = 2.0             # lengths of those that ended, after which an episode may never end
MEASURED = ("episode_return", "episode_length")     # what we measure where nothing is logged
Entry = dict[str, float]        # a log entry: its numbers by name, and where it came from


class Entries:
    """Counts the entries of a vec from its reset on. Call look() after every step.

    quota       entries of each agent that count
    span        ticks of every env that rates are measured over, and that it plays before it may be
                done without an ending
    rating      whether all envs play the whole span
    finished    (N,) endings of each agent
    seen        (N,) rows that have had an agent
    ages        (N,) ticks that they had one
    rated       (N,) those within the span
    earned      (N,) rewards of these
    entered     (num_envs,) endings within the span, and log entries that came without one
    clocks      (num_envs,) ticks that each env has played
    done        (num_envs,) envs that have played their share of entries
    kept        envs that count at all: the first ones
    zero_sum    whether the rewards of an env's agents were opposites so far, and not all 0
    """

    def __init__(self, vec: VecEnv, quota: int, span: int, rating: bool = False):
        self.vec, self.quota, self.span, self.rating, self.tick = vec, quota, span, rating, 0
        self.first, self.sizes = vec.first_row[:-1], np.diff(vec.first_row)
        self.env_of = np.repeat(np.arange(vec.num_envs), self.sizes)
        self.returns, self.earned = np.zeros((2, vec.num_agents))
        self.lengths = np.zeros(vec.num_agents, int)
        self.finished, self.ages, self.rated = np.zeros((3, vec.num_agents), int)
        self.clocks = np.zeros(vec.num_envs, int)
        self.entered = np.zeros(vec.num_envs)
        self.lived = self.seen = living(vec)
        self.longest = 0                                # ticks of an episode that ended
        self.alone = np.zeros(vec.num_envs)             # entries that came without an ending
        self.ended = np.zeros(vec.num_envs, bool)       # envs in which an episode has ended
        self.done = np.zeros(vec.num_envs, bool)
        self.kept = vec.num_envs
        self._single = bool((self.sizes == 1).all())
        self._sums = bool((self.sizes > 1).all())
        self._paid = False
        self._logged: list[Entry] = []
        self._episodes: list[Entry] = []
        self._every = np.arange(vec.num_envs, dtype=np.int32)
        self._names = vec.description.log_names
        self._compiled = vec.layout is None             # its log has the same fields in all envs

    @property
    def over(self) -> bool:
        """Whether all envs that count have finished."""
        return bool(self.waiting[:self.kept].all())

    @property
    def waiting(self) -> np.ndarray:
        """(num_envs,) bool: envs that need not play on."""
        waiting: np.ndarray = (self.done & self.is_rated) | (self._every >= self.kept)
        return waiting

    @property
    def is_rated(self) -> np.ndarray | bool:
        """(num_envs,) bool: envs that have played the span, where that is asked for."""
        return self.clocks >= self.span if self.rating else True

    def look(self, paused: np.ndarray | None = None) -> None:
        """Record the logs and endings of the last step.

        paused      (num_envs,) bool: envs that did not take part in it
        """
        vec, lived = self.vec, self.lived
        if paused is not None:
            lived = lived & ~paused[self.env_of]
        self.tick += 1
        self.clocks += 1 if paused is None else ~paused
        inside = self.clocks <= self.span           # (num_envs,)
        rewards = vec.rewards if lived.all() else np.where(lived, vec.rewards, 0.0)
        self.returns += rewards
        self.lengths += lived
        self.ages += lived
        early = True if self.tick <= self.span else inside[self.env_of]
        self.earned += rewards if early is True else np.where(early, rewards, 0.0)
        self.rated += lived & early
        self._look_for_sums(rewards)
        ended = endings_of(vec, lived)
        if vec.alive is not None:
            self.lived = living(vec)
            self.seen = self.seen | self.lived
        counts = ended & (self.finished < self.quota) & ~self.done[self.env_of]
        logged = self._take_logs(ended, counts, inside)
        if not (logged or ended.any()):
            if self.tick == self.span:
                self._judge()
            return
        for agent in np.flatnonzero(counts):
            self._episodes.append({
                **self._place(int(self.env_of[agent])), "agent": int(agent), "n": 1.0,
                "episode_return": float(self.returns[agent]),
                "episode_length": int(self.lengths[agent])})
        self.finished += ended
        self.entered += self.per_env(ended & early)
        self.longest = max(self.longest, int(self.lengths[ended].max(initial=0)))
        self.returns[ended], self.lengths[ended] = 0.0, 0
        self.ended |= ended if self._single else np.logical_or.reduceat(ended, self.first)
        self._judge()

    def goes_on(self, usual: float) -> bool:
        """Whether an agent's latest episode has gone on for much longer than any that ended here,
        and than the usual ones of so many ticks: it may never end. Where nothing ends, and entries
        are logged all the same, no episode is waited for."""
        if self.alone.any() and not self.ended.any():
            return False
        return int(self.lengths.max(initial=0)) > STUCK * max(usual, self.longest)

    def keep(self, envs: int) -> None:
        """Only the first so many envs count from here on, whatever the others have done."""
        self.kept = min(self.kept, envs)

    def per_env(self, rows: np.ndarray) -> np.ndarray:
        """(num_envs,) sums over the agents of each env."""
        return rows if self._single else np.add.reduceat(rows, self.first)

    def _look_for_sums(self, rewards: np.ndarray) -> None:
        if self._sums and rewards.any():
            self._paid = True
            sums = np.add.reduceat(rewards, self.first)
            self._sums = bool((abs(sums) <= 1e-4 * np.abs(rewards).max()).all())

    @property
    def zero_sum(self) -> bool:
        return self._sums and self._paid

    def _logs(self) -> Iterator[tuple[int, float, Entry]]:
        """(env, number of entries, {name: mean}) of the envs that the last step logged in."""
        vec = self.vec
        if self._compiled:
            n, values = vec.logs_of(self._every)
            for env in np.flatnonzero(n).tolist():
                yield env, n[env], dict(zip(self._names, values[env].tolist()))
            return
        for env in range(vec.num_envs):
            if log := vec.log_of(env):
                yield env, log.pop("n"), log

    def _take_logs(self, ended: np.ndarray, counts: np.ndarray, inside: np.ndarray) -> bool:
        """Whether anything was logged. Of what is logged beside endings, the share counts that
        agents within their quota have in these endings."""
        found = False
        for env, n, log in self._logs():
            found = True
            first, last = self.vec.first_row[env:env + 2]
            endings, counted = int(ended[first:last].sum()), int(counts[first:last].sum())
            if not endings:
                self.alone[env] += 0.0 if self.done[env] else n
                self.entered[env] += n * inside[env]
            share = counted / endings if endings else float(not self.done[env])
            if share:
                who = {"agent": int(first + ended[first:last].argmax())} if endings == 1 else {}
                self._logged.append({**self._place(env), **who, "n": float(n * share), **log})
        return found

    def _place(self, env: int) -> Entry:
        return {"env": env, "seed": self.vec.env_seed(env), "tick": self.tick}

    def _judge(self) -> None:
        """Mark the envs that have played their share."""
        shares = self.per_env(np.minimum(self.finished, self.quota))
        enough = self.alone + shares >= self.quota * np.maximum(1, self.agents_of_envs)
        self.done |= enough & (self.ended | (self.clocks >= self.span))
        if self.tick >= self.span and not self.done[:self.kept].all():
            self.rating = True

    # -- of the envs that count

    @property
    def rows(self) -> int:
        """Rows of the envs that count."""
        return int(self.vec.first_row[self.kept])

    @property
    def agents_of_envs(self) -> np.ndarray:
        """(num_envs,) rows of each env that have had an agent."""
        return self.sizes if self.vec.alive is None else self.per_env(self.seen.astype(int))

    @property
    def logged(self) -> list[Entry]:
        """[{"env", "seed", "tick", "n", name: mean of n entries}], and "agent" where one ended."""
        return [each for each in self._logged if each["env"] < self.kept]

    @property
    def episodes(self) -> list[Entry]:
        """[{"env", "seed", "agent", "n": 1, "episode_return", "episode_length"}]: measured from
        rewards and endings, for environments that log nothing."""
        return [each for each in self._episodes if each["env"] < self.kept]

    @property
    def counted(self) -> list[Entry]:
        """What the env logged; what was measured where it logs nothing. Where each entry came with
        an ending and names no return or length, it has those that were measured."""
        logged = self.logged
        if not logged:
            return self.episodes
        lacking = [name for name in MEASURED if name not in logged[0]]
        if not lacking or self.alone[:self.kept].any():
            return logged
        beside: dict[tuple[float, float], list[Entry]] = {}
        for each in self.episodes:
            beside.setdefault((each["env"], each["tick"]), []).append(each)
        return [{**entry, **{name: float(np.mean([each[name] for each in found]))
                             for name in lacking}}
                for entry in logged
                if (found := beside.get((entry["env"], entry["tick"])))]
