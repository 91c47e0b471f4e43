"""The envs that the trainer steps.  a VecEnv, or any object with step() -> PufferTrainerEnvs"""
from __future__ import annotations

import inspect
import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ...base.errors import BadNumber, UsageError
from ...env import abi
from ...env.library import Settings
from ...env.vec import VecEnv
from ...env.vec_wrapper import VecWrapper
from ..schedules import Envs
from .handle import OBS_TYPES, Handle

OPTIONAL = ("action_mask", "final_observations", "has_final", "alive")  # None, or not there at all
C_TYPES = {"observations": "void*", "final_observations": "void*", "action_mask": "unsigned char*",
           "has_final": "unsigned char*", "alive": "unsigned char*"}    # all others: float*


def bind_envs(vec: Envs, handle: Handle, threads: int, program: Path | None = None,
              in_background: bool = False) -> CompiledEnvs | PythonEnvs:
    """program: what plays the envs on the GPU, or None; in_background: they are stepped also while
    the trainer is not asked for anything"""
    if isinstance(vec, (VecEnv, VecWrapper)):
        vec.fix_settings("copies of them play on the GPU" if program else
                         "train.async steps them meanwhile" if in_background else "")
    if isinstance(vec, VecEnv):
        refuse_own_steps(vec)
        return CompiledEnvs(vec, handle, threads, program)
    return PythonEnvs(vec, handle, threads)


BYPASSED = ("step", "observations", "actions", "rewards", "terminals", "truncations",
            "action_mask", "final_observations", "has_final", "alive")


def refuse_own_steps(vec: VecEnv) -> None:
    """Raises UsageError where a user has replaced what C does not call: it would do nothing."""
    for name in BYPASSED:
        found = vars(vec).get(name) or inspect.getattr_static(type(vec), name)
        code = getattr(found, "fget", found)
        defined = getattr(code, "__globals__", {}).get("__name__", "")
        if not defined.startswith(f"{__name__.partition('.')[0]}."):
            raise UsageError(f"the native trainer steps a VecEnv from C, and would not call this "
                             f"{name}", where=f"{type(vec).__name__}.{name}",
                             expected="VecEnv's own", actual=f"one of {defined or 'another type'}",
                             hint="put it into a puffer_sdk.VecWrapper, whose step() every trainer "
                                  "calls: Trainer(MyWrapper(vec))")


def build_program(folder: Path, *, verbose: bool = False) -> Path:
    """The environment in this folder, compiled for the GPU that trains here, or for an emulated
    one, unless that was done before. Raises BuildError where its C does not compile for one."""
    from ...env.gpu import programs
    from ...toolchain import gpu

    arch = None if gpu.is_emulated() else programs.default_arch()
    return programs.build_program(folder, arch, verbose=verbose).path


def find_program(vec: Envs, device: str, given: Path | None = None) -> Path:
    """The program that plays this vec's envs on the GPU, built unless given. Raises UsageError if
    that is impossible."""
    if device != "cuda":
        problem, actual = "need the trainer there too", f"train.device = {device}"
    elif not isinstance(vec, VecEnv):
        problem, actual = "are compiled C, in a VecEnv", type(vec).__name__
    elif given:
        return given
    elif vec.library.folder:
        return build_program(vec.library.folder)
    else:
        problem, actual = "are compiled from their folder", "a library alone"
    raise UsageError(f"environments on a GPU {problem}", where="vec.device cuda", actual=actual,
                     hint="leave vec.device at cpu")


def check_arrays(vec: Envs) -> dict[str, np.ndarray | None]:
    """The vec's arrays by name. Raises UsageError for a wrong type, shape or layout."""
    n, f32 = vec.num_agents, (np.float32,)
    arrays: dict[str, np.ndarray | None] = {}
    obs = (n, vec.obs_size)
    for name, shape, dtypes in (
            ("observations", obs, OBS_TYPES),
            ("actions", (n, len(vec.act_sizes)), f32), ("rewards", (n,), f32),
            ("terminals", (n,), f32), ("truncations", (n,), f32),
            ("action_mask", (n, sum(vec.act_sizes)), (np.uint8, np.bool_)),
            ("final_observations", obs, (vec.observations.dtype.type,)),
            ("has_final", (n,), (np.uint8, np.bool_)), ("alive", (n,), (np.uint8, np.bool_))):
        array = arrays[name] = getattr(vec, name, None) if name in OPTIONAL else getattr(vec, name)
        if array is None and name in OPTIONAL:
            continue
        if not isinstance(array, np.ndarray):
            raise UsageError(f"`{name}` must be a NumPy array", expected="a NumPy array",
                             actual=type(array).__name__)
        if array.dtype not in dtypes:
            raise UsageError(f"`{name}` has the wrong type", actual=array.dtype.str,
                             expected=" or ".join(np.dtype(each).name for each in dtypes))
        if array.shape != shape:
            raise UsageError(f"`{name}` has the wrong shape", expected=shape,
                             actual=array.shape)
        if not array.flags.c_contiguous:
            raise UsageError(f"`{name}` must be contiguous", expected="rows in one piece",
                             actual=f"strides of {array.strides} bytes",
                             hint="the native trainer requires whole rows")
        if name == "actions" and not array.flags.writeable:
            raise UsageError(f"`{name}` must be writable", expected="a writable array",
                             actual="a read-only one", hint="the trainer writes to it")
    return arrays


