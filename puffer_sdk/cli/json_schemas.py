"""The schemas of what `--format json` prints.  a command's name -> its JSON schema"""
from __future__ import annotations

from typing import Any

from ..base.documents import Failed, schema
from ..checking.core.result import CheckDocument, NotChecked
from ..pictures.recorded import EvalDocument
from ..sweeping.results import SweepDocument
from ..training.printed import RunsDocument, TrainDocument

# of each command the types of which one is printed
DOCUMENTS: dict[str, tuple[type, ...]] = {
    "check": (CheckDocument, NotChecked), "train": (TrainDocument, Failed),
    "eval": (EvalDocument, Failed), "runs": (RunsDocument, Failed),
    "sweep": (SweepDocument, Failed)}


def schema_of(command: str) -> dict[str, Any]:
    """Of `puffer-sdk COMMAND --format json`."""
    return schema(f"puffer-sdk {command} --format json", *DOCUMENTS[command])
