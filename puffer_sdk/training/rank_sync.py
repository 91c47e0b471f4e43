"""Combine the ranks of a run.  one rank's part -> that of the whole run

All ranks make the same calls in the same order. A process on its own is a group of one: its part
is the whole. Checkpoints hold the whole run, in the order of its agents, and do not depend on the
number of ranks.
"""
from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, TypeVar

import numpy as np

from ..base import files
from ..base.errors import RunError
from ..distributed import agreeing
from ..distributed.group import Alone
from ..env import encoder_choice, random_play
from ..env.agent_slots import ended, living
from ..env.child_pipe import Link
from ..env.library import EnvLibrary
from ..env.vec import VecEnv
from ..settings.encoder import FLAT, PRESETS
from ..settings.table import AUTO, ENCODER, OBS_SCALE
from ..settings.values import Config
from . import backends
from . import checkpoint as checkpoints
from .action_log import Journal, checksum, shown
from .checkpoint import Checkpoint
from .ended_agents import Endings
from .run_records import Replay
from .train_job import TrainJob, make_vec

T = TypeVar("T")        # of what JSON has


@dataclass(frozen=True)
class Epoch:
    """An epoch's facts, equal on all ranks."""

    log: dict[str, float]       # of the whole run: means, and their number n
    stop: int                   # the rank that was told to end, or -1
    due: bool                   # whether rank 0's clock asks for a checkpoint
    cpu: float                  # CPU seconds of all ranks
    restarts: int               # copies of Python environments that were made anew
    slowest: int                # the rank that waited least: the others wait for it
    lacking: int                # agents that have not ended an episode since the envs started


class RankFacts(TypedDict):
    """What a rank tells the others after an epoch."""

    log: dict[str, float]
    stop: bool
    due: bool
    cpu: float
    restarts: int
    waited: float
    lacking: int
    weights: int        # their checksum


