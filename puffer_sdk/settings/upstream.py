"""What PufferLib's trainer does always.  an ini of its tree -> values, each with the reason

TREE/config/NAME.ini, beside ocean/, was tuned for that trainer, and means here what it means there.
An ini in the environment's own folder is ours.
"""
from __future__ import annotations

from pathlib import Path

REASON = "as in PufferLib"
ZERO_THREADS = f"{REASON}, where 0 is automatic"
ALWAYS: dict[str, tuple[float | bool, str]] = {
    "train.reward_clip": (1.0, f"{REASON}, which clips all rewards to [-1, 1]; 0 disables it"),
    "train.minibatch_carry": (False, f"{REASON}, where an epoch has whole minibatches, at least 1; "
                                     "true carries the rest over"),
    "train.target_kl": (0.0, f"{REASON}, whose learning rate does not depend on the KL divergence"),
    "train.norm_returns": (False, f"{REASON}, where values are in the unit of rewards")}
# the same, in [train] of a copy
COPIED = tuple(f"{full.removeprefix('train.')} = {'off' if value is False else f'{value:g}'}"
               for full, (value, _) in ALWAYS.items())


def is_its_own(ini: Path | None, folder: Path) -> bool:
    """Whether the ini that find_ini() names for this folder is one of PufferLib's tree."""
    return ini is not None and ini.parent != folder
