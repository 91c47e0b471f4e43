"""The best weights of a run, and the file that holds them.  tensors + facts -> best.safetensors

evaluations.py decides which are best. The file is written just before each checkpoint. The weights
at the peak of training's means are kept likewise until the run ends: peak.safetensors.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..base import files
from ..base.errors import PufferError
from ..scoring.kept_scores import Claim
from . import checkpoint
from .opponent_pool import PREFIX
from .run_records import Facts, KeptLook, KeptPeak


class Best:
    """The weights that rank 0 keeps; the other ranks keep none."""

    def __init__(self, path: Path, leads: bool):
        self.path, self.leads = path, leads
        self.tensors: dict[str, np.ndarray] = {}
        self.facts: Facts | None = None
        self.is_new = False             # not yet written

    def load(self) -> str:
        """Load what an earlier part of the run kept. Returns why it cannot be read, or "". Raises
        Refused if the path is no regular file: it could not be written either.
        """
        if not self.leads or not os.path.lexists(self.path):
            return ""
        files.open(self.path).close()           # refuses what is no file
        try:
            found = checkpoint.load(self.path)
        except PufferError as error:            # the next best weights replace them
            return f"{self.path.name} is left out: {error.message}"
        self.tensors, self.facts = found.tensors, found.facts
        return ""

    def keep(self, tensors: Mapping[str, np.ndarray], facts: Facts) -> None:
        if self.leads:
            self.tensors = {name: tensor for name, tensor in tensors.items()
                            if not name.startswith(PREFIX)}     # nothing goes on from here
            self.facts = {**facts, "kept": True}
            self.is_new = True

    def of(self, best: KeptLook | KeptPeak | None) -> dict[str, np.ndarray] | None:
        """The best weights; None if they belong to an abandoned future."""
        same = best and self.facts and self.facts["step"] == best["step"]
        return self.tensors if same else None

    def claim(self, claim: Claim) -> None:
        """Store the run's final claim with them."""
        if self.facts and self.facts["step"] == claim["step"]:
            self.facts["evaluation"] = claim
            self.is_new = True

    def save(self, *, durable: bool) -> None:
        if self.is_new and self.facts:
            checkpoint.save(self.path, self.tensors, self.facts, durable=durable)
            self.is_new = False


class Kept:
    """The best weights of a run, and those at the peak of training's means until it ends."""

    def __init__(self, path: Path, leads: bool):
        """path: of the best ones"""
        self.best, self.peak = Best(path, leads), Best(path.with_name("peak.safetensors"), leads)

    def load(self) -> list[str]:
        """As Best.load(), of both."""
        return list(filter(None, (self.best.load(), self.peak.load())))

    def take(self, row: dict[str, float] | None,
             now: Callable[[], tuple[dict[str, np.ndarray], Facts]]) -> dict[str, float]:
        """Keep the weights that an evaluation finds the best. Returns its row to log.

        now     the weights, and what a checkpoint says of them
        """
        row = dict(row or {})
        if row.pop("peak", False) and self.peak.facts:
            self.best.keep(self.peak.tensors, self.peak.facts)
        if row.pop("best", False):
            self.best.keep(*now())
        return row

    def save(self, *, durable: bool) -> None:
        self.best.save(durable=durable)
        self.peak.save(durable=durable)

    def end(self) -> None:
        """The run is over: nothing needs the peak's file."""
        if self.peak.leads:
            files.remove(self.peak.path)
