"""Save and load a training state.  tensors + facts <-> runs/NAME/NNNN/checkpoints/STEP.safetensors

A checkpoint is a safetensors file: any tool that reads the format reads the weights. Its metadata
holds what else a resumed run needs, as one JSON text under the key "puffer":

    format_version   2; a greater one is refused. 1 judged by the episodes that ended in training:
                     its "goal", "best" and "window" are no evaluations
    env              name, spec hash, observation size and type, head widths
    config           the resolved settings
    counters         epoch, global step, ... (the trainer's own)
    epoch, step      where the run was
    goal             when it was confirmed, if it was: {"goal", "step", "seconds"}
    evaluations      State of evaluations.py
    evaluation       of these weights: the run's claim, where it is about them
    kept             whether later checkpoints leave it there
    started          whether the environments start anew here, in any case
    replay           what leads back to the middle of episodes (journal.py): the epoch in which the
                     environments started, how many bytes of actions.journal to repeat, a checksum
"""
from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..base import files, ui
from ..base.errors import PufferError, RunError, UsageError
from ..settings.goal import Goal
from ..settings.values import Config

FORMAT_VERSION = 2


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint."""

    path: Path
    tensors: dict[str, np.ndarray]
    facts: dict                     # the metadata described above

    @property
    def step(self) -> int:
        """Agent steps trained before it was written."""
        return int(self.facts["step"])

    @cached_property
    def config(self) -> Config:
        """The settings it was trained with. Raises UsageError where this version knows them not."""
        with self.named():
            return Config.from_dict(self.facts["config"])

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """A refusal inside, of its tensors or settings, names this file."""
        try:
            yield
        except UsageError as error:
            error.where = f"{self.path}, {error.where}" if error.where else str(self.path)
            raise

    def reached(self, goal: Goal | None) -> dict | None:
        """{"goal", "step", "seconds"}: when an evaluation confirmed this goal; None if none did."""
        met = self.facts.get("goal") if self.facts["format_version"] > 1 else None
        return met if met and met["goal"] == str(goal) else None

    @property
    def evaluation(self) -> dict | None:
        """What the run's evaluation says of these weights; None where nobody measured them."""
        return self.facts.get("evaluation")


def save(path: Path, tensors: dict[str, np.ndarray], facts: dict, *,
         durable: bool = True) -> Path:
    """Write a checkpoint whole or not at all. Raises RunError (a full disk, say).

    durable     wait until it is on the disk
    """
    from safetensors.numpy import save as serialize

    facts = {"format_version": FORMAT_VERSION, **facts}
    tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    data = serialize(tensors, metadata={"puffer": json.dumps(facts, sort_keys=True)})
    with files.refused("cannot save the checkpoint; the ones before it are untouched", where=path,
                       hint="free some space, or choose another place with --runs-dir"):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, data, durable=durable)
    return path


def sweep(folder: Path) -> None:
    """Remove files that a killed writer left half. Call it only when nobody writes there."""
    for path in folder.glob(".*.safetensors.*"):
        with contextlib.suppress(OSError):
            path.unlink()


def missing(path: Path) -> UsageError:
    """What to raise where no file is, perhaps something else."""
    found = "a folder" if path.is_dir() else \
        "a link that leads nowhere" if path.is_symlink() else None
    return UsageError("there is no such checkpoint", where=path,
                      expected="a .safetensors file" if found else None, actual=found,
                      hint="puffer-sdk runs lists what there is")


def load(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises UsageError naming what is wrong with the file."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise missing(path)
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError("this file is damaged, or not a checkpoint", where=path,
                         detail=str(error), hint="take an earlier one from the same folder"
                         ) from None
    try:
        facts = json.loads(metadata["puffer"])
        version = int(facts["format_version"])
        if version <= FORMAT_VERSION:
            _ = {**facts["env"]}, {**facts["config"]}, {**facts["counters"]}
            _ = int(facts["epoch"]), int(facts["step"]), float(facts["seconds"])
    except (KeyError, ValueError, TypeError):
        raise UsageError("this safetensors file is not a puffer-sdk checkpoint", where=path,
                         expected="metadata under the key 'puffer'",
                         actual=", ".join(metadata) or "no metadata") from None
    if version > FORMAT_VERSION:
        raise UsageError("this checkpoint was written by a newer puffer-sdk", where=path,
                         expected=f"format_version {FORMAT_VERSION} or less", actual=version,
                         hint="upgrade puffer-sdk")
    other = [name for name, value in tensors.items() if value.dtype.kind != "f"]
    if other:
        raise UsageError(f"the checkpoint's tensor '{other[0]}' holds no floating-point numbers",
                         where=path, expected="float32", actual=tensors[other[0]].dtype,
                         hint="it was changed since puffer-sdk wrote it: take another one")
    bad = [name for name, value in tensors.items() if not np.isfinite(value).all()]
    if bad:
        raise RunError(f"the checkpoint holds non-finite numbers in {bad[0]}", where=path,
                       hint="take an earlier one from the same folder")
    return Checkpoint(path, tensors, facts)


def forget_replaced(newer: Checkpoint) -> None:
    """Remove the checkpoint that this one replaced: a writer killed in between left both."""
    older = sorted(path for path in newer.path.parent.glob("*.safetensors")
                   if path.name < newer.path.name)[-1:]
    for path in older:
        with contextlib.suppress(PufferError, OSError):         # one that cannot be read stays
            if not load(path).facts.get("kept", True):
                path.unlink()


def leads_back(path: Path) -> bool:
    """Whether a run that is resumed from this checkpoint ends as one that ran through."""
    try:
        facts = load(path).facts
    except PufferError:
        return False
    return bool(facts.get("started", True) or facts.get("replay"))


def check_fits(checkpoint: Checkpoint, env: dict, settings: Mapping[str, float]) -> None:
    """Raises UsageError if a checkpoint is of other sizes. The name may differ: a folder can be
    renamed, and other_name() says so.

    env         the same dict as facts["env"]: name, obs_size, obs_dtype, act_sizes, ...
    settings    [env] as it would be now
    """
    theirs = checkpoint.facts["env"]
    for key, what in (("obs_size", "observation size"), ("obs_dtype", "observation type"),
                      ("act_sizes", "set of action heads")):
        if theirs.get(key) == env[key]:
            continue
        if theirs.get("name") != env["name"]:
            raise UsageError(f"this checkpoint belongs to another environment, {theirs['name']}, "
                             f"with another {what}", where=checkpoint.path, expected=env[key],
                             actual=theirs.get(key))
        raise UsageError(f"this checkpoint was trained with another {what}",
                         where=checkpoint.path, expected=env[key], actual=theirs.get(key),
                         hint=_settings_hint(checkpoint, settings))


def other_name(checkpoint: Checkpoint | None, name: str) -> str | None:
    """What to say of a checkpoint that fits, if its environment had another name then."""
    theirs = checkpoint.facts["env"].get("name") if checkpoint else name
    return None if theirs == name else (
        f"the policy was trained as {theirs}: its sizes are those of {name}, so it is used")


def warn_of_other_name(checkpoint: Checkpoint | None, name: str) -> None:
    """other_name(), as a warning."""
    said = other_name(checkpoint, name)
    if said:
        ui.warn_once(said)


def _settings_hint(checkpoint: Checkpoint, settings: Mapping[str, float]) -> str:
    trained = checkpoint.facts["config"].get("env", {})
    other = [f"--env.{key.replace('_', '-')} {value:g}" for key, value in trained.items()
             if settings.get(key) != value]
    if not other:
        return "the environment has changed since: train anew"
    return f"it was trained with {' '.join(other)}"
