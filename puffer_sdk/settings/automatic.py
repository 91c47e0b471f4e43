"""Values that are chosen automatically.  a key at `auto` and the other values -> value, reason"""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

CHECKPOINT_TICKS = 16384
Chosen = Mapping[str, Any]          # full key -> value, of the key's type


def choose(full: str, chosen: Mapping[str, object],
           env: Mapping[str, object]) -> tuple[int | str, str]:
    """The value of a key set to `auto`, and the reason.

    chosen  the values so far: given, default, or chosen before this one in the table's order
    """
    return _AUTO[full](chosen, env)


def _auto_interval(chosen: Chosen, env: Mapping[str, object]) -> tuple[int, str]:
    # a checkpoint restarts the envs: much more often, and long episodes would never end
    epochs = -(-CHECKPOINT_TICKS // chosen["train.horizon"])
    return epochs, f"{CHECKPOINT_TICKS} ticks of each agent"


def _auto_buffers(chosen: Chosen, env: Mapping[str, object]) -> tuple[int, str]:
    total = chosen["vec.total_agents"]
    rows = env.get("max_agents", env.get("num_agents", 1))
    rows = max(1, int(rows)) if isinstance(rows, (int, float)) else 1
    gpus = chosen["train.gpus"]
    each = "" if gpus == 1 else " on each GPU"
    if total % (2 * gpus * rows) == 0:
        return 2 * gpus, f"one slice{each} steps while the other waits for its actions"
    return gpus, f"{total} agents do not make two equal slices{each}"


def available_cores() -> int:
    """Cores that this process may run on: a container or a batch system may grant it a few."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _auto_threads(chosen: Chosen, env: Mapping[str, object]) -> tuple[int, str]:
    cores = available_cores()
    return min(cores, 1024), f"{cores} core{'s' * (cores != 1)} available"


def _auto_minibatch(chosen: Chosen, env: Mapping[str, object]) -> tuple[int, str]:
    horizon, gpus = chosen["train.horizon"], chosen["train.gpus"]
    steps, unit = chosen["vec.total_agents"] * horizon, horizon * gpus
    if steps <= 8192:
        return steps, f"all {steps} steps of an epoch"
    return (max(1, 8192 // unit) * unit,
            "8192 steps, in whole horizons" + (" for each GPU" if gpus > 1 else ""))


def _auto_backend(chosen: Chosen, env: Mapping[str, object]) -> tuple[str, str]:
    if chosen["policy.torch_class"]:
        return "torch", "[policy] torch_class is a network in PyTorch"
    return "native", "the fastest trainer that this version has"


def _auto_device(chosen: Chosen, env: Mapping[str, object]) -> tuple[str, str]:
    if chosen["train.backend"] == "native":
        if chosen["vec.device"] == "cuda":      # whether there is a GPU is asked before training
            return "cuda", "vec.device is cuda"
        from ..toolchain import gpu_kept
        return gpu_kept.choose_device(chosen["train.precision"])
    if not any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")):
        return "cpu", "no GPU on this machine"
    # counted through the driver's own library: a CUDA context here would not survive a fork
    asked = os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK")
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    try:
        import torch
        found = torch.cuda.is_available()
    except ImportError:
        return "cpu", "PyTorch is not installed"
    finally:
        del os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"]
        if asked is not None:
            os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = asked
    return ("cuda", "PyTorch finds a GPU") if found else ("cpu", "PyTorch finds no usable GPU")


# obs_scale is found by play, when a run begins (env/random_play.py)
_AUTO: dict[str, Callable[[Chosen, Mapping[str, object]], tuple[int | str, str]]] = {
         "base.checkpoint_interval": _auto_interval, "vec.num_buffers": _auto_buffers,
         "vec.num_threads": _auto_threads, "vec.num_workers": _auto_threads,
         "train.minibatch_size": _auto_minibatch, "train.backend": _auto_backend,
         "train.device": _auto_device}
CHOSEN = frozenset(_AUTO)
