"""Sums over ranks, for C.  a Group -> PufferExchange, and what went wrong in it"""
from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from ...distributed.group import Alone
from ...env import abi


class Exchange:
    """The callback that a trainer of several ranks calls; `fields` are of PufferTrainerConfig.

    The numbers are those of the trainer: the group adds them up where they are. No exception may
    pass through C, so it is kept, and failed() gives it away.
    """

    def __init__(self, group: Alone):
        self.group, self._ffi = group, abi.trainer_ffi()
        self.failure: BaseException | None = None
        self._views: dict[tuple[int, int, int], np.ndarray] = {}
        self._sum = self._ffi.callback("PufferExchange", self._add_up, error=-1,
                                       onerror=self._keep)
        self.fields: dict[str, object] = {"ranks": group.size, "rank": group.rank}
        if group.size > 1:
            self.fields["exchange"] = self._sum

    def _add_up(self, about: object, kind: int, data: Any, count: int) -> int:
        self.group.sum(self._view(kind, data, count))
        return 0

    def _view(self, kind: int, data: Any, count: int) -> np.ndarray:
        """The numbers as an array over the same memory; few places are asked for, again and
        again."""
        key = kind, int(self._ffi.cast("intptr_t", data)), count
        if key not in self._views:
            dtype = np.dtype((np.float64, np.float32)[kind])
            if len(self._views) > 64:           # places on C's stack: they may differ
                self._views.clear()
            memory: Any = self._ffi.buffer(data, count * dtype.itemsize)
            self._views[key] = np.frombuffer(memory, dtype)
        return self._views[key]

    def _keep(self, kind: object, error: Any, trace: TracebackType | None) -> None:
        self.failure = error.with_traceback(trace)

    def failed(self) -> BaseException | None:
        """What the last call raised, once."""
        failure, self.failure = self.failure, None
        return failure
