"""The best weights of a run, and the file that holds them.  tensors + facts -> best.safetensors

What is best is for evaluations.py to say. The file is written when a checkpoint is, just before it.
"""
from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..base import files
from ..base.errors import PufferError
from . import checkpoint


class Best:
    """The weights that rank 0 keeps; the other ranks keep none."""

    def __init__(self, path: Path, leads: bool):
        self.path, self.leads = path, leads
        self.tensors: dict[str, np.ndarray] = {}
        self.facts: dict = {}
        self.is_new = False             # not yet written

    def load(self) -> str:
        """Take what an earlier part of the run kept. Returns why it cannot be read, or "". Raises
        Refused where something else than a file is in its place: it could not be written either.
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

    def keep(self, tensors: Mapping[str, np.ndarray], facts: Mapping) -> None:
        if self.leads:
            self.tensors, self.facts = dict(tensors), {**facts, "kept": True}
            self.is_new = True

    def of(self, best: Mapping | None) -> dict[str, np.ndarray] | None:
        """The weights that an evaluation found best; None where they are of an abandoned future."""
        return self.tensors if best and self.facts.get("step") == best["step"] else None

    def claim(self, claim: Mapping) -> None:
        """What the run says of them at its end."""
        if self.facts.get("step") == claim["step"]:
            self.facts["evaluation"] = dict(claim)
            self.is_new = True

    def save(self, *, durable: bool) -> None:
        if self.is_new:
            checkpoint.save(self.path, self.tensors, self.facts, durable=durable)
            self.is_new = False