class BoundEnvs:
    """A PufferTrainerEnvs over a vec's own arrays; keeps what C looks at alive."""

    def __init__(self, owner: Envs, handle: Handle, first_row: np.ndarray, **fields: object):
        self.owner, self.first_row, self.arrays = owner, first_row, check_arrays(owner)
        self.c = handle.ffi.new("PufferTrainerEnvs*", {
            **{name: handle.pointer(C_TYPES.get(name, "float*"), array)
               for name, array in self.arrays.items()},
            "first_row": handle.pointer("int64_t*", self.first_row),
            "num_envs": len(self.first_row) - 1, **fields})

    def rollout(self, handle: Handle) -> None:
        """The trainer steps them for an epoch. Raises RunError."""
        handle.call("rollout")

    def check(self) -> None:
        """Raises UsageError if these envs are closed."""

    def after(self, ticks: int) -> None:
        """The trainer has stepped them so often."""

    def failed(self) -> BaseException | None:
        """The exception of the last rollout's steps, once."""


class CompiledEnvs(BoundEnvs):
    """The envs of a VecEnv: the trainer's threads step them through their library's own API.

    With a program their copies play on the GPU, from the same settings and seeds, and add what
    they log to these; the vec's own arrays stay as they are.
    """

    def __init__(self, vec: VecEnv, handle: Handle, threads: int, program: Path | None = None):
        ffi, self.vec = handle.ffi, vec
        self.watches = vec.watches_for(threads)
        self.settings = Settings(vec.env_settings if program else {})
        self.program = ffi.new("char[]", os.fsencode(program)) if program else ffi.NULL
        super().__init__(vec, handle, vec=vec.handle, **vec.trainer_fields, watches=self.watches,
                         ticks=vec.ticks, block=ffi.cast("void*", vec.block.ctypes.data),
                         block_bytes=vec.block.nbytes, program=self.program,
                         settings=self.settings.c)

    def rollout(self, handle: Handle) -> None:
        try:
            super().rollout(handle)
        except BadNumber as error:
            if error.value is not None:         # an env wrote it
                env = int(np.searchsorted(self.vec.first_row, error.row, "right")) - 1
                error.where = f"env {env}, seed {self.vec.env_seed(env)}, {error.where}"
            raise

    def check(self) -> None:
        _ = self.vec.handle             # raises UsageError once it is closed
        if not vars(self.vec).keys().isdisjoint(BYPASSED):
            refuse_own_steps(self.vec)

    def after(self, ticks: int) -> None:
        self.vec.count_ticks(ticks)

    def failed(self) -> BaseException | None:
        return self.vec.failure()


class PythonEnvs(BoundEnvs):
    """Any object with step(): one env of N agents whose step calls back into Python."""

    def __init__(self, vec: Envs, handle: Handle, threads: int):
        ffi = handle.ffi
        self.failure: BaseException | None = None
        self.watches = ffi.new("PufferWatch[]", threads)
        self.call_step = ffi.callback(
            "void(PufferVec*, int32_t, int32_t, int32_t, PufferWatch*)", self.step,
            onerror=self.keep)
        self.count = ffi.callback("int32_t(const PufferVec*)", lambda _: 1)
        self.seed = ffi.callback("uint32_t(const PufferVec*, int32_t)", lambda _, env: 0)
        self.api = ffi.new("PufferApi*", {
            "abi_version": abi.number("PUFFER_ABI_VERSION"), "struct_size": ffi.sizeof("PufferApi"),
            "step": self.call_step, "num_envs": self.count, "env_seed": self.seed})
        self.nothing = ffi.new("char[1]")
        super().__init__(vec, handle, np.array([0, vec.num_agents], np.int64), api=self.api,
                         vec=ffi.cast("PufferVec*", self.nothing), whole_steps=1,
                         watches=self.watches, ticks=0)

    def step(self, *given: object) -> None:
        if self.failure is None:
            self.owner.step()

    def keep(self, kind: object, error: Any, trace: TracebackType | None) -> None:
        """Nothing may pass through the C side."""
        if self.failure is None:
            self.failure = error.with_traceback(trace)

    def failed(self) -> BaseException | None:
        failure, self.failure = self.failure, None
        return failure
