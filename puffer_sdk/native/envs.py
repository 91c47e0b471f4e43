"""What the trainer steps.  a VecEnv, or any object with step() -> PufferTrainerEnvs"""
from __future__ import annotations

import numpy as np

from ..errors import UsageError
from .handle import Handle


def bind_envs(vec, handle: Handle, threads: int):
    from ..vec import VecEnv

    return (CompiledEnvs if isinstance(vec, VecEnv) else PythonEnvs)(vec, handle, threads)


class Envs:
    """A PufferTrainerEnvs over a vec's own arrays; keeps what C looks at alive."""

    def __init__(self, owner, handle: Handle, first_row: np.ndarray, **fields):
        self.owner, self.first_row = owner, first_row
        self.arrays = {name: getattr(owner, name) for name in (
            "observations", "actions", "rewards", "terminals", "truncations", "action_mask")}
        for name, array in self.arrays.items():
            if array is not None and not array.flags.c_contiguous:
                raise UsageError(f"the envs' {name} are not contiguous",
                                 hint="the native trainer writes to whole rows")
        self.c = handle.ffi.new("PufferTrainerEnvs*", {
            **{name: handle.pointer({"observations": "void*", "action_mask": "unsigned char*"}
                                    .get(name, "float*"), array)
               for name, array in self.arrays.items()},
            "first_row": handle.pointer("int64_t*", self.first_row),
            "num_envs": len(self.first_row) - 1, **fields})

    def check(self) -> None:
        """Raises UsageError where these envs cannot be stepped any more."""

    def after(self, ticks: int) -> None:
        """The trainer has stepped them so often."""


class CompiledEnvs(Envs):
    """The envs of a VecEnv: the trainer's threads step them through their library's own API."""

    def __init__(self, vec, handle: Handle, threads: int):
        self.watches = vec.watches_for(threads)
        super().__init__(vec, handle, vec.first_row, api=vec.library.api, vec=vec.handle,
                         whole_steps=int(vec.description.whole_steps), watches=self.watches,
                         ticks=vec.ticks)

    def check(self) -> None:
        _ = self.owner.handle             # raises UsageError once it is closed

    def after(self, ticks: int) -> None:
        self.owner.ticks += ticks


class PythonEnvs(Envs):
    """Any object with step(): one env of N agents whose step calls back into Python."""

    def __init__(self, vec, handle: Handle, threads: int):
        ffi = handle.ffi
        self.failure: BaseException | None = None
        self.watches = ffi.new("PufferWatch[]", threads)
        self.call_step = ffi.callback(
            "void(PufferVec*, int32_t, int32_t, int32_t, PufferWatch*)", self.step)
        self.count = ffi.callback("int32_t(const PufferVec*)", lambda _: 1)
        self.seed = ffi.callback("uint32_t(const PufferVec*, int32_t)", lambda _, env: 0)
        self.api = ffi.new("PufferApi*", {
            "abi_version": 1, "struct_size": ffi.sizeof("PufferApi"), "step": self.call_step,
            "num_envs": self.count, "env_seed": self.seed})
        self.nothing = ffi.new("char[1]")
        super().__init__(vec, handle, np.array([0, vec.num_agents], np.int64), api=self.api,
                         vec=ffi.cast("PufferVec*", self.nothing), whole_steps=1,
                         watches=self.watches, ticks=0)

    def step(self, vec, first, count, flags, watch) -> None:
        if self.failure is None:
            try:
                self.owner.step()
            except BaseException as error:  # noqa: BLE001   nothing may pass through the C side
                self.failure = error

    def after(self, ticks: int) -> None:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
