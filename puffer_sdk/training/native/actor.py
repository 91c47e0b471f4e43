"""Acting with given weights.  observations -> actions, one call a tick"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...base.errors import UsageError
from ...settings.values import Config
from .handle import Handle, choose_path, choose_threads, load_tensors, network_fields


class NativeActor:
    """A policy with its agents' carried state and random numbers: one call per tick.

        actor = NativeActor(checkpoint.tensors, config, obs_dtype, obs_size, act_sizes, seed, n)
        vec.actions[:] = actor.act(vec.observations)
        vec.step()
        actor.ended(vec.terminals)

    tensors     weights by name: NativePPO.parameters, or a checkpoint's (extra names are ignored)
    config      the settings that the policy was trained with
    waits       whether a mask of zeros says that an agent waits; otherwise it is an error
    The numbers depend only on (seed, global agent, tick). `greedy` takes the likeliest action.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray], config: Config, obs_dtype: DTypeLike,
                 obs_size: int, act_sizes: Sequence[int], seed: int, n: int, *,
                 greedy: bool = False, first_agent: int = 0, threads: int | None = None,
                 path: str = "auto", waits: bool = True):
        self.n, self.obs_size, self.greedy = n, obs_size, greedy
        self.obs_dtype, self.act_sizes = np.dtype(obs_dtype), tuple(act_sizes)
        fields = network_fields(config, obs_dtype, obs_size, act_sizes, n)
        self._handle = Handle({**fields, "seed": seed, "first_agent": first_agent, "horizon": 0,
                               "total_epochs": 1, "has_masks": 1, "has_waits": int(waits),
                               "path": choose_path(path),
                               "threads": choose_threads(config, threads)})
        self.load_weights(tensors)
        self._tick = 0

    @property
    def trainer(self) -> Any:
        """The PufferTrainer*, for PufferGames."""
        return self._handle.trainer

    def load_weights(self, tensors: Mapping[str, np.ndarray]) -> None:
        """Other weights, by name; extra names are ignored."""
        load_tensors(self._handle, self._handle.arrays("WEIGHT"), tensors)

    @property
    def tick(self) -> int:
        """Which random numbers the next act() takes."""
        return self._tick

    @tick.setter
    def tick(self, value: int) -> None:
        self._tick = int(value)
        self._handle.invoke("set_tick", self._tick)

    @property
    def state(self) -> np.ndarray:
        """(n, L, H) the recurrent state, live: writing into it is allowed."""
        return self._handle.arrays("ROLLOUT")["state"]

    def act(self, obs: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """obs (n, D), mask (n, A) of 0 and 1 -> actions (n, K) float32; the state moves on."""
        return self.forward(obs, mask)[0]

    def act_and_value(self, obs: np.ndarray, mask: np.ndarray | None = None
                      ) -> tuple[np.ndarray, np.ndarray]:
        """act, and with it the values (n,) of the observations."""
        actions, _, values = self.forward(obs, mask)
        return actions, values

    def forward(self, obs: np.ndarray, mask: np.ndarray | None = None
                ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """obs (n, D) -> actions (n, K), log-probabilities (n,), values (n,)."""
        obs = _rows("observations", obs, (self.n, self.obs_size), self.obs_dtype)
        if mask is not None:
            mask = _rows("masks", mask, (self.n, sum(self.act_sizes)), np.uint8)
        actions = np.empty((self.n, len(self.act_sizes)), np.float32)
        log_probs, values = np.empty((2, self.n), np.float32)
        handle = self._handle
        handle.call("act", handle.pointer("void*", obs), handle.pointer("unsigned char*", mask),
                    int(self.greedy), *(handle.pointer("float*", array)
                                        for array in (actions, log_probs, values)))
        self._tick += 1
        return actions, log_probs, values

    def ended(self, terminals: np.ndarray) -> None:
        """Zero the state of agents whose episode just ended, before their next observation."""
        ended = _rows("terminals", terminals, (self.n,), np.float32)
        self._handle.invoke("ended", self._handle.pointer("float*", ended))

    def reset(self) -> None:
        """Zero the state of all agents; the tick continues."""
        self._handle.invoke("reset_state")


def _rows(name: str, array: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    array = np.ascontiguousarray(array, dtype)
    if array.shape != shape:
        raise UsageError(f"{name} have the wrong shape", expected=shape, actual=array.shape)
    return array
