"""Results that survive an interruption.  a stage and what it depends on -> its result, kept

    STAGE-KEY.json      {"facts", "timings", "files": {name: digest}, "mac"}
    STAGE-KEY.gif ...   files that belong to it
    runs/NAME/NNNN/     an unfinished training

in build/report/ of an environment in C, in runs/NAME/.report/ of one in Python.

An entry is written when its stage is done, after its files, atomically. KEY covers everything that
the stage depends on, so a stale entry is never read. The MAC of base/trust.py proves that a command
of this user wrote it: entries that came with a clone are measured again.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ..base import files, paths, records, trust, ui
from ..base.errors import UsageError
from ..toolchain.libraries import digest
from ..training.metrics import without_nan

ENTRIES = 24                # kept per stage: a stage may have an entry for each seed
Facts: TypeAlias = dict[str, records.Json]      # what was measured, JSON-able
Result = tuple[Facts, Facts]                    # facts, and timings
HINT = "free some space, or make the folder writable"


def key_of(*parts: object) -> str:
    """Sixteen hex digits of JSON-able parts."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Kept:
    """The record of an entry."""

    facts: Facts
    timings: Facts
    files: dict[str, str]
    mac: str = ""

    def wanted(self, name: str) -> str:
        """The MAC that a command of this user puts into the record of this name."""
        return trust.mac("report", name, json.dumps([self.facts, self.timings, self.files],
                                                    sort_keys=True))


class Entry:
    """The result of one stage.

    facts      the same in every measurement of the same thing
    timings    what differs from one measurement to the next
    """

    def __init__(self, folder: Path, stage: str, key: str):
        self.folder, self.stage, self.key = folder, stage, key
        self.facts: Facts = {}
        self.timings: Facts = {}

    @property
    def record(self) -> Path:
        return self.path(".json")

    def path(self, suffix: str) -> Path:
        """The path of a file of this entry."""
        return self.folder / f"{self.stage}-{self.key}{suffix}"

    def read(self) -> bool:
        """Read facts and timings. False if the entry or one of its files is missing or damaged, or
        if no command of this user wrote it."""
        with suppress(OSError, UsageError):
            kept = records.read(self.record, Kept, "what the report has measured")
            if trust.equal(kept.mac, kept.wanted(self.record.name)) and all(
                    digest(files.below(self.folder, name, "a file of the report")) == wanted
                    for name, wanted in kept.files.items()):
                self.facts, self.timings = kept.facts, kept.timings
                return True
        return False

    def write(self, facts: Facts, timings: Facts, suffixes: tuple[str, ...]) -> None:
        self.facts, self.timings = facts, timings
        digests = {self.path(suffix).name: digest(self.path(suffix)) for suffix in suffixes}
        kept = Kept(*json.loads(json.dumps([facts, timings, digests])))     # as they will be read
        text = json.dumps({**vars(kept), "mac": kept.wanted(self.record.name)}, allow_nan=False)
        files.save(self.record, text + "\n", what="what the report has measured", hint=HINT)
        self.prune()

    def prune(self) -> None:
        with suppress(OSError):
            old = sorted(self.folder.glob(f"{self.stage}-*.json"),
                         key=lambda path: path.stat().st_mtime)
            for record in old[:-ENTRIES]:
                for file in self.folder.glob(f"{record.stem}.*"):
                    files.remove(file)


class Keeper:
    """Runs stages, or takes their results from the folder.

    fresh      measure everything again
    """

    def __init__(self, folder: Path, *, fresh: bool = False):
        self.folder = paths.writable(folder, purpose="what a report measures")
        self.fresh = fresh
        self.taken: list[str] = []          # stages whose result was already kept
        self.measured: list[str] = []

    def stage(self, name: str, label: str, parts: object,
              work: Callable[[Entry], Result], *suffixes: str) -> Entry:
        """The kept entry, or that of work(entry) -> (facts, timings).

        suffixes    those of the files that work writes, to entry.path(suffix)
        Facts with the key "failed" are not kept: the next report tries again.
        """
        entry = Entry(self.folder, name, key_of(name, parts))
        if not self.fresh and entry.read():
            self.taken.append(name)
            ui.say(f"{label}: kept")
            return entry
        ui.say(f"{label} ...")
        facts, timings = without_nan(work(entry))
        self.measured.append(name)
        if "failed" in facts:
            entry.facts, entry.timings = facts, timings
        else:
            entry.write(facts, timings, suffixes)
        return entry
