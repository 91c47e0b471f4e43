"""Measurements of running environments.  a job -> a hash of trajectories; rates against Squared

Both are targets of child.run: env code runs in a child. Sizes: N agents, K action heads.
"""
from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..env.child_pipe import Link
from ..env.job import EnvJob
from ..env.obs_spec import ObsField
from ..env.vec import VecEnv
from ..training import backends
from .keeping import Facts

SEED = 2024             # of the trajectories' environments and actions
AGENTS = 1024           # of the trajectories, at most about this
BYTES = 64 << 20        # of observations that are hashed, at most
ROUNDS = 7              # of the rates: in each, both environments take a turn
STEPPING = 0.15         # seconds per turn
TRAINING = 0.3
PATIENCE = 30.0         # seconds after which two rounds are enough
FEW = 8                 # numbers of a part that are shown one by one
MOST_PARTS = 64         # lines of the table of observations


@dataclass(frozen=True)
class TrajectoriesJob(EnvJob):
    """What the child needs to play.

    envs, ticks     at most; fewer where an env has many agents, or sees much
    parts           of an observation, to be described by numbers; () if nobody asks
    """

    envs: int
    ticks: int
    parts: tuple[ObsField, ...] = ()


@dataclass(frozen=True)
class RatesJob:
    """What the child needs to compare two environments. squared: None to measure only one."""

    own: EnvJob
    squared: EnvJob | None
    rounds: int


