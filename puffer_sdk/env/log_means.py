"""Statistics of the episodes of a VecEnv's copies.  the logs that C keeps -> means, by name"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .abi import CObject, ffi
from .blocks import pointer
from .vec_arrays import Rows


class Logs(Rows):
    """log() and its kin, for VecEnv."""

    # arrays that logs_of() is answered in, and pointers to them
    _log_rows: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64],
                     CObject, CObject, CObject] | None = None

    @property
    def restarts(self) -> int:
        """Copies that were made anew, of environments in Python."""
        return 0

    @property
    def other_cpu(self) -> float:
        """CPU seconds, so far, of other processes that step environments."""
        return 0.0

    def log(self) -> dict[str, float]:
        """Means over the log entries since the last call, and their number `n`; then cleared.

        Empty when nothing was logged.
        """
        return self.log_of(0, self.num_envs)

    def log_of(self, first: int, count: int = 1) -> dict[str, float]:
        """log() of some envs only."""
        self._check_open()
        names = self.description.log_names
        out: CObject = ffi().new("double[]", max(1, len(names)))
        n = self.library.api.collect_log(self._handle, first, count, out)
        return {**dict(zip(names, out, strict=False)), "n": n} if n else {}

    def logs_of(self, envs: NDArray[np.integer[Any]]
                ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log_of() of each of these envs (k,): n (k,), and (k, L) in the order of
        description.log_names, which counts where n is not 0."""
        self._check_open()
        count, width = len(envs), len(self.description.log_names)
        if self._log_rows is None or count > len(self._log_rows[0]):
            ids, n = np.zeros(count, np.int32), np.zeros(count)
            out = np.zeros((count, width))
            self._log_rows = (ids, n, out, pointer("int32_t*", ids), pointer("double*", n),
                              pointer("double*", out))
        ids, n, out, *pointers = self._log_rows     # making pointers takes longer than reading logs
        ids[:count] = envs
        self.library.api.collect_logs(self._handle, pointers[0], count, width, *pointers[1:])
        return n[:count].copy(), out[:count].copy()
