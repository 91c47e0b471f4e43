"""What counts of a play: the first log entries of every env.  VecEnv, tick by tick -> entries

An environment logs a finished episode as an entry of its Log. Each entry counts once, with an
ending (terminals, truncations) beside it or without one: many environments log an episode that a
time limit ended and set no terminal.

Every agent has the same quota. Collecting what ends first would favour short episodes, so an
agent's episodes beyond its quota do not count while others of its env still play theirs. Where
agents come and go, death is an ending, and rows in which nobody has lived yet have no quota.
"""
from __future__ import annotations

import numpy as np

from ..env.living import ended as endings_of
from ..env.living import living

MEASURED = ("episode_return", "episode_length")     # what we measure where nothing is logged


class Entries:
    """Counts the entries of a vec from its reset on. Call look() after every step.

    quota       entries of each agent that count
    least       ticks to play before an env without endings may be done
    logged      [{"env", "seed", "tick", "n", name: mean of n entries}], and "agent" where one ended
    episodes    [{"env", "seed", "agent", "n": 1, "episode_return", "episode_length"}]: measured
                from rewards and endings, for environments that log nothing
    finished    (N,) endings of each agent
    seen        (N,) rows that have had an agent
    ages        (N,) ticks that they had one
    earned      (N,) rewards of all these ticks
    done        (num_envs,) envs that have played their share
    """

    def __init__(self, vec, quota: int, least: int = 0):
        self.vec, self.quota, self.least, self.tick = vec, quota, least, 0
        self.sizes = np.diff(vec.first_row)
        self.env_of = np.repeat(np.arange(vec.num_envs), self.sizes)
        self.returns, self.earned = np.zeros((2, vec.num_agents))
        self.lengths = np.zeros(vec.num_agents, int)
        self.finished, self.ages = np.zeros((2, vec.num_agents), int)
        self.lived = self.seen = living(vec)
        self.alone = np.zeros(vec.num_envs)             # entries that came without an ending
        self.ended = np.zeros(vec.num_envs, bool)       # envs in which an episode has ended
        self.done = np.zeros(vec.num_envs, bool)
        self.logged: list[dict] = []
        self.episodes: list[dict] = []

    def look(self) -> None:
        """Take what the step that was just made logged and ended."""
        vec, lived = self.vec, self.lived
        self.tick += 1
        for sums in (self.returns, self.earned):
            sums[lived] += vec.rewards[lived]
        self.lengths += lived
        self.ages += lived
        ended = endings_of(vec, lived)
        self.lived = living(vec)
        self.seen = self.seen | self.lived
        counts = ended & (self.finished < self.quota) & ~self.done[self.env_of]
        logged = self._take_logs(ended, counts)
        if not (logged or ended.any()):
            if self.tick == self.least:
                self._judge()
            return
        for agent in np.flatnonzero(counts):
            self.episodes.append({
                **self._place(int(self.env_of[agent])), "agent": int(agent), "n": 1.0,
                "episode_return": float(self.returns[agent]),
                "episode_length": int(self.lengths[agent])})
        self.finished += ended
        self.returns[ended], self.lengths[ended] = 0.0, 0
        self.ended |= np.logical_or.reduceat(ended, vec.first_row[:-1])
        self._judge()

    def _take_logs(self, ended, counts) -> bool:
        """Whether anything was logged. Of what is logged beside endings, the share counts that
        agents within their quota have in these endings."""
        found = False
        for env, (first, last) in enumerate(zip(self.vec.first_row, self.vec.first_row[1:])):
            log = self.vec.log_of(env)
            if not log:
                continue
            found, n = True, log.pop("n")
            endings, counted = int(ended[first:last].sum()), int(counts[first:last].sum())
            if not endings and not self.done[env]:
                self.alone[env] += n
            share = counted / endings if endings else float(not self.done[env])
            if share:
                who = {"agent": int(first + ended[first:last].argmax())} if endings == 1 else {}
                self.logged.append({**self._place(env), **who, "n": n * share, **log})
        return found

    def _place(self, env: int) -> dict:
        return {"env": env, "seed": self.vec.env_seed(env), "tick": self.tick}

    def _judge(self) -> None:
        """Which envs have played their share."""
        first = self.vec.first_row[:-1]
        shares = np.add.reduceat(np.minimum(self.finished, self.quota), first)
        enough = self.alone + shares >= self.quota * np.maximum(1, self.agents_of_envs)
        self.done |= enough & (self.ended | (self.tick >= self.least))

    @property
    def agents_of_envs(self) -> np.ndarray:
        """(num_envs,) rows of each env that have had an agent."""
        return np.add.reduceat(self.seen, self.vec.first_row[:-1], dtype=int)

    @property
    def counted(self) -> list[dict]:
        """What the env logged; what was measured where it logs nothing. Where each entry came with
        an ending and names no return or length, it has those that were measured."""
        if not self.logged:
            return self.episodes
        lacking = [name for name in MEASURED if name not in self.logged[0]]
        if not lacking or self.alone.any():
            return self.logged
        beside: dict[tuple[int, int], list[dict]] = {}
        for each in self.episodes:
            beside.setdefault((each["env"], each["tick"]), []).append(each)
        return [{**entry, **{name: float(np.mean([each[name] for each in found]))
                             for name in lacking}}
                for entry in self.logged
                if (found := beside.get((entry["env"], entry["tick"])))]
