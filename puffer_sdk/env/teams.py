"""Which agents play together.  a VecEnv after reset -> the team of each row; scripted opponents

An environment declares its teams: `int team[N]` in its struct, a line `// puffer: teams 2 x 5` in
its header, `agents[i].policy` of PufferLib 5.0, MY_USES_PERM of 4.0 (each slot is a team), or an
attribute `teams` of a PettingZoo environment. Numbers mean nothing but which rows are equal.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base.errors import UsageError
from .abi import ffi
from .vec_arrays import Rows

NO_TEAM, BAD_TEAM = -1, -2          # of PufferApi.team
HINT = "in the header: // puffer: teams 2 x 5, or int team[N] in the env struct; of a PettingZoo " \
    "environment an attribute teams = {agent: number}"


class Teams(Rows):
    """What an environment says of its teams, for VecEnv."""

    first_row: NDArray[np.int64]

    @cached_property
    def teams(self) -> NDArray[np.int64] | None:
        """(N,) the team of each row within its env, as the first reset left it; None where nothing
        is declared, or all agents of an env are of one team. Raises UsageError where what is
        declared does not fit the number of agents."""
        self._check_open()
        found = self._declared_teams()
        if (found == BAD_TEAM).any():
            env = int(np.searchsorted(self.first_row, int((found == BAD_TEAM).argmax()), "right"))
            rows = int(self.first_row[env] - self.first_row[env - 1])
            raise UsageError("the declared teams do not fit the agents",
                             where=self.library.folder or self.description.name,
                             expected=f"a team of 0 or more for each of {rows} agents",
                             actual=[int(team) for team in
                                     found[self.first_row[env - 1]:self.first_row[env]]],
                             hint=HINT)
        return found if (found != NO_TEAM).all() and self._are_several(found) else None

    @property
    def seats(self) -> NDArray[np.int64] | None:
        """`teams`; where none are declared, each agent is its own team, if there are two of them or
        the environment is one of PettingZoo. None where that cannot be."""
        if self.teams is not None:
            return self.teams
        sizes = np.diff(self.first_row)
        alone = (sizes == 2).all() or (sizes > 1).all() and self.description.layout is not None
        rows = np.arange(self.num_agents, dtype=np.int64)
        return rows - np.repeat(self.first_row[:-1], sizes) if alone else None

    def _declared_teams(self) -> NDArray[np.int64]:
        """(N,) teams, NO_TEAM or BAD_TEAM."""
        team, handle = self.library.api.team, self._handle
        return np.array([team(handle, env, agent) for env in range(self.num_envs)
                         for agent in range(int(np.diff(self.first_row)[env]))], np.int64)

    def _are_several(self, found: NDArray[np.int64]) -> bool:
        first = self.first_row[:-1]
        low, high = np.minimum.reduceat(found, first), np.maximum.reduceat(found, first)
        return bool((low != high).all())

    def play_scripted(self, rows: Sequence[int] | NDArray[np.int64], level: int) -> bool:
        """Have the header's c_bot(env, agent, level) write the actions of these rows. False where
        the header has none."""
        self._check_open()
        bot, envs = self.library.api.bot, np.searchsorted(self.first_row, rows, "right") - 1
        return bot != ffi().NULL and all(
            bot(self._handle, int(env), int(row - self.first_row[env]), level, self._watches)
            for env, row in zip(envs, rows))

    def set_bot_policy(self, level: int) -> bool:
        """puf_set_bot_policy(env, level) of all envs: before reset. False where the header has
        none."""
        self._check_open()
        tell = self.library.api.set_bot
        return tell != ffi().NULL and all(tell(self._handle, env, level)
                                          for env in range(self.num_envs))
