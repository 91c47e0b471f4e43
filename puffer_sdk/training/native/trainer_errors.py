"""Errors of the C trainers.  PufferTrainerError -> an exception with a hint

C gives a kind (puffer_trainer.h) and a sentence. The kind decides; the sentence is only shown.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ...base.errors import BadNumber, EnvStopped, PufferError, RunError, UsageError
from ...env import abi
from ..schedules import BAD_HINT, ENV_HINT, MASK_HINT, SCALE_HINT

E = TypeVar("E", bound=PufferError)
PREFIX = "PUFFER_TRAINER_"
MEMORY_HINT = "lower vec.total_agents, train.horizon, policy.hidden_size or policy.num_layers"
PLAY_HINT = ("puffer-sdk check finds what an environment does wrong; with --vec.device cpu it "
             "plays on the CPU")
HINTS = {
    "FAILED": None,
    "OUT_OF_MEMORY": MEMORY_HINT,
    "NO_THREADS": "lower vec.num_threads",
    "NO_BF16": "use --train.precision fp32",
    "NO_LEGAL_ACTION": MASK_HINT,
    "BAD_ENV_DATA": ENV_HINT,
    "BAD_NUMBER": BAD_HINT,
    "OVERFLOW": SCALE_HINT,
    "GPU_STOPPED": None,                # PLAY_HINT where envs run on the GPU
    "GPU_BUSY": "nvidia-smi shows who uses it",
    "GPU_ENV_FAILED": PLAY_HINT,
    "GPU_ENV_HEAP": "allocate less in init, or lower vec.total_agents",
    "EXCHANGE_FAILED": None,            # its owner knows why (exchange.py)
    "GPU_STEP_HEAP": "free what c_reset and c_step allocate, or lower vec.total_agents",
}

# What a CPU would not have failed with, or may not
OF_GPU = ("FAILED", "OUT_OF_MEMORY", "NO_BF16", "GPU_STOPPED", "GPU_BUSY")
PASSING = ("OUT_OF_MEMORY", "GPU_BUSY")         # of them, what depends on who else uses it


def kinds() -> dict[int, str]:
    """{1: "OUT_OF_MEMORY"}: the kinds of errors, from the header."""
    elements = abi.trainer_ffi().typeof("enum PufferTrainerErrorKind").elements
    return {number: name.removeprefix(PREFIX) for number, name in elements.items()}


def refusal(error: Any, *, on_gpu: bool = False) -> PufferError:
    """Why puffer_trainer_create made no trainer.

    on_gpu   whether it is the trainer for GPUs
    """
    kind = kinds()[error.kind]
    what, where = _texts(error)
    made = RunError if kind == "NO_THREADS" else UsageError
    return _blamed(made(what, where=where, hint=HINTS[kind]), kind, on_gpu)


def failure(error: Any, act_sizes: Sequence[int], *, envs_on_gpu: bool, on_gpu: bool = False,
            stack: int = 0) -> RunError:
    """Why a call failed, with the hints that the PyTorch trainer gives.

    envs_on_gpu    whether the envs run on the GPU
    on_gpu   whether it is the trainer for GPUs
    stack    bytes of a thread's, if the envs recurse there
    """
    kind = kinds()[error.kind]
    what, where = _texts(error)
    parts = {"hint": HINTS[kind]}
    if kind == "GPU_STOPPED" and envs_on_gpu:
        parts["hint"] = PLAY_HINT if not stack else \
            f"a recursion deeper than its {stack >> 10} KiB of stack ends so; {PLAY_HINT}"
    if kind == "NO_LEGAL_ACTION":
        parts |= {"expected": f"a nonzero byte among this head's {act_sizes[error.head]} in "
                              "action_mask", "actual": "zeros only"}
    if kind in ("BAD_ENV_DATA", "BAD_NUMBER", "OVERFLOW"):
        wrote = kind == "BAD_ENV_DATA" and error.row >= 0
        return _blamed(BadNumber(what, where=where, **parts, row=error.row, element=error.element,
                                 value=error.value if wrote else None), kind, on_gpu)
    made = EnvStopped if kind.startswith("GPU_ENV") or kind == "GPU_STEP_HEAP" else RunError
    return _blamed(made(what, where=where, **parts), kind, on_gpu)


def _blamed(error: E, kind: str, on_gpu: bool) -> E:
    error.of_gpu = kind if on_gpu and kind in OF_GPU else ""
    return error


def _texts(error: Any) -> tuple[str, str | None]:
    raw: Any = abi.trainer_ffi().string(error.text)
    what, _, where = raw.decode(errors="replace").partition("\t")
    return what or "the native trainer failed for an unknown reason", where or None
