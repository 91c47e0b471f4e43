"""Values that are chosen automatically.  a key at `auto` and the other values -> value, reason"""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from .encoder import FLAT
from .table import AUTO, KEYS, TORCH_FUNCTIONS

CHECKPOINT_TICKS = 16384
# How much is learned from, and how often, never by a clock: found by bench_learn on its search
# half. A run has at least EPOCHS rollouts, of LEAST to MOST steps, and about UPDATES gradient steps
EPOCHS, UPDATES = 100, 4000
LEAST, MOST = 1024, 262144
SNAPSHOTS = 16          # of the policy in a self-play run
FEW = 4096              # steps of a rollout up to which it is long, of few agents
Chosen = Mapping[str, Any]          # full key -> value, of the key's type


def choose(full: str, chosen: Mapping[str, object], rows: int) -> tuple[int | float | str, str]:
    """The value of a key set to `auto`, and the reason.

    chosen  the values so far: given, default, or chosen before this one (CHOSEN has the order)
    rows    agents of one environment
    """
    return _AUTO[full](chosen, rows)


def _auto_interval(chosen: Chosen, rows: int) -> tuple[int, str]:
    # a checkpoint restarts the envs: much more often, and long episodes would never end
    epochs = -(-CHECKPOINT_TICKS // chosen["train.horizon"])
    return epochs, f"{CHECKPOINT_TICKS} ticks of each agent"


def _epoch(chosen: Chosen) -> int:
    """Agent steps of a rollout, a power of two."""
    share = chosen["train.total_timesteps"] // EPOCHS
    return int(min(MOST, max(LEAST, 1 << max(0, share.bit_length() - 1))))


def _auto_horizon(chosen: Chosen, rows: int) -> tuple[int, str]:
    if _epoch(chosen) <= FEW:
        return 128, "few steps in all: few agents, long rollouts"
    return 64, "steps enough for many agents"


def _auto_agents(chosen: Chosen, rows: int) -> tuple[int, str]:
    steps = _epoch(chosen)
    agents = max(1, round(steps / chosen["train.horizon"] / rows)) * rows
    return agents, f"rollouts of about {steps:,} of {chosen['train.total_timesteps']:,} steps"


def agents_per_env(env: Mapping[str, object]) -> int:
    """Rows of one environment, as far as [env] says it."""
    rows = env.get("max_agents", env.get("num_agents", 1))
    return max(1, int(rows)) if isinstance(rows, (int, float)) else 1


def _auto_buffers(chosen: Chosen, rows: int) -> tuple[int, str]:
    total = chosen["vec.total_agents"]
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


def _auto_threads(chosen: Chosen, rows: int) -> tuple[int, str]:
    cores = available_cores()
    return min(cores, 1024), f"{cores} core{'s' * (cores != 1)} available"


def _auto_minibatch(chosen: Chosen, rows: int) -> tuple[int, str]:
    horizon, gpus = chosen["train.horizon"], chosen["train.gpus"]
    steps, unit = chosen["vec.total_agents"] * horizon, horizon * gpus
    size = min(steps, max(256, min(8192, steps // 8)))
    whole = max(1, size // unit) * unit
    return whole, (f"all {steps} steps of an epoch" if whole == steps else
                   f"{'an eighth' if 256 < size < 8192 else 'part'} of an epoch, in whole horizons"
                   + (" for each GPU" if gpus > 1 else ""))


def _auto_replay(chosen: Chosen, rows: int) -> tuple[float, str]:
    size, total = chosen["train.minibatch_size"], chosen["train.total_timesteps"]
    ratio = round(min(8.0, max(1.0, UPDATES * size / total)), 1)
    return ratio, f"{ratio * total / size:,.0f} updates in {total:,} steps"


def _auto_backend(chosen: Chosen, rows: int) -> tuple[str, str]:
    if chosen["policy.torch_class"]:
        return "torch", "[policy] torch_class is a network in PyTorch"
    for name in TORCH_FUNCTIONS:
        if chosen[name]:
            return "torch", f"{KEYS[name].shown} is in PyTorch"
    return "native", "the fastest trainer that this version has"


def _auto_device(chosen: Chosen, rows: int) -> tuple[str, str]:
    if chosen["selfplay.enabled"]:
        return "cpu", "selfplay.enabled needs it"
    if chosen["train.backend"] == "native":
        if chosen["policy.encoder"] not in (AUTO, FLAT):
            return "cpu", "policy.encoder needs it"
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


def _auto_snapshots(chosen: Chosen, rows: int) -> tuple[int, str]:
    return max(1, chosen["train.total_timesteps"] // SNAPSHOTS), "a sixteenth of the run"


def _auto_timeout(chosen: Chosen, rows: int) -> tuple[int, str]:
    interval = chosen["selfplay.snapshot_interval"]
    return -(-interval // 4), "a quarter of snapshot_interval"


# in this order: each may read those before it.
# obs_scale is found by play, when a run begins (env/random_play.py)
_AUTO: dict[str, Callable[[Chosen, int], tuple[int | float | str, str]]] = {
    "train.horizon": _auto_horizon, "base.checkpoint_interval": _auto_interval,
    "vec.total_agents": _auto_agents, "vec.num_buffers": _auto_buffers,
    "vec.num_threads": _auto_threads, "vec.num_workers": _auto_threads,
    "train.minibatch_size": _auto_minibatch, "train.replay_ratio": _auto_replay,
    "train.backend": _auto_backend, "train.device": _auto_device,
    "selfplay.snapshot_interval": _auto_snapshots, "selfplay.opp_timeout_steps": _auto_timeout}
CHOSEN = tuple(_AUTO)
