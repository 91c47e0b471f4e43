"""One PufferTrainer: its calls, and its memory as NumPy arrays."""
from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...base.errors import UsageError, did_you_mean
from ...base.philox import MAX_SEED
from ...env import abi
from ...settings.automatic import available_cores
from ...settings.encoder import Part, parts_of
from ...settings.values import Config
from ..schedules import check_tensors
from .trainer_errors import failure, refusal
from .trainer_library import PATHS, PRECISIONS, library

OBS_TYPES = (np.uint8, np.float32, np.int32)        # PUFFER_U8, PUFFER_F32, PUFFER_I32

PATH_VARIABLE = "PUFFER_TRAINER_PATH"       # forces an instruction set, for tests and reports
MAX_THREADS = 64                            # watches on the page that a parent reads


class Handle:
    """One PufferTrainer: its calls, and its memory as NumPy arrays.

    The arrays hold the handle, and the C side is destroyed with the last of them.
    """

    def __init__(self, fields: Mapping[str, Any], lib: Any = None, *, on_gpu: bool = False):
        """fields: of PufferTrainerConfig. lib: the opened library, or the CPU trainer's. on_gpu:
        whether it is that of the trainer for GPUs"""
        self.ffi, self.lib = abi.trainer_ffi(), lib or library()
        self.on_gpu = on_gpu
        self.act_sizes: tuple[int, ...] = tuple(fields["act_sizes"])
        self.keeps: object = None           # what C may look at as long as the trainer lives
        config: Any = self.ffi.new("PufferTrainerConfig*")
        config.struct_size = self.ffi.sizeof("PufferTrainerConfig")
        config.version = int(abi.constants(abi.trainer_header())["PUFFER_TRAINER_VERSION"])
        config.ranks = 1
        for name, value in fields.items():
            if isinstance(value, (list, tuple)):
                getattr(config, name)[0:len(value)] = list(value)
            else:
                setattr(config, name, value)
        self.error = self.ffi.new("PufferTrainerError*")
        made = self.lib.puffer_trainer_create(config, self.error)
        if made == self.ffi.NULL:
            raise refusal(self.error, on_gpu=self.on_gpu)
        self.trainer = self.ffi.gc(made, self.lib.puffer_trainer_destroy)
        self.counters = self.lib.puffer_trainer_counters(self.trainer)
        self.envs_on_gpu = False              # whether its envs are on the GPU

    def call(self, name: str, *args: object) -> None:
        """One of the calls that return 0, or -1 with an error. Raises RunError."""
        if getattr(self.lib, f"puffer_trainer_{name}")(self.trainer, *args, self.error):
            raise failure(self.error, self.act_sizes, envs_on_gpu=self.envs_on_gpu,
                          on_gpu=self.on_gpu, stack=self.stack())

    def stack(self) -> int:
        """Bytes that a thread has whose environment recurses on the GPU, or 0."""
        out: Any = self.ffi.new("PufferTrainerDevice*")
        return int(out.stack) if self.envs_on_gpu and self.invoke("device", out) else 0

    def invoke(self, name: str, *args: object) -> Any:
        """One of the calls that cannot fail."""
        return getattr(self.lib, f"puffer_trainer_{name}")(self.trainer, *args)

    def arrays(self, *kinds: str) -> dict[str, np.ndarray]:
        """Views of the tensors of these kinds ("WEIGHT", "OPTIMIZER", "ROLLOUT"), by name."""
        wanted = [getattr(self.lib, f"PUFFER_{kind}") for kind in kinds]
        out: Any = self.ffi.new("PufferTrainerTensor*")
        found, index = {}, 0
        while self.invoke("tensor", index, out):
            index += 1
            if out.kind in wanted:
                found[self.text(out.name)] = np.asarray(Memory(self, out))
        return found

    def fetch(self, *kinds: str) -> None:
        """Bring what lives on a GPU to the arrays of these kinds; the CPU's are up to date."""
        for kind in kinds:
            self.call("fetch", getattr(self.lib, f"PUFFER_{kind}"))

    def text(self, pointer: Any) -> str:
        """A text of the C side."""
        found = self.ffi.string(pointer)
        return found if isinstance(found, str) else found.decode(errors="replace")

    def pointer(self, kind: str, array: np.ndarray | None) -> Any:
        """The array's memory as C takes it. The caller keeps the array alive."""
        return self.ffi.NULL if array is None else self.ffi.cast(kind, array.ctypes.data)


