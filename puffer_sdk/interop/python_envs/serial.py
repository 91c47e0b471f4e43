"""Python environments in this process.  a PufferApi whose functions are Python

For PoolVecs without workers: a debugger sees everything, and nothing runs beside it.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from ...env import abi
from ...env.abi import CObject
from ...env.shared_memory import ANEW, PYTHON, SOME_ENV, WATCH
from .games.base import INIT, RESET, STEP, Lane, Part
from .games.lane_kinds import open_lane
from .probe_env import BATCH
from .shared_rows import PoolBlock

PLACE = WATCH.names.index("env") if WATCH.names else 0      # among the int64s of a watch


class Owner(Protocol):
    """The vec that a lane belongs to."""

    seed: int
    ticks: int

    def end_by(self, error: BaseException, step: int) -> None: ...


class OwnLane:
    """The only lane of a vec without workers. What it raises ends the vec.

    watched     whether a parent reads the watches
    """

    def __init__(self, owner: Owner, block: PoolBlock, *, watched: bool):
        self.owner, self.block, self.watched = owner, block, watched
        self.part: Part | None = None
        self.lane: Lane[Any] | None = None
        self.failed = False
        self._shown_in: CObject = None

    def open(self, part: Part, watch: CObject) -> None:
        """Make the environments, in place of those before."""
        self.close()
        self.part = part

        def work() -> None:
            self.lane = open_lane(part, self.block)
        self._run(INIT, work, watch)

    @property
    def opened(self) -> Lane[Any]:
        """The lane; its environments are made."""
        if self.lane is None:
            raise RuntimeError("no environments were made")
        return self.lane

    def step(self, watch: CObject) -> None:
        self._run(STEP, lambda: self.opened.step(), watch)

    def reset(self, watch: CObject) -> None:
        self._run(RESET, lambda: self.opened.reset(), watch)

    def close(self) -> None:
        if self.lane is not None:
            self.lane.close()
            self.lane = None

    def _run(self, phase: int, work: Callable[[], None], watch: CObject) -> None:
        """watch: a PufferWatch*, which shows a parent a call that does not return or that ends the
        process"""
        part = self.part
        if self.failed or part is None:
            return
        if watch:
            self._show_in(watch)
            anew = part.max_restarts and self.block.restarts.any()
            watch.seed = (self.owner.seed + 2**63) % 2**64 - 2**63
            watch.env, watch.phase = SOME_ENV, (ANEW if anew else PYTHON) + phase
            watch.pulse += 1
        try:
            work()
        except BaseException as error:
            self.failed = True
            self.owner.end_by(error, int(watch.step) if watch else self.owner.ticks)
        finally:
            if watch:
                watch.phase = 0
                watch.pulse += 1

    def _show_in(self, watch: CObject) -> None:
        """Have the lane write which environment is running into a watch that a parent reads, also
        after a crash of this process. Of copies that one object steps, it is unknown."""
        if not self.watched or self._shown_in == watch or self.part is None \
                or self.part.facts.kind == BATCH:
            return
        self._shown_in = watch
        place = memoryview(abi.ffi().buffer(watch)).cast("q")[PLACE:PLACE + 1]
        self.block.at_work[0] = place
        if self.lane is not None:
            self.lane.place = place


@cache
def serial_api() -> CObject:
    """A PufferApi whose functions are Python; its PufferVec* is a handle of an OwnLane."""
    c = abi.ffi()

    def of(vec: CObject) -> OwnLane:
        lane: OwnLane = c.from_handle(c.cast("void*", vec))
        return lane

    def seeds_of(vec: CObject) -> tuple[int, ...]:
        part = of(vec).part
        return () if part is None else part.seeds

    functions = {
        "step": c.callback("void(PufferVec*, int32_t, int32_t, int32_t, PufferWatch*)",
                           lambda vec, first, count, flags, watch: of(vec).step(watch)),
        "reset": c.callback("void(PufferVec*, int32_t, int32_t, PufferWatch*)",
                            lambda vec, first, count, watch: of(vec).reset(watch)),
        "num_envs": c.callback("int32_t(const PufferVec*)", lambda vec: len(seeds_of(vec))),
        "env_seed": c.callback("uint32_t(const PufferVec*, int32_t)",
                               lambda vec, env: seeds_of(vec)[env])}
    api = c.new("PufferApi*", {"abi_version": abi.number("PUFFER_ABI_VERSION"),
                               "struct_size": c.sizeof("PufferApi"), **functions})
    _kept.append(functions)             # a struct does not keep them
    return api


_kept: list[dict[str, CObject]] = []
