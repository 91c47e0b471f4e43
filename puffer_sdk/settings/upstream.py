"""What PufferLib's trainer does always.  an ini of its tree -> values, each with the reason

TREE/config/NAME.ini, beside ocean/, was tuned for that trainer, and means here what it means there.
An ini in the environment's own folder is ours.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .encoder import FLAT
from .inifile import Entry
from .table import AUTO

REASON = "as in PufferLib"
ZERO_THREADS = f"{REASON}, where 0 is automatic"
ALWAYS: dict[str, tuple[float | bool | str, str]] = {
    "train.reward_clip": (1.0, f"{REASON}, which clips all rewards to [-1, 1]; 0 disables it"),
    "train.minibatch_carry": (False, f"{REASON}, where an epoch has whole minibatches, at least 1; "
                                     "true carries the rest over"),
    "train.target_kl": (0.0, f"{REASON}, whose learning rate does not depend on the KL divergence"),
    "train.norm_returns": (False, f"{REASON}, where values are in the unit of rewards"),
    "policy.encoder": (FLAT, f"{REASON}, whose network sees a row of numbers")}
# the same, in [train] of a copy
COPIED = tuple(f"{full.removeprefix('train.')} = {'off' if value is False else f'{value:g}'}"
               for full, (value, _) in ALWAYS.items() if full.startswith("train."))

# Buffers are for its threads, one each; our pool steps one half while the GPU infers the other
CHOSEN = "vec.num_buffers",


def meant(entry: Entry, text: str) -> str:
    """A value of PufferLib's own ini: "auto" where it is tuned for how that trainer runs."""
    return AUTO if f"{entry.section}.{entry.key}" in CHOSEN else text


def of_tree(inis: Sequence[Path], folder: Path) -> list[Path]:
    """Those of PufferLib's tree among a folder's own files: none, if it has one itself."""
    return [path.absolute() for path in inis] if all(path.parent != folder for path in inis) else []
