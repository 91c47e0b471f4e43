"""Measurements of running environments.  a job -> a hash of trajectories; rates against Squared

Both are targets of child.run: env code runs in a child. Sizes: N agents, K action heads.
"""
from __future__ import annotations

import hashlib
import statistics
import time
from pathlib import Path

import numpy as np

from ..env import child
from ..settings.config import Config
from ..training import backends

SEED = 2024             # of the trajectories' environments and actions
ENVS = 32               # of the trajectories; fewer where an env has many agents
AGENTS = 1024           # of the trajectories, at most about this
TICKS = 256
BYTES = 64 << 20        # of observations that are hashed, at most
ROUNDS = 7              # of the rates: in each, both environments take a turn
STEPPING = 0.15         # seconds per turn
TRAINING = 0.3
PATIENCE = 30.0         # seconds after which two rounds are enough


def trajectories(job: dict, link: child.Link) -> dict:
    """A hash of random play from fixed seeds, and facts about the environment.

    The hash is SHA-256 over observations and action mask before each tick, and rewards, terminals
    and truncations after it, of all agents.
    """
    from ..env.library import Library
    from ..env.vec import VecEnv
    from ..policy.players import random_actions

    resolved = Config.from_dict(job["config"])
    library = Library(job["library"], Path(job["folder"]))
    watches = link.watches()
    agents = library.agents_per_env(resolved.env, watches)
    envs = max(2, min(ENVS, AGENTS // agents))
    vec = VecEnv(library, total_agents=envs * agents, seed=SEED, threads=job["threads"],
                 env_settings=resolved.env, watches=watches)
    about, rng, digest = vec.description, np.random.default_rng(SEED), hashlib.sha256()
    ticks = max(8, min(TICKS, BYTES // vec.observations.nbytes))
    vec.reset()
    for _ in range(ticks):
        if link.stop:
            break
        digest.update(vec.observations)
        if vec.action_mask is not None:
            digest.update(vec.action_mask)
        vec.actions[:] = random_actions(vec, rng)
        vec.step()
        for rows in (vec.rewards, vec.terminals, vec.truncations):
            digest.update(rows)
    vec.close()
    return {"hash": digest.hexdigest(), "envs": envs, "ticks": ticks,
            "about": {"agents_per_env": agents, "obs_size": about.obs_size,
                      "obs_dtype": about.obs_dtype.name, "act_sizes": list(about.act_sizes),
                      "mask_size": about.mask_size, "has_truncations": about.has_truncations,
                      "log_names": list(about.log_names)}}


def rates(job: dict, link: child.Link) -> dict:
    """Agent steps per second of both environments: of stepping only, and of training.

    Turns alternate, so that other work on this machine slows both alike. The ratio is the median
    of the rounds' ratios.
    """
    return {"stepping": _contest(job, link, _Stepping, STEPPING),
            "training": _contest(job, link, _Training, TRAINING)}


def _contest(job: dict, link: child.Link, kind, seconds: float) -> dict:
    own, squared = (kind(job[name], link) for name in ("own", "squared"))
    rounds = job["rounds"]
    for one in (own, squared):                  # warm up: caches, threads, memory
        one.turn(seconds / 4)
    began, pairs = time.perf_counter(), []
    while len(pairs) < rounds and not link.stop:
        if len(pairs) % 2:                      # swap the order, so that neither gains by it
            theirs, mine = squared.turn(seconds), own.turn(seconds)
        else:
            mine, theirs = own.turn(seconds), squared.turn(seconds)
        pairs.append((mine, theirs))
        link.emit("progress", done=len(pairs), total=rounds)
        if len(pairs) >= 2 and time.perf_counter() - began > PATIENCE:
            break
    for one in (own, squared):
        one.close()
    ratios = [mine / theirs for mine, theirs in pairs] or [0.0]
    return {"own": [mine for mine, _ in pairs], "squared": [theirs for _, theirs in pairs],
            "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}


class _Stepping:
    """Random actions; drawing them is not timed."""

    def __init__(self, job: dict, link: child.Link):
        self.vec = _make_vec(job, link)
        self.rng, self.link = np.random.default_rng(SEED), link
        self.vec.reset()

    def turn(self, seconds: float) -> float:
        """Agent steps per second."""
        from ..policy.players import random_actions

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
        return ticks * vec.num_agents / spent

    def close(self) -> None:
        self.vec.close()


class _Training:
    """Rollouts and updates, as in `train`."""

    def __init__(self, job: dict, link: child.Link):
        self.vec, self.link = _make_vec(job, link), link
        self.trainer = backends.make_trainer(self.vec, Config.from_dict(job["config"]))

    def turn(self, seconds: float) -> float:
        """Agent steps per second."""
        began, epochs = time.perf_counter(), 0
        while time.perf_counter() - began < seconds or not epochs:
            self.trainer.rollout()
            self.trainer.update()
            epochs += 1
            if self.link.stop:
                break
        return epochs * self.trainer.batch_size / (time.perf_counter() - began)

    def close(self) -> None:
        if hasattr(self.trainer, "close"):
            self.trainer.close()
        self.vec.close()


def _make_vec(job: dict, link: child.Link):
    from ..env.library import Library
    from ..training.worker import make_vec

    return make_vec(Library(job["library"], Path(job["folder"])), Config.from_dict(job["config"]),
                    0, link)