def trajectories(job: TrajectoriesJob, link: Link) -> Facts:
    """A hash of random play from fixed seeds, and facts about the environment.

    The hash is SHA-256 over observations and action mask before each tick, and rewards, terminals
    and truncations after it, of all agents.
    """
    from ..env.agent_slots import random_actions
    from ..env.copies import make_copies

    resolved, library = job.config, job.open()
    watches = link.watches(library.armed)
    agents = library.agents_per_env(resolved.env, watches)
    envs = max(2, min(job.envs, AGENTS // agents))
    vec = make_copies(library, envs, watches, seed=SEED, threads=resolved.vec.num_threads,
                      env_settings=resolved.env)
    about, rng, digest = vec.description, np.random.default_rng(SEED), hashlib.sha256()
    ticks = max(8, min(job.ticks, BYTES // vec.observations.nbytes))
    seen: list[tuple[NDArray[np.generic], NDArray[np.float32]]] = []
    vec.reset()
    for _ in range(ticks):
        if link.stop:
            break
        digest.update(vec.observations.data)
        if vec.action_mask is not None:
            digest.update(vec.action_mask.data)
        vec.actions[:] = random_actions(vec, rng)
        vec.step()
        for rows in (vec.rewards, vec.terminals, vec.truncations):
            digest.update(rows.data)
        if job.parts:
            seen.append((vec.observations.copy(), vec.rewards.copy()))
    names = [*about.log_names, *vec.log()]
    vec.close()
    return {"statistics": quantities(job.parts, *map(np.concatenate, zip(*seen))) if seen else [],
            "hash": digest.hexdigest(), "envs": envs, "ticks": ticks,
            "about": {"agents_per_env": agents, "obs_size": about.obs_size,
                      "obs_dtype": about.obs_dtype.name, "act_sizes": list(about.act_sizes),
                      "mask_size": about.mask_size, "has_truncations": about.has_truncations,
                      "log_names": [name for name in dict.fromkeys(names) if name != "n"]}}


def quantities(parts: Sequence[ObsField], rows: NDArray[np.generic], rewards: NDArray[np.float32]
               ) -> list[Facts]:
    """Numbers of each part of an observation, and of the reward, as `check` has them of C.

    rows (S, D), rewards (S,). A part of few numbers has a line for each of them.
    """
    from ..checking.core.statistics import BINS, Quantity

    def quantity(name: str, values: NDArray[np.generic], element: int | None) -> Facts:
        values = values.astype(np.float64).ravel()
        values = values[np.isfinite(values)]
        low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
        bins = np.histogram(values, BINS, (low, high if high > low else low + 1))[0]
        mean, zeros = (values.mean(), (values == 0).mean()) if len(values) else (0.0, 0.0)
        return dict(Quantity(name, float(low), float(high), float(mean), float(zeros),
                             bins.tolist(), element).to_dict())

    found = []
    for part in parts:
        if part.count <= FEW:
            found += [quantity(part.name if part.count == 1 and part.name else
                               f"{part.name or 'observation'}[{number}]",
                               rows[:, part.first + number], part.first + number)
                      for number in range(part.count)]
        else:
            found.append(quantity(f"{part.name or 'observation'}, {part.count} numbers",
                                  rows[:, part.first:part.first + part.count], part.first))
    return [*found[:MOST_PARTS], quantity("reward", rewards, None)]


def rates(job: RatesJob, link: Link) -> Facts:
    """Agent steps per second of both environments: of stepping only, and of training.

    Turns alternate, so that other work on this machine slows both alike. The ratio is the median
    of the rounds' ratios.
    """
    return {"stepping": _contest(job, link, _Stepping, STEPPING),
            "training": _contest(job, link, _Training, TRAINING)}


def _contest(job: RatesJob, link: Link, kind: type[_Stepping] | type[_Training], seconds: float
             ) -> Facts:
    """The rates of both environments, turn by turn; or of the one alone."""
    envs = [kind(one, link) for one in (job.own, job.squared) if one is not None]
    for env in envs:                            # warm up: caches, threads, memory
        env.turn(seconds / 4)
    began, turns = time.perf_counter(), 0
    seen: list[list[float]] = [[] for _ in envs]
    while turns < job.rounds and not link.stop:
        both = list(zip(envs, seen))
        for env, rates in reversed(both) if turns % 2 else both:    # so that neither gains by it
            rates.append(env.turn(seconds))
        turns += 1
        link.emit("progress", done=turns, total=job.rounds)
        if turns >= 2 and time.perf_counter() - began > PATIENCE:
            break
    for env in envs:
        env.close()
    own = seen[0]
    if job.squared is None:
        return {"own": own, "low": min(own, default=0.0), "high": max(own, default=0.0)}
    ratios = [mine / theirs for mine, theirs in zip(*seen)] or [0.0]
    return {"own": own, "squared": seen[1], "ratio": statistics.median(ratios),
            "low": min(ratios), "high": max(ratios)}


class _Stepping:
    """Random actions; drawing them is not timed."""

    def __init__(self, job: EnvJob, link: Link):
        self.vec = _make_vec(job, link)
        self.rng, self.link = np.random.default_rng(SEED), link
        self.vec.reset()

    def turn(self, seconds: float) -> float:
        """Agent steps per second."""
        from ..env.agent_slots import random_actions

        vec, spent, ticks = self.vec, 0.0, 0
        began = time.perf_counter()
        while (spent < seconds and time.perf_counter() - began < 4 * seconds) or not ticks:
            vec.actions[:] = random_actions(vec, self.rng)
            before = time.perf_counter()
            vec.step()
            spent += time.perf_counter() - before
            ticks += 1
            if self.link.stop:
                break
        return float(ticks * vec.num_agents / spent)

    def close(self) -> None:
        self.vec.close()


class _Training:
    """Rollouts and updates, as in `train`."""

    def __init__(self, job: EnvJob, link: Link):
        self.vec, self.link = _make_vec(job, link), link
        self.trainer = backends.make_trainer(self.vec, job.config)

    def turn(self, seconds: float) -> float:
        """Agent steps per second."""
        began, epochs = time.perf_counter(), 0
        while time.perf_counter() - began < seconds or not epochs:
            self.trainer.rollout()
            self.trainer.update()
            epochs += 1
            if self.link.stop:
                break
        return float(epochs * self.trainer.batch_size / (time.perf_counter() - began))

    def close(self) -> None:
        if hasattr(self.trainer, "close"):
            self.trainer.close()
        self.vec.close()


def _make_vec(job: EnvJob, link: Link) -> VecEnv:
    from ..training.train_job import make_vec

    vec: VecEnv = make_vec(job.open(), job.config, 0, link)
    return vec
