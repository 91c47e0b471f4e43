"""Which agents have ended an episode since the envs started.  rollouts -> how many have not

Means over the episodes that ended omit agents that have ended none. Rollouts that stay on a GPU do
not show who ended; there the log entries give a lower bound.
"""
from __future__ import annotations

import numpy as np

from .action_log import Restarts


class Endings:
    """Call note() with each rollout's endings, and what it logged.

    lacking     (N,) bool: agents that have not ended an episode since the envs started
    known       whether this trainer shows endings at all
    """

    def __init__(self, agents: int, per_env: int):
        """per_env: agents of an env, which an entry may stand for"""
        self.lacking, self.known = np.ones(agents, bool), True
        self.per_env, self.entries = per_env, 0.0

    def begin(self) -> None:
        """The envs have just started."""
        self.lacking[:] = True
        self.entries = 0.0

    def note(self, ended: np.ndarray | None, entries: float) -> None:
        """ended: (N, ticks), nonzero where an agent's episode ended; None: nobody knows"""
        self.entries += entries
        if ended is None:
            self.known = False
        elif self.lacking.any():
            self.lacking &= ~np.any(ended, axis=1)

    @property
    def count(self) -> int:
        """Agents that have not ended an episode; a lower bound where rollouts do not show it."""
        if self.known:
            return int(self.lacking.sum())
        return max(0, len(self.lacking) - int(self.entries * self.per_env))


def what_is_cut(lacking: int, agents: int, restarts: Restarts, *, least: bool) -> str:
    """The note for a restart of the envs; "" if every agent has ended an episode.

    lacking     agents that have not
    least       whether that is a lower bound
    """
    if restarts.entries and not lacking:
        return ""
    whose = "no episode has ended" if lacking in (0, agents) else \
        f"{'at least ' * least}{lacking:,} of {agents:,} agents have ended no episode"
    return (f"{whose} in {restarts.ticks:,} ticks; the environments restart, and these episodes "
            "are cut")
