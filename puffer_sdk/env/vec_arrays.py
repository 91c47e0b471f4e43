"""What a VecEnv shows of itself.  C's buffers -> arrays by read-only names

The names are read-only so that no other array can take a buffer's place.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.errors import UsageError
from .abi import CObject
from .library import Description, EnvLibrary, Obs


class Rows:
    """The arrays and sizes of a VecEnv: N agents (rows), D observation elements, K action heads."""

    library: EnvLibrary
    description: Description
    num_agents: int                     # N
    num_envs: int
    act_sizes: tuple[int, ...]
    env_settings: dict[str, float]
    _handle: CObject                    # None once it is closed
    _observations: Obs
    _actions: NDArray[np.float32]
    _rewards: NDArray[np.float32]
    _terminals: NDArray[np.float32]
    _truncations: NDArray[np.float32]
    _action_mask: NDArray[np.uint8] | None
    _final_observations: Obs | None
    _has_final: NDArray[np.uint8] | None
    _alive: NDArray[np.uint8] | None

    @property
    def observations(self) -> Obs:
        return self._observations

    @property
    def rewards(self) -> NDArray[np.float32]:
        return self._rewards

    @property
    def terminals(self) -> NDArray[np.float32]:
        return self._terminals

    @property
    def truncations(self) -> NDArray[np.float32]:
        return self._truncations

    @property
    def action_mask(self) -> NDArray[np.uint8] | None:
        return self._action_mask

    @property
    def final_observations(self) -> Obs | None:
        return self._final_observations

    @property
    def has_final(self) -> NDArray[np.uint8] | None:
        return self._has_final

    @property
    def alive(self) -> NDArray[np.uint8] | None:
        return self._alive

    @property
    def handle(self) -> CObject:
        """The PufferVec*, for library.api; UsageError once this VecEnv is closed."""
        self._check_open()
        return self._handle

    def _check_open(self) -> None:
        if self._handle is None:
            raise UsageError("this VecEnv is closed", hint="make a new one")
