"""Which agents have ended an episode since the envs started.  rollouts -> how many have not

Means over the episodes that ended say nothing about agents that have ended none.
"""
from __future__ import annotations

import numpy as np

from .journal import Restarts


class Endings:
    """Call note() with each rollout's endings.

    lacking     (N,) bool: agents that have not ended an episode since the envs started
    known       whether this trainer tells endings at all
    """

    def __init__(self, agents: int):
        self.lacking, self.known = np.ones(agents, bool), True

    def begin(self) -> None:
        """The envs have just started."""
        self.lacking[:] = True

    def note(self, ended: np.ndarray | None) -> None:
        """ended: (N, ticks), nonzero where an agent's episode ended; None: nobody knows"""
        if ended is None:
            self.known = False
        elif self.lacking.any():
            self.lacking &= ~np.any(ended, axis=1)

    @property
    def count(self) -> int:
        """Agents that have not ended an episode; 0 where nobody knows."""
        return int(self.lacking.sum()) if self.known else 0


def what_is_cut(lacking: int, agents: int, restarts: Restarts) -> str:
    """What to say where the envs start anew; "" where every agent has ended an episode.

    lacking     of so many agents have not
    """
    if restarts.entries and not lacking:
        return ""
    whose = "no episode has ended" if lacking in (0, agents) else \
        f"{lacking:,} of {agents:,} agents have ended no episode"
    return (f"{whose} in {restarts.ticks:,} ticks; the environments start anew, and these episodes "
            "are cut")
