"""What a VecEnv shows of itself.  C's buffers -> arrays by read-only names

The names are read-only so that no other array can take a buffer's place.
"""
from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from ..base import paths
from ..base.errors import UsageError
from ..base.sealed import Fixed, Sealed
from ..settings.values import FrozenDict
from . import header
from .abi import CObject
from .library import Description, EnvLibrary, Obs


class EnvSettings(FrozenDict):
    """[env] values of a VecEnv, which its envs have read."""

    instead = 'make another one: puffer_sdk.make("my_env", env_settings={...})'


class Rows(Sealed):
    """The arrays and sizes of a VecEnv: N agents (rows), D observation elements, K action heads."""

    library: EnvLibrary
    description: Description
    num_agents: int                     # N
    num_envs: int
    act_sizes: tuple[int, ...]
    env_settings: Mapping[str, float]
    ticks: int
    _all_finals: bool
    _handle: CObject                    # None once it is closed
    _watches: CObject                   # one for each thread
    _observations: Obs
    _actions: NDArray[np.float32]
    _rewards: NDArray[np.float32]
    _terminals: NDArray[np.float32]
    _truncations: NDArray[np.float32]
    _action_mask: NDArray[np.uint8] | None
    _final_observations: Obs | None
    _has_final: NDArray[np.uint8] | None
    _alive: NDArray[np.uint8] | None

    _settable = ("actions", "all_finals")
    _instead = {
        **dict.fromkeys(("observations", "rewards", "terminals", "truncations", "action_mask",
                         "final_observations", "has_final", "alive"),
                        "it is the C side's memory: write into it, as in vec.rewards[:] = x"),
        "env_settings": EnvSettings.instead, "seed": "reset(seed=...) begins with another one",
        **dict.fromkeys(("num_envs", "num_agents", "num_buffers"),
                        "make another one, with puffer_sdk.make")}

    @property
    def all_finals(self) -> bool:
        return self._all_finals

    @all_finals.setter
    def all_finals(self, value: bool) -> None:
        about = self.description
        if value and not about.has_all_finals:
            folder = self.library.folder
            raise Fixed("this environment keeps no final observations, so all_finals would do "
                        "nothing", where=folder or about.name,
                        expected="a function that takes the env alone and writes the observations",
                        actual=header.read(folder).no_final_obs if folder else "none",
                        hint=paths.page("trainer/algorithm.md"))
        self._check_open()
        if value and self._has_final is None:       # no episode is truncated: nobody has asked yet
            vars(self).update(
                _final_observations=np.zeros((self.num_agents, about.obs_size), about.obs_dtype),
                _has_final=np.zeros(self.num_agents, np.uint8))
            self._bind()
        self._all_finals = bool(value)

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

    def _bind(self) -> None:
        """Tell the envs where the arrays are."""
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._handle is None:
            raise UsageError("this VecEnv is closed", hint="make a new one")

    def _begin_from(self, seed: int) -> None:
        vars(self).update(seed=seed, ticks=0, _given_seeds=None)

    def count_ticks(self, ticks: int) -> None:
        """Others have stepped these envs so often, through library.api."""
        vars(self)["ticks"] += ticks

    def torch(self) -> SimpleNamespace:
        """The arrays as torch tensors over the same memory."""
        import torch

        names = ("observations", "actions", "rewards", "terminals", "truncations")
        tensors = {name: torch.from_numpy(getattr(self, name)) for name in names}
        optional = {name: None if (array := getattr(self, name)) is None
                    else torch.from_numpy(array)
                    for name in ("action_mask", "final_observations", "has_final", "alive")}
        return SimpleNamespace(**tensors, **optional)
