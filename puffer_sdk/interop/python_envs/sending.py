"""Steps of some environments while others are stepping.  ids -> a step begun; the first ones done

For PoolVec: a worker steps all its environments together, so ids are those of whole workers.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import UsageError
from ...env.vec import VecEnv
from .games.base import Part
from .monitor import Monitor
from .shared_rows import STEP


class Sending(VecEnv):
    """send() and recv() of a PoolVec, which sets these:

    _monitor    of the workers; None: there are none
    _lane_parts the lanes' shares of the environments
    _asked      (lanes,): those that were sent and not received; _out: how many these are
    """

    _monitor: Monitor | None
    _lane_parts: list[Part]
    _asked: NDArray[np.uint8]
    _out: int

    def send(self, ids: ArrayLike | None = None) -> None:
        """Begin a step of these environments with what `actions` holds; recv() waits for them.

        ids     environments, as recv() returned them: whole workers. None: all that do not step
        Raises UsageError for a part of a worker's environments, or for those stepping.
        """
        self._check_open()
        lanes = self._lanes_of(ids)
        if self._monitor is None:
            self.step()
            self._asked[:] = self._out = 1
            return
        if self._checks is not None:
            self._checks.before_step()
        self.count_ticks(1)
        self._watches[0].step = self.ticks
        for lane in lanes:
            if self._asked[lane]:
                raise UsageError("these environments are already stepping",
                                 hint="recv() says which are ready")
            self._asked[lane] = 1
            self._out += 1
            self._monitor.lanes.send(STEP, lane)

    def recv(self, count: int | None = None) -> NDArray[np.int64]:
        """(n,) int64: the environments whose step is done, of the first workers to be done.

        count   environments to wait for, at least; None: all that were sent
        Their rows are first_row[id] to first_row[id + 1]. Raises UsageError where nothing was sent,
        and what an environment raised.
        """
        self._check_open()
        busy = np.flatnonzero(self._asked).tolist()
        if not busy:
            raise UsageError("nothing was sent", hint="send() begins a step")
        sizes = [len(part.seeds) for part in self._lane_parts]
        ready = busy
        if self._monitor is not None:
            lanes, wanted = self._monitor.lanes, 1
            count = sum(sizes[lane] for lane in busy) if count is None else count
            while True:
                if not lanes.wait_for(self._asked, min(wanted, len(busy))):
                    self._raise_failure()
                ready = [lane for lane in busy if lanes.ready(lane)]
                if sum(sizes[lane] for lane in ready) >= count or len(ready) == len(busy):
                    break
                wanted = len(ready) + 1
        self._asked[ready] = 0
        self._out -= len(ready)
        firsts = [self._lane_parts[lane].first for lane in ready]
        return np.concatenate([np.arange(first, first + sizes[lane], dtype=np.int64)
                               for lane, first in zip(ready, firsts)])

    def _lanes_of(self, ids: ArrayLike | None) -> list[int]:
        if ids is None:
            return [part.lane for part in self._lane_parts if not self._asked[part.lane]]
        chosen = np.zeros(self.num_envs, bool)
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
        return lanes

    def _raise_failure(self) -> None:
        error = self.failure()
        if error is not None:
            raise error

    def _wait_for_all(self) -> None:
        if self._out:
            self.recv()
