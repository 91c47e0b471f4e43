"""Save and load a training state.  tensors + facts <-> runs/NAME/NNNN/checkpoints/STEP.safetensors

A checkpoint is a safetensors file: any tool that reads the format reads the weights. Its metadata
holds what else a resumed run needs, as one JSON text under the key "puffer"; where the settings
name a class of the user, "mac" holds the MAC of the path and that text (base/trust.py):

    format_version   2; a greater one is refused. 1 judged by the episodes that ended in training:
                     its "goal", "best" and "window" are no evaluations; train.scale_obs and
                     train.encoder_scale stood for obs_scale, and the weights took bytes divided by
                     255 with the first of them
    checksum         CRC-32 of the tensors; checkpoints of older versions have none
    env              name, spec hash, observation size and type, head widths
    config           the resolved settings
    counters         epoch, global step, ... (the trainer's own)
    epoch, step      where the run was
    goal             when it was confirmed, if it was: {"goal", "step", "seconds"}
    evaluations      State of looks.py
    evaluation       of these weights: the run's claim, where it is about them
    row              of metrics.jsonl, to be written with the run's claim: [[name, number], ...]
    kept             whether later checkpoints leave it there
    own              state of the user's own functions (own_state.py), whose tensors are own.NAME
    worlds           what vec.set() has changed, for environments that start anew (env/worlds.py)
    started          whether the environments start anew here, in any case
    replay           what leads back to the middle of episodes (action_log.py): the epoch in which
                     the environments started, how many bytes of actions.journal to repeat, a
                     checksum
"""
from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..base import files, records, trust, ui
from ..base.errors import Damaged, PufferError, RunError, UsageError
from ..env.library import Description
from ..interop.python_envs import layouts
from ..scoring.kept_scores import Claim
from ..scoring.words import claimed
from ..settings import encoder, factors, torch_class
from ..settings.goal import Goal
from ..settings.table import Policy
from ..settings.texts import show
from ..settings.values import Config
from .log_window import Window
from .run_records import Env, Facts, FormerTrain, Reached

FORMAT_VERSION = 2


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint."""

    path: Path
    tensors: dict[str, np.ndarray]
    facts: Facts                    # the metadata described above, as the file has them

    @property
    def step(self) -> int:
        """Agent steps trained before it was written."""
        return int(self.facts["step"])

    @cached_property
    def config(self) -> Config:
        """The settings it was trained with. Raises UsageError for unknown settings."""
        with self.named():
            return Config.from_dict(_with_obs_scale(self.facts))

    def with_class(self, spec: str) -> Checkpoint:
        """The same with another file of its network; "": the one that it names."""
        if not spec:
            return self
        config = self.facts["config"]
        policy = {**config["policy"], "torch_class": spec}
        facts: Facts = {**self.facts, "config": {**config, "policy": policy}}
        return replace(self, facts=facts)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Errors raised inside, about its tensors or settings, name this file."""
        try:
            yield
        except UsageError as error:
            error.where = f"{self.path}, {error.where}" if error.where else str(self.path)
            raise

    def reached(self, goal: Goal | None) -> Reached | None:
        """When an evaluation confirmed this goal; None if none did."""
        met = self.facts.get("goal") if self.facts["format_version"] > 1 else None
        return met if met and met["goal"] == str(goal) else None

    @property
    def evaluation(self) -> Claim | None:
        """The run's evaluation of these weights; None if not measured."""
        return self.facts.get("evaluation")


def save(path: Path, tensors: Mapping[str, np.ndarray], facts: Facts, *,
         durable: bool = True) -> Path:
    """Write a checkpoint whole or not at all. Raises RunError (a full disk, say).

    durable     wait until it is on the disk
    """
    from safetensors.numpy import save as serialize

    tensors = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    facts = {"format_version": FORMAT_VERSION, **facts, "checksum": checksum(tensors)}
    text = json.dumps(facts, sort_keys=True)
    metadata = {"puffer": text}         # one key: safetensors writes several in any order
    if torch_class.specs(facts["config"]):
        metadata["mac"] = trust.mac("checkpoint", path, text)
    data = serialize(tensors, metadata=metadata)
    with files.refused("cannot save the checkpoint; the ones before it are untouched", where=path,
                       hint="free some space, or choose another place with --runs-dir"):
        files.mkdir(path.parent)
        files.write(path, data, durable=durable)
    return path


