"""Optional packages.  what needs one -> UsageError that says how to install it"""
from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from .errors import UsageError

# PyTorch's own index of builds for the CPU: from PyPI, Linux gets the one for CUDA, 5.7 GB
TORCH_ON_CPU = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
NVIDIA = (Path("/proc/driver/nvidia"), Path("/dev/nvidiactl"), Path("/dev/dxg"))


def install_torch() -> str:
    """The command that installs PyTorch: its CPU build where Linux has no NVIDIA driver."""
    if sys.platform == "linux" and not any(place.exists() for place in NVIDIA):
        return TORCH_ON_CPU
    return "pip install 'puffer-sdk[torch]'"


def install_with_torch(extra: str) -> str:
    """The commands that install an extra that brings PyTorch along: its CPU build goes first."""
    command, first = f"pip install 'puffer-sdk[{extra}]'", install_torch()
    return f"{first}; {command}" if first == TORCH_ON_CPU and not find_spec("torch") else command


def require(module: str, extra: str, why: str, where: object = None, instead: str = "") -> None:
    """Raises UsageError where a module of an extra is not installed.

    why         what needs it, a noun: "a sweep"
    instead     what does without it, for the hint
    """
    if find_spec(module) is None:
        raise UsageError(f"{why} requires a package that is not installed", where=where,
                         expected=f"{module}, which the extra '{extra}' brings",
                         actual="not installed",
                         hint=f"pip install 'puffer-sdk[{extra}]'" + (instead and f"; {instead}"))


def require_torch(why: str, where: object = None) -> None:
    """Raises UsageError where PyTorch is not installed. why: what needs it"""
    if find_spec("torch") is None:
        raise UsageError(f"{why} requires PyTorch, which is not installed", where=where,
                         hint=install_torch())
