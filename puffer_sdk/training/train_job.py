"""The job of a training's child process, and its envs.  TrainJob, epoch -> a VecEnv"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..distributed.rank import Place
from ..env import shared_memory
from ..env.child_pipe import Link
from ..env.job import EnvJob
from ..env.library import EnvLibrary
from ..env.seeds import mix_seed
from ..settings.values import Config
from ..settings.world_values import Change

if TYPE_CHECKING:
    from ..env.vec import VecEnv


@dataclass(frozen=True)
class TrainJob(EnvJob):
    """What the child needs to train."""

    spec_hash: str
    checkpoints: Path       # folder to save them in
    best: Path              # the file of the best weights
    resume: Path | None     # the checkpoint to resume
    model: Path | None      # the checkpoint whose weights a new run starts from
    place: Place | None = None      # among the processes that share the run
    given: Mapping[str, object] = field(default_factory=dict)   # settings of the command line


def make_vec(library: EnvLibrary, resolved: Config, epoch: int, link: Link, first_env: int = 0,
             worlds: Iterable[Change] = ()) -> VecEnv:
    """Fresh envs. Their seeds depend only on the run's seed, the epoch and the env's number, of
    which the first here is `first_env`. worlds: what the run has changed of
    their settings, of which those of tick 0 hold from the start"""
    from ..base import philox
    from ..env import vec as envs

    vec, seed = resolved.vec, philox.env_seed(resolved.train.seed, 0, epoch)
    seeds = [mix_seed(seed, first_env + env) for env in range(vec.total_agents)] \
        if first_env else None
    made = envs.make_vec(library, total_agents=vec.total_agents, num_buffers=vec.num_buffers,
                         seed=seed, threads=min(vec.num_threads, shared_memory.WORKERS),
                         adaptive=True,
                         env_settings=resolved.env, watches=link.watches(library.armed),
                         env_seeds=seeds)
    made.set_again(each for each in worlds if not each["tick"])
    return made
