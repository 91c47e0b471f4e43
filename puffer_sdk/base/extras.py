"""Optional packages.  what needs one -> UsageError that says how to install it"""
from __future__ import annotations

from importlib.util import find_spec

from .errors import UsageError


def require_torch(why: str, where: object = None) -> None:
    """Raises UsageError where PyTorch is not installed. why: what needs it"""
    if find_spec("torch") is None:
        raise UsageError(f"{why} needs PyTorch, and it is not installed", where=where,
                         hint="pip install 'puffer-sdk[torch]'")


def require_gymnasium(why: str) -> None:
    """Raises UsageError where Gymnasium is not installed. why: what needs it"""
    if find_spec("gymnasium") is None:
        raise UsageError(f"{why} needs Gymnasium, and it is not installed",
                         hint="pip install 'puffer-sdk[gymnasium]'")
