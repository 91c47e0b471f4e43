"""A VecEnv's steps, as a vector of Gymnasium's gives them.  actions -> rows; rows -> what ended

steps.c does it in one pass over the rows for each. Copies that draw are in another process: their
arrays are new ones after each step, and their logs are asked for.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...env import abi
from ...env.abi import CObject
from ...env.helper import Helper
from ...env.vec import VecEnv
from ...toolchain.libraries import NATIVE

if TYPE_CHECKING:
    from .opened import Copies

    Endings = tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]

STEPS = Helper(Path(__file__).with_name("steps.c"), "the adapters' library",
               "compiling what adapters need, once for this machine ...", ("-O3", NATIVE))
ARRAYS = ("actions", "rewards", "terminals", "truncations", "final_observations", "has_final")


class Steps:
    """What is handed out after each step of a vec.

    names       of what a copy logs
    last        (N, D): the observations of the last reset or step, as the caller got them
    reuse       return the same arrays each time
    """

    def __init__(self, vec: Copies, agents: int, *, threads: int = 1, reuse: bool = False):
        self.vec, self.agents, self.reuse = vec, agents, reuse
        self.last = vec.observations if reuse else vec.observations.copy()
        c: CObject = STEPS.ffi
        rows, about = vec.num_agents, vec.description
        self.names = [*about.log_names]
        # for the way that most callers take
        self._quick = vec if isinstance(vec, VecEnv) and threads == 1 \
            and 1 not in about.act_sizes else None
        self._shapes = ((rows,), (rows, 1)) if len(about.act_sizes) == 1 else (
            (rows, len(about.act_sizes)),)
        self._row, self._table = (about.obs_size, about.obs_dtype), (len(self.names), rows)
        self._widths, self._over = np.array(about.act_sizes, np.int32), np.zeros(rows, np.int64)
        self._made: tuple[Endings, tuple[Any, ...]] | None = None
        self._call, self._buffer = STEPS.library, c.from_buffer
        self._longs, self._floats, self._doubles, self._bytes, self._chars = (
            c.typeof(f"{kind}[]") for kind in ("int64_t", "float", "double", "unsigned char",
                                               "char"))
        self._over_c = self._buffer(self._longs, self._over)
        self._point()

    def _point(self) -> None:
        """Where the vec's arrays are now."""
        c: CObject = STEPS.ffi
        vec, about = self.vec, self.vec.description

        def at(kind: str, array: NDArray[Any] | None) -> CObject:
            return c.NULL if array is None else c.cast(kind, array.ctypes.data)
        self._seen = vec.rewards
        self._arrays = [getattr(vec, name) for name in ARRAYS]      # pointers do not keep them
        self._c = c.new("Steps*", {
            "rows": vec.num_agents, "heads": len(about.act_sizes), "agents": self.agents,
            "copies": vec.num_envs, "num_logs": len(self.names),
            "row_bytes": about.obs_size * about.obs_dtype.itemsize,
            "widths": at("int32_t*", self._widths), "actions": at("float*", vec.actions),
            "rewards": at("float*", vec.rewards), "terminals": at("float*", vec.terminals),
            "truncations": at("float*", vec.truncations),
            "finals": at("char*", vec.final_observations),
            "has_final": at("unsigned char*", vec.has_final),
            "flags": abi.number("PUFFER_ALL_FINALS")})
        if isinstance(vec, VecEnv):
            self._watches = vec.watches_for(1)
            self._c.api, self._c.vec, self._c.watch = vec.library.api, vec.handle, self._watches

    def step(self, actions: Any, write: Callable[[Any, NDArray[np.float32]], None],
             waits: NDArray[np.bool_] | None = None) -> tuple[
                 NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], int]:
        """A step of all copies, or of those that do not wait (num_envs,) bool.

        write   write(actions, rows) checks any actions and writes them, as Actions.write
        Returns (rewards float32, terminated, truncated, either, (N,) bool each, how many ended).
        """
        vec = self.vec
        if self._made is None:
            rewards = np.empty(vec.num_agents, np.float32)
            flags = np.empty((3, vec.num_agents), bool)
            made = ((rewards, flags[0], flags[1], flags[2]),
                    (self._buffer(self._floats, rewards), self._buffer(self._bytes, flags),
                     self._over_c))
            self._made = made if self.reuse else None
        else:
            made = self._made
        found, places = made
        # what most callers give has a way of its own: in one call
        quick = self._quick
        if (quick is not None and type(actions) is np.ndarray and actions.dtype == np.int64
                and actions.shape in self._shapes and actions.flags.c_contiguous and quick.handle):
            count = self._call.steps_play(
                self._c, self._buffer(self._longs, actions), quick.ticks + 1,
                STEPS.ffi.NULL if waits is None else self._buffer(self._bytes, waits), *places)
            if count >= 0:
                vars(quick)["ticks"] += 1       # as count_ticks(1), without a call
                return (*found, count)
        write(actions, vec.actions)
        if waits is None:
            vec.step()
        else:
            vec.step_others(waits)
        if self._seen is not vec.rewards:
            self._point()
        return (*found, self._call.steps_read(self._c, *places))

    def end(self, count: int, last: NDArray[Any]) -> tuple[
            NDArray[np.int64], NDArray[Any], NDArray[np.float64], NDArray[np.bool_]]:
        """Of the rows with an ending: (which (n,), what they saw last (n, D), what their copies
        have logged (L, N) by the names of the log, (N,) bool: where there is something).

        last    (N, D): the observations before the step, for rows without a final observation
        """
        buffer, (size, dtype) = self._buffer, self._row
        over, finals = self._over[:count], np.empty((count, size), dtype)
        columns, there = np.zeros(self._table), np.zeros(self._table[1], bool)
        self._call.steps_end(self._c, self._over_c, count, buffer(self._chars, last),
                             buffer(self._chars, finals), buffer(self._doubles, columns),
                             buffer(self._bytes, there))
        if not isinstance(self.vec, VecEnv):
            copies, at = np.unique(over // self.agents, return_inverse=True)
            n, values = (found[at] for found in self.vec.logs_of(copies))
            there[over] = n > 0
            columns[:, over[n > 0]] = values[n > 0].T
        return over, finals, columns, there
