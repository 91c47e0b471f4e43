"""The native trainer with opponents.  NativePPO and a pool -> rollouts in which others play too

Some envs have one side played by weights of the pool (opponent_pool.py); sides change from env to
env. In the other envs the learner plays all sides. It learns from its own rows only.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...base.errors import UsageError
from ...distributed.group import Alone
from ...env.vec import VecEnv
from ...scoring.facing import SIDES, sides_of
from ...settings.values import Config
from ..opponent_pool import PLAYERS, OpponentPool
from ..schedules import Envs, check_tensors
from .actor import NativeActor
from .envs import BoundEnvs
from .native_ppo import NativePPO

ROWS = {"playing": np.int32, "had": np.uint8, "over": np.uint8, "won": np.float64}


def opponents_of(vec: VecEnv, seats: int, share: float) -> np.ndarray:
    """(N,) the seat that plays each row, -1 where the learner does: in the last of the envs, whole
    pairs of neighbours, in one side each. Raises UsageError where there is no other side."""
    sides = sides_of(vec)
    if not sides.any():
        raise UsageError("an env has no side for an opponent", actual="one agent in each env",
                         where=vec.library.folder or vec.description.name,
                         expected="two teams or more",
                         hint="leave selfplay.enabled out: the opponent plays inside the env")
    pairs = vec.num_envs // SIDES
    facing = min(pairs, max(seats, round(share * pairs)))
    if facing < seats:
        raise UsageError("there are fewer envs than opponents", where="vec.num_policies",
                         expected=f"{SIDES * seats} envs or more for {seats} opponents",
                         actual=vec.num_envs, hint="more vec.total_agents, or fewer policies")
    seat_of = np.full(vec.num_envs, -1, np.int32)
    for seat, part in enumerate(np.array_split(np.arange(pairs - facing, pairs), seats)):
        seat_of[SIDES * part[0]:SIDES * (part[-1] + 1)] = seat
    return np.where(sides > 0, np.repeat(seat_of, np.diff(vec.first_row)), -1)


class SelfPlayPPO(NativePPO):
    """NativePPO with [selfplay] enabled: on the CPU, in one process, over a VecEnv of teams."""

    def __init__(self, vec: Envs, config: Config, *, path: str = "auto", device: str = "cpu",
                 group: Alone | None = None, timed: bool = False):
        if not isinstance(vec, VecEnv) or device != "cpu" or (group and group.size > 1):
            raise UsageError("self-play needs a VecEnv, and one process on the CPU",
                             where="selfplay.enabled", expected="envs of make() or wrap()",
                             actual=f"{type(vec).__name__}, {device}",
                             hint="leave selfplay.enabled out")
        self.opponents = OpponentPool(config.selfplay, config.vec.num_policies - 1,
                                      config.train.total_timesteps)
        self._rows: dict[str, np.ndarray] = {}
        super().__init__(vec, config, path=path, timed=timed)
        self._players = [NativeActor(self._parameters, config, vec.observations.dtype, vec.obs_size,
                                     vec.act_sizes, config.train.seed, 1, threads=1, path=path)
                         for _ in self.opponents.players]

    def _attach(self, *, reset: bool) -> BoundEnvs:
        envs = super()._attach(reset=reset)
        assert isinstance(self.vec, VecEnv)
        self.opponents.begin(self.global_step, self.parameters)
        for player, member in zip(self._players, self.opponents.players):
            if member:
                player.load_weights(member.weights)
        self._seat_of = opponents_of(self.vec, len(self.opponents.seats),
                                     self.config.vec.hist_policy_percent)
        self._next = np.zeros(self.agents, np.int32)
        self._seat()
        if reset:
            self._rows = {name: np.zeros(self.agents, kind) for name, kind in ROWS.items()}
            self._rows["playing"][:] = self._next
            self._rows["had"][:] = 1 if self.vec.alive is None else self.vec.alive
        self._results = np.zeros((len(self._players), 3), np.int64)
        handle, pointer = self._open, self._open.pointer
        others: Any = handle.ffi.new("PufferTrainer*[]", [each.trainer for each in self._players])
        self._games = handle.ffi.new("PufferGames*", {
            "others": others, "num_others": len(self._players),
            "next": pointer("int32_t*", self._next),
            "playing": pointer("int32_t*", self._rows["playing"]),
            "had": pointer("unsigned char*", self._rows["had"]),
            "over": pointer("unsigned char*", self._rows["over"]),
            "won": pointer("double*", self._rows["won"]),
            "results": pointer("int64_t(*)[3]", self._results)})
        bound: Any = envs.c
        bound.games = self._games
        handle.keeps = envs, others, self._games, self._players
        handle.call("attach", envs.c)
        return envs

    def _seat(self) -> None:
        """Who begins the next games."""
        for number, seat in enumerate(self.opponents.seats):
            self._next[self._seat_of == number] = 1 + PLAYERS * number + seat.active

    def update(self, advantages: ArrayLike | None = None, returns: ArrayLike | None = None
               ) -> dict[str, float]:
        """As NativePPO.update; then the opponents' ratings, and who plays next."""
        metrics = super().update(advantages, returns)
        pool, before = self.opponents, self.opponents.players
        metrics |= pool.rate(self._results)
        self._results[:] = 0
        playing = {int(player) - 1 for player in np.unique(self._rows["playing"]) if player}
        metrics |= pool.turn(self.global_step, self.parameters, playing)
        for player, was, now in zip(self._players, before, pool.players):
            if now and now is not was:
                player.load_weights(now.weights)
        self._seat()
        return metrics

    # -- checkpoints

    def state_tensors(self) -> dict[str, np.ndarray]:
        """As NativePPO.state_tensors, and the pool."""
        return {**super().state_tensors(), **self.opponents.state()}

    def load_state_tensors(self, tensors: Mapping[str, np.ndarray]) -> None:
        super().load_state_tensors(tensors)
        self.opponents.load(tensors)

    def recurrent_state(self) -> dict[str, np.ndarray]:
        """What agents carry on, and the games that they are in."""
        return {**super().recurrent_state(), **{
            f"carried.{name}": array.astype(np.float64) for name, array in self._rows.items()}}

    def resume_mid_episode(self, vec: Envs, recurrent_state: Mapping[str, np.ndarray]) -> None:
        names = {name: f"carried.{name}" for name in ROWS}
        check_tensors({name: (self.agents,) for name in names.values()}, recurrent_state)
        self._rows = {name: recurrent_state[names[name]].astype(kind)
                      for name, kind in ROWS.items()}
        super().resume_mid_episode(vec, recurrent_state)