def checksum(tensors: Mapping[str, np.ndarray]) -> str:
    """Eight hex digits: CRC-32 of all names, types, shapes and values."""
    crc = 0
    for name in sorted(tensors):
        value = tensors[name]
        crc = zlib.crc32(f"{name} {value.dtype.str} {value.shape}".encode(), crc)
        crc = zlib.crc32(np.ascontiguousarray(value).data, crc)
    return f"{crc:08x}"


def sweep(folder: Path) -> None:
    """Remove partial files of a killed writer. Call it only when no process writes there."""
    for path in folder.glob(".*.safetensors.*"):
        with contextlib.suppress(OSError):
            files.remove(path)


def missing(path: Path) -> UsageError:
    """The error for a path that is not a file."""
    found = "a folder" if path.is_dir() else \
        "a link that leads nowhere" if path.is_symlink() else None
    return UsageError("there is no such checkpoint", where=path,
                      expected="a .safetensors file" if found else None, actual=found,
                      hint="puffer-sdk runs lists all runs")


def load(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises UsageError naming what is wrong with the file."""
    path = Path(path)
    if path.is_dir():
        raise missing(path)
    try:
        data = records.content(path, "the checkpoint", _memory())
        metadata, tensors = _read(data, path)
        facts = _read_facts(metadata, path)
        if facts.get("checksum", found := checksum(tensors)) != found:
            raise Damaged("the checkpoint's tensors are damaged", where=path,
                          expected=f"the checksum {facts['checksum']}", actual=found)
    except FileNotFoundError:
        raise missing(path) from None
    except Damaged as error:
        error.hint = error.hint or "take an earlier one from the same folder"
        raise
    other = [name for name, value in tensors.items() if value.dtype.kind != "f"]
    if other:
        raise UsageError(f"the checkpoint's tensor '{other[0]}' is not floating-point",
                         where=path, expected="float32", actual=tensors[other[0]].dtype,
                         hint="it was changed after puffer-sdk wrote it: choose another one")
    bad = [name for name, value in tensors.items() if not np.isfinite(value).all()]
    if bad:
        raise RunError(f"the checkpoint has non-finite numbers in {bad[0]}", where=path,
                       hint="take an earlier one from the same folder")
    if trust.equal(metadata.get("mac"), trust.mac("checkpoint", path, metadata["puffer"])):
        torch_class.name_all(facts["config"], None)
    with records.read_as("the checkpoint's metadata", path):
        return Checkpoint(path, _as_of_today(tensors, facts), facts)


def _memory() -> int:
    """A quarter of this machine's memory, in bytes: the largest file to read."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4


def _read(data: bytes, path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Metadata and tensors of a safetensors file. Raises Damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as deserialize

    try:
        tensors = deserialize(data)
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, OverflowError,
            MemoryError) as error:
        raise Damaged("this file is damaged, or not a checkpoint", where=path,
                      detail=str(error)) from None
    size = int.from_bytes(data[:8], "little")
    metadata = records.parse(data[8:8 + size], path).get("__metadata__") or {}
    return metadata, {name: value if value.flags.writeable else value.copy()
                      for name, value in tensors.items()}


def _read_facts(metadata: dict[str, str], path: Path) -> Facts:
    """The facts in the metadata. Raises UsageError."""
    if "puffer" not in metadata:
        raise Damaged("this safetensors file is not a puffer-sdk checkpoint", where=path,
                      expected="metadata under the key 'puffer'",
                      actual=", ".join(metadata) or "no metadata")
    what = "the checkpoint's metadata"
    facts: Facts = records.parse(metadata["puffer"], path, what)
    version = records.convert(facts, dict[str, Any], path, what).get("format_version")
    if records.convert(version, int, f"{path}, format_version", what) > FORMAT_VERSION:
        raise UsageError("this checkpoint was written by a newer puffer-sdk", where=path,
                         expected=f"format_version {FORMAT_VERSION} or less", actual=version,
                         hint="upgrade puffer-sdk")
    records.convert(facts, Facts, path, what)
    records.convert(facts["config"].get("train", {}), FormerTrain, f"{path}, config.train", what)
    with records.read_as(what, path):
        layouts.from_dict(facts["env"].get("layout"))
        layouts.actions_from_dict(facts["env"].get("actions"))
        Window().load(facts.get("window", []))
        if claim := facts.get("evaluation"):
            claimed(claim)
    return facts


def env_facts(about: Description, name: str, spec_hash: str | None = None) -> Env:
    """What a checkpoint says of the environment of this name."""
    facts: Env = {"name": name, "spec_hash": spec_hash, "obs_size": about.obs_size,
                  "obs_dtype": about.obs_dtype.name, "act_sizes": list(about.act_sizes),
                  "masked": about.mask_size > 0, "comes_and_goes": about.has_alive}
    if about.layout is not None:
        facts["layout"] = about.layout.to_dict()
    if about.actions is not None:
        facts["actions"] = about.actions.to_dict()
    return facts


def _with_obs_scale(facts: Facts) -> dict[str, dict[str, Any]]:
    """The settings, with obs_scale in place of earlier versions' keys."""
    tree = facts["config"]
    train = tree.get("train", {})
    if "scale_obs" not in train:
        return tree
    value = factors.from_former(train, in_bytes=facts["env"].get("obs_dtype") == "uint8",
                                own_network=bool(tree.get("policy", {}).get("torch_class")))
    kept = {name: train[name] for name in train if name not in ("scale_obs", "encoder_scale")}
    return {**tree, "train": {**kept, "obs_scale": value}}


def _as_of_today(tensors: Mapping[str, np.ndarray], facts: Facts) -> dict[str, np.ndarray]:
    """Tensors of earlier versions such that the encoder takes bytes as they are, and its momentum
    is that of gradients by observations times their factors."""
    train, found = facts["config"].get("train", {}), dict(tensors)
    if facts["config"].get("policy", {}).get("torch_class"):
        return found
    if train.get("scale_obs") and facts["env"].get("obs_dtype") == "uint8":
        found["encoder"] = found["encoder"] / np.float32(factors.BYTE)
    if train.get("encoder_scale") and "muon.encoder" in found:
        found["muon.encoder"] = found["muon.encoder"] * np.float32(train["encoder_scale"])
    return found


def forget_replaced(newer: Checkpoint) -> None:
    """Remove the checkpoint that this one replaced, if a killed writer left both."""
    older = sorted(path for path in newer.path.parent.glob("*.safetensors")
                   if path.name < newer.path.name)[-1:]
    for path in older:
        with contextlib.suppress(PufferError, OSError):         # one that cannot be read stays
            if not load(path).facts.get("kept", True):
                files.remove(path)


def leads_back(path: Path) -> bool:
    """Whether a run resumed from this checkpoint ends as an uninterrupted one."""
    try:
        facts = load(path).facts
    except PufferError:
        return False
    return bool(facts.get("started", True) or facts.get("replay"))


def check_fits(checkpoint: Checkpoint, env: Mapping[str, object], settings: Mapping[str, float]
               ) -> None:
    """Raises UsageError if a checkpoint is of other sizes. The name may differ: a folder can be
    renamed, and other_name() says so.

    env         the same dict as facts["env"]: name, obs_size, obs_dtype, act_sizes, ...
    settings    [env] as it would be now
    """
    theirs: Mapping[str, object] = checkpoint.facts["env"]
    for key, what in (("obs_size", "observation size"), ("obs_dtype", "observation type"),
                      ("act_sizes", "set of action heads")):
        if theirs.get(key) == env[key]:
            continue
        if theirs.get("name") != env["name"]:
            raise UsageError(f"this checkpoint belongs to another environment, {theirs['name']}, "
                             f"with another {what}", where=checkpoint.path, expected=env[key],
                             actual=theirs.get(key),
                             hint=f"`puffer-sdk runs {env['name']}` lists those of {env['name']}")
        raise UsageError(f"this checkpoint was trained with another {what}",
                         where=checkpoint.path, expected=env[key], actual=theirs.get(key),
                         hint=_settings_hint(checkpoint, settings))


def check_sees(checkpoint: Checkpoint, policy: Policy) -> None:
    """Raises UsageError if a checkpoint's weights are of a network that sees other parts of a row
    than the one that is to take them, of these settings."""
    theirs, size = checkpoint.config.policy, int(checkpoint.facts["env"]["obs_size"])
    if theirs.torch_class or policy.torch_class:
        return
    found, wanted = (encoder.show(encoder.parts_of(each.encoder, size))
                     for each in (theirs, policy))
    if found != wanted:
        raise UsageError("this checkpoint was trained with another encoder", where=checkpoint.path,
                         expected=wanted, actual=found, hint=f"--policy.encoder '{found}'")


def other_name(checkpoint: Checkpoint | None, name: str) -> str | None:
    """The note for a matching checkpoint whose environment had another name."""
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
    other = [f"--env.{key.replace('_', '-')} {show(value)}" for key, value in trained.items()
             if settings.get(key) != value]
    if not other:
        return "the environment has changed since: train again"
    return f"it was trained with {' '.join(other)}"
