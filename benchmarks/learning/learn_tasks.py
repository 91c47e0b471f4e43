"""The tasks of the benchmark of learning, and how they are split.

    TASKS["CartPole-v1"]        a Task
    TASKS["walk"].held_out      whether no default may be tuned on it: the crc32 of its name is odd

The list stood before the first search of defaults (docs/why/learning.md), and a name is never
changed. Python tasks have flat observations, so that everybody sees the same. `ours` is what
`puffer-sdk train` takes. This file is imported with Gymnasium alone: peers have no puffer-sdk.
"""
from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

ROOT = Path(__file__).resolve().parents[2]
EPISODES = 100          # fresh ones that score weights


@dataclass(frozen=True)
class Task:
    """One task."""

    name: str
    steps: int              # agent steps of a run
    best: float             # the best return known: a threshold, a bound, or what long runs reach
    make: Callable[[], Any] | None = None       # a Gymnasium environment; None: peers cannot play
    folder: str = ""        # of a C environment, in this repository; a template's name
    metric: str = "episode_return"              # what is compared

    @property
    def held_out(self) -> bool:
        return zlib.crc32(self.name.encode()) % 2 == 1

    @property
    def in_c(self) -> bool:
        return bool(self.folder)


class Corridor(gymnasium.Env):
    """Twelve cells. Each step costs 0.01, the far end pays 10."""

    observation_space, action_space = Box(0, 1, (1,), np.float32), Discrete(2)
    LENGTH, LIMIT = 12, 200

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = self.tick = 0
        return self._look(), {}

    def step(self, action):
        self.cell = max(0, self.cell + (1 if action else -1))
        self.tick += 1
        arrived = self.cell == self.LENGTH
        return (self._look(), 10.0 if arrived else -0.01, arrived,
                not arrived and self.tick >= self.LIMIT, {})

    def _look(self) -> np.ndarray:
        return np.array([self.cell / self.LENGTH], np.float32)


class Walk(gymnasium.Env):
    """The goal lies two steps to the left or to the right, and pays 1."""

    observation_space, action_space = Box(-1, 1, (2,), np.float32), Discrete(2)
    DISTANCE, LIMIT = 2, 40

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.tick = 0, 0
        self.goal = self.DISTANCE * (1 if self.np_random.random() < 0.5 else -1)
        return self._look(), {}

    def step(self, action):
        self.place += 1 if action else -1
        self.tick += 1
        arrived = self.place == self.goal
        return (self._look(), float(arrived), arrived,
                not arrived and self.tick >= self.LIMIT, {})

    def _look(self) -> np.ndarray:
        return np.array([self.place / 20, self.goal / 20], np.float32)


def _gym(name: str):
    return gymnasium.make(name)


def _grid(name: str):
    """The image of MiniGrid, flat: what an object is, its colour and its state, in 7 x 7 cells."""
    import minigrid  # noqa: F401  registers its environments
    from minigrid.wrappers import ImgObsWrapper

    return gymnasium.wrappers.FlattenObservation(ImgObsWrapper(gymnasium.make(name)))


def _popgym(name: str):
    import popgym.envs

    return gymnasium.wrappers.FlattenObservation(getattr(popgym.envs, name)())


def _spread():
    """A PettingZoo environment of three agents."""
    from mpe2 import simple_spread_v3

    return simple_spread_v3.parallel_env(N=3, max_cycles=25)


def _tasks() -> dict[str, Task]:
    gym = [("CartPole-v1", 100_000, 500), ("Acrobot-v1", 100_000, -70),
           ("MountainCar-v0", 200_000, -100), ("MountainCarContinuous-v0", 100_000, 94),
           ("Pendulum-v1", 150_000, -150), ("LunarLander-v3", 200_000, 280),
           ("LunarLanderContinuous-v3", 200_000, 285), ("BipedalWalker-v3", 300_000, 320),
           ("HalfCheetah-v5", 150_000, 5_800), ("Hopper-v5", 150_000, 3_500),
           ("Walker2d-v5", 150_000, 4_500), ("Swimmer-v5", 150_000, 360),
           ("InvertedPendulum-v5", 100_000, 1_000),
           ("InvertedDoublePendulum-v5", 100_000, 9_350), ("Reacher-v5", 150_000, -3.75)]
    grids = [("MiniGrid-Empty-8x8-v0", 100_000, 0.96), ("MiniGrid-DoorKey-5x5-v0", 200_000, 0.96)]
    memory = [("RepeatFirstEasy", 200_000, 1), ("RepeatPreviousEasy", 200_000, 1),
              ("PositionOnlyCartPoleEasy", 100_000, 1)]
    in_c = [("squared", 1_000_000, "squared"), ("target", 2_000_000, "target"),
            ("breakout", 2_000_000, "examples/breakout"), ("pong", 2_000_000, "examples/pong"),
            ("snake", 2_000_000, "examples/snake"),
            ("frogger", 2_000_000, "benchmarks/field/frogger"),
            ("pinball", 2_000_000, "benchmarks/field/pinball")]
    return {task.name: task for task in [
        *(Task(name, steps, best, partial(_gym, name)) for name, steps, best in gym),
        *(Task(name, steps, best, partial(_grid, name)) for name, steps, best in grids),
        *(Task(f"popgym-{name}-v0", steps, best, partial(_popgym, name))
          for name, steps, best in memory),
        Task("simple_spread_v3", 300_000, -15, _spread),
        Task("corridor", 200_000, 9.89, Corridor), Task("walk", 100_000, 1, Walk),
        *(Task(name, steps, 1, folder=folder, metric="perf") for name, steps, folder in in_c)]}


TASKS = _tasks()