class Memory:
    """A tensor of the C side, for NumPy to look at; keeps its trainer alive."""

    def __init__(self, handle: Handle, tensor: Any):
        self.handle = handle
        order = "<" if sys.byteorder == "little" else ">"
        dims = tensor.dims
        self.__array_interface__ = {
            "version": 3, "typestr": ("|u1", f"{order}f4", f"{order}i4")[tensor.dtype],
            "shape": tuple(tensor.shape[0:dims]), "strides": tuple(tensor.strides[0:dims]),
            "data": (int(handle.ffi.cast("intptr_t", tensor.data)), False)}


def choose_path(name: str = "auto") -> int:
    """The number of an instruction set; `auto` asks PUFFER_TRAINER_PATH first."""
    if name == "auto":
        name = os.environ.get(PATH_VARIABLE) or "auto"
    if name not in PATHS:
        raise UsageError(f"the native trainer has no path '{name}'", where=PATH_VARIABLE,
                         expected=", ".join(PATHS), actual=name, hint=did_you_mean(name, PATHS))
    return PATHS.index(name)


def choose_threads(config: Config, threads: int | None = None) -> int:
    """How many threads work: as asked, or [vec] num_threads, or the cores there are."""
    if threads is None:
        threads = getattr(getattr(config, "vec", None), "num_threads", None) or available_cores()
    return max(1, min(int(threads), MAX_THREADS))


def network_fields(config: Config, obs_dtype: DTypeLike, obs_size: int, act_sizes: Sequence[int],
                   agents: int) -> dict[str, object]:
    """What acting needs of PufferTrainerConfig."""
    seed = config.train.seed
    if not 0 <= seed <= MAX_SEED:
        raise UsageError("a seed is out of range", expected=f"0 to {MAX_SEED}", actual=seed)
    if config.policy.torch_class:
        raise UsageError("a custom network requires the PyTorch trainer",
                         where=config.policy.torch_class, hint="use --train.backend torch")
    parts = parts_of(config.policy.encoder, obs_size)
    return {"agents": agents, "obs_dtype": OBS_TYPES.index(np.dtype(obs_dtype)),
            "obs_size": obs_size, "num_atns": len(act_sizes), "act_sizes": tuple(act_sizes),
            "hidden_size": config.policy.hidden_size, "num_layers": config.policy.num_layers,
            "num_parts": len(parts), "parts": [_part_fields(part) for part in parts],
            "precision": PRECISIONS.index(getattr(config.train, "precision", "fp32")),
            "seed": seed}


def _part_fields(part: Part) -> dict[str, object]:
    """A PufferPart."""
    return {"first": part.first, "height": part.height, "width": part.width,
            "channels": part.channels, "planes": int(part.planes),
            "has_ids": int(bool(part.ids)), "ids": list(part.ids),
            "mask": -1 if part.mask is None else part.mask, "pooled": int(part.pooled),
            "num_convolutions": len(part.layers),
            "convolutions": [(each.filters, each.kernel, each.stride) for each in part.layers]}


def load_tensors(handle: Handle, targets: Mapping[str, np.ndarray],
                 tensors: Mapping[str, np.ndarray]) -> None:
    check_tensors({name: target.shape for name, target in targets.items()}, tensors)
    for name, target in targets.items():
        target[...] = tensors[name]
    handle.invoke("touch")