class Joint:
    """The ranks of a run, for its worker."""

    def __init__(self, group: Alone):
        self.group, self.leads = group, group.rank == 0

    # -- at the start

    def agree(self, job: TrainJob) -> tuple[Config, str]:
        """The settings of all ranks, and the instruction set that all have."""
        if self.group.size == 1:
            return job.config, "auto"
        shared = self.group.share(agreeing.facts_of(
            job.config, spec_hash=job.spec_hash, folder=job.folder, given=job.given,
            resumes=job.resume is not None))
        config = agreeing.agree(shared, self.group.hosts, job.config)
        paths = [facts["paths"] for facts in
                 self.group.share({"paths": backends.available_paths(config)})]
        return config, agreeing.best_path(paths, self.group.hosts)

    def checkpoint(self, path: Path | None) -> Checkpoint | None:
        """Rank 0's checkpoint, on every rank: other machines lack the file."""
        if self.group.size == 1:
            return checkpoints.load(path) if path else None
        data = self.group.broadcast(files.read(path) if path else b"")
        if not data:
            return None
        if self.leads and path:
            return checkpoints.load(path)
        with files.private() as folder:
            copy = folder / "from-rank-0.safetensors"
            files.write(copy, data)
            return checkpoints.load(copy)

    def with_choices(self, job: TrainJob, library: EnvLibrary, past: Checkpoint | None,
                     model: Checkpoint | None, link: Link) -> Config:
        """The job's settings with encoder and obs_scale, where they are chosen automatically:
        those of the run so far, or by the description, and by random play of rank 0."""
        if (begun := past or model) and job.config.policy.encoder in (AUTO, *PRESETS):
            had = begun.config.policy.encoder        # earlier versions had no other
            job = replace(job, config=job.config.with_auto(
                ENCODER, FLAT if had == AUTO else had, "as before"))
        job = replace(job, config=encoder_choice.of_compiled(
            job, library.describe(job.config.env)))
        for found in filter(None, (past, model)):
            checkpoints.check_sees(found, job.config.policy)
        if job.config.train.obs_scale != AUTO:
            return job.config
        scale = (past.config.train.obs_scale, "as before") if past else self.from_first(
            lambda: random_play.measure_obs_scale(job, library, link))
        return job.config.with_auto(OBS_SCALE, *scale)

    def from_first(self, make: Callable[[], T]) -> T:
        """What rank 0 makes, JSON-able, on every rank."""
        return self.of_rank_0(make() if self.leads else None)

    def first_env(self, library: EnvLibrary, part: Config, link: Link) -> int:
        """The global number of this rank's first env; part: its settings"""
        if self.group.size == 1:
            return 0
        if part.of_python:
            envs = part.vec.total_agents // library.agents_per_env(part.env)
        else:                   # envs may differ in size: how many there are is known only then
            with make_vec(library, part, 0, link) as vec:
                envs = vec.num_envs
        return sum(facts["envs"] for facts in self.group.share({"envs": envs})[:self.group.rank])

    def total(self, number: float) -> float:
        """The sum over all ranks, of counts."""
        return math.fsum(facts["number"] for facts in self.group.share({"number": number}))

    # -- after an epoch

    def after_epoch(self, log: Mapping[str, float], *, stop: bool, due: bool, cpu: float,
                    restarts: int, waited: float, lacking: int,
                    weights: Mapping[str, np.ndarray]) -> Epoch:
        """The facts of all ranks. Raises RunError if the weights of two ranks differ."""
        if self.group.size == 1:
            return Epoch(dict(log), 0 if stop else -1, due, cpu, restarts, 0, lacking)
        mine: RankFacts = {"log": dict(log), "stop": bool(stop), "due": bool(due), "cpu": cpu,
                           "restarts": restarts, "waited": waited, "lacking": lacking,
                           "weights": weights_checksum(weights)}
        facts = self.group.share(mine)
        self.check_equal([each["weights"] for each in facts])
        stops = [rank for rank, each in enumerate(facts) if each["stop"]]
        waits = [each["waited"] for each in facts]
        return Epoch(combined([each["log"] for each in facts]), stops[0] if stops else -1,
                     facts[0]["due"], math.fsum(each["cpu"] for each in facts),
                     sum(each["restarts"] for each in facts), waits.index(min(waits)),
                     sum(each["lacking"] for each in facts))

    def check_equal(self, checksums: Sequence[int]) -> None:
        other = [rank for rank, value in enumerate(checksums) if value != checksums[0]]
        if other:
            names = ", ".join(f"rank {rank} on {self.group.hosts[rank]}" for rank in other)
            raise RunError(f"weights of {names} differ from rank 0 on {self.group.hosts[0]}",
                           where="after an epoch",
                           expected="the same bytes on every rank", actual="others",
                           hint="faulty hardware, or another processor; the last checkpoint is "
                                "good")

    def record(self, journal: Journal, actions: np.ndarray) -> None:
        """Append the actions (N, T, K) of all ranks, on rank 0."""
        if self.group.size == 1:
            journal.append(actions)
            return
        parts = self.group.gather(journal.pack(actions))
        if parts is None:
            journal.size += journal.epoch_bytes
        else:
            journal.append(np.concatenate([journal.unpack(part, len(actions)) for part in parts]))

    # -- for a checkpoint, and after one

    def carried(self, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The recurrent state of all agents, on rank 0; empty elsewhere."""
        whole = {}
        for name, tensor in tensors.items():
            parts = self.group.gather(np.ascontiguousarray(tensor).tobytes())
            if parts is not None:
                whole[name] = np.concatenate([np.frombuffer(part, tensor.dtype).reshape(
                    tensor.shape) for part in parts])
        return whole

    def part(self, tensors: Mapping[str, np.ndarray], agents: int) -> dict[str, np.ndarray]:
        """This rank's rows of the recurrent state."""
        first = self.group.rank * agents
        return {name: tensor[first:first + agents] if name.startswith("carried.") else tensor
                for name, tensor in tensors.items()}

    def checksum(self, vec: VecEnv) -> int:
        """Of the arrays of all ranks' envs."""
        return checksum([facts["shown"] for facts in self.group.share({"shown": shown(vec)})])

    def of_rank_0(self, found: T | None) -> T:
        """What rank 0 has found, JSON-able, on all ranks; the others give None."""
        if self.group.size == 1 and found is not None:
            return found
        shared: T = json.loads(self.group.broadcast(json.dumps(found).encode()
                                                    if self.leads else None))
        return shared

    def repeat(self, vec: VecEnv, journal: Journal, replay: Replay, endings: Endings) -> str | None:
        """Play the recorded actions. Returns why the envs differ from before, or None."""
        vec.reset()
        entries, changes = 0.0, list(replay.get("worlds", ()))
        changes = [each for each in changes if each["tick"]]
        try:
            for actions in self.recorded(journal, replay["bytes"], vec.num_agents):
                while changes and changes[0]["tick"] <= vec.ticks:
                    vec.set_again([changes.pop(0)])
                for tick in range(actions.shape[1]):
                    lived = living(vec)
                    vec.actions[:] = actions[:, tick]
                    vec.step()
                    endings.note(ended(vec, lived)[:, None], 0.0)
                entries += vec.log().get("n", 0.0)      # after each epoch, as it was
        except (OSError, ValueError) as error:
            return f"the recorded actions cannot be read ({error})"
        vec.set_again(changes)
        known = replay["checksum"], replay["restarts"]["entries"]
        if (self.checksum(vec), self.total(entries)) != known:
            return "with the same seeds and actions, they do not repeat what they did"
        return None

    def recorded(self, journal: Journal, size: int, agents: int) -> Iterator[np.ndarray]:
        """This rank's actions of the epochs in the first `size` bytes of rank 0's journal.

        Raises ValueError on all ranks where they cannot be read.
        """
        if self.group.size == 1:
            yield from journal.read(size)
            return
        first, epochs = self.group.rank * agents, journal.read(size)        # read: by rank 0 alone
        for _ in range(size // journal.epoch_bytes):
            data = self.group.broadcast(_packed(journal, epochs) if self.leads else None)
            if not data:
                raise ValueError("rank 0 cannot read them")
            yield journal.unpack(data, journal.shape[0])[first:first + agents]
        journal.size = size


def _packed(journal: Journal, epochs: Iterator[np.ndarray]) -> bytes:
    """The next epoch's bytes; none where it cannot be read."""
    try:
        return journal.pack(next(epochs))
    except (OSError, ValueError):
        return b""


def weights_checksum(weights: Mapping[str, np.ndarray]) -> int:
    crc = 0
    for array in weights.values():
        crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
    return crc


def combined(logs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """One log of several: means weighted by n, in their order."""
    logs = [log for log in logs if log]
    if not logs:
        return {}
    entries = math.fsum(log["n"] for log in logs)
    names = dict.fromkeys(name for log in logs for name in log if name != "n")
    return {**{name: math.fsum(log["n"] * log.get(name, 0.0) for log in logs) / entries
               for name in names}, "n": entries}


def choices_of(config: Config) -> dict[str, list[str]]:
    """{setting: [value, where it is from]} of what with_choices() finds, for the parent."""
    return {full: [str(config[full]), config.origin[full]] for full in (ENCODER, OBS_SCALE)}
