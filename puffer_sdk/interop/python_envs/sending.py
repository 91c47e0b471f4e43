"""Steps of some environments while others are at work.  ids -> a step begun; the first to be done

For PoolVec: a worker steps all its environments together, so ids are those of whole workers.
"""
from __future__ import annotations

import numpy as np

from ...base.errors import UsageError
from ...env import abi
from .lanes import library
from .shared_rows import STEP


class Sending:
    """send() and recv() of a PoolVec."""

    def send(self, ids: np.ndarray | None = None) -> None:
        """Begin a step of these environments with what `actions` holds; recv() waits for them.

        ids     environments, as recv() returned them: whole workers. None: all that are not at work
        """
        self._check_open()
        lanes = self._lanes_of(ids)
        if not self._monitor:
            self.step()
            self._asked[:] = self._out = 1
            return
        self.ticks += 1
        self._watches[0].step = self.ticks
        for lane in lanes:
            if self._asked[lane]:
                raise UsageError("these environments are already stepping",
                                 hint="recv() says which are ready")
            self._asked[lane] = 1
            self._out += 1
            library().lanes_send(self._lanes, int(lane), 1, STEP)

    def recv(self, count: int | None = None) -> np.ndarray:
        """(n,) int64: the environments whose step is done, of the first workers to be done.

        count   environments to wait for, at least; None: all that were sent
        Their rows are first_row[id] to first_row[id + 1].
        """
        self._check_open()
        busy = np.flatnonzero(self._asked)
        if not len(busy):
            raise UsageError("nothing was sent", hint="send() begins a step")
        sizes = [len(part.seeds) for part in self._lane_parts]
        if not self._monitor:
            self._asked[:] = self._out = 0
            return np.arange(len(self._seeds))
        count = sum(sizes[lane] for lane in busy) if count is None else count
        wanted = 1
        while True:
            if library().lanes_any(self._lanes, abi.ffi().from_buffer(self._asked),
                                   min(wanted, len(busy))):
                self._raise_failure()
            ready = [lane for lane in busy if library().lanes_ready(self._lanes, int(lane))]
            if sum(sizes[lane] for lane in ready) >= count or len(ready) == len(busy):
                break
            wanted = len(ready) + 1
        self._asked[ready] = 0
        self._out -= len(ready)
        return np.concatenate([np.arange(self._lane_parts[lane].first,
                                         self._lane_parts[lane].first + sizes[lane])
                               for lane in ready])

    def _lanes_of(self, ids) -> np.ndarray:
        if ids is None:
            return np.flatnonzero(self._asked == 0)
        chosen = np.zeros(len(self._seeds), bool)
        chosen[np.asarray(ids, np.int64)] = True
        lanes = []
        for part in self._lane_parts:
            mine = chosen[part.first:part.first + len(part.seeds)]
            if mine.any() and not mine.all():
                raise UsageError("a worker steps all its environments together",
                                 expected=f"all of {part.first} to "
                                          f"{part.first + len(part.seeds) - 1}, or none",
                                 hint="send the ids that recv() returned")
            if mine.any():
                lanes.append(part.lane)
        return np.array(lanes, int)

    def _wait_for_all(self) -> None:
        if self._out:
            self.recv()
