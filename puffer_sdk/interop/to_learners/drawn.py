"""Copies that draw, in a process of their own.  a folder, seeds -> DrawnVec, with frames

Which raylib an environment calls is decided when its library is opened, and in this process that
may have happened. So the copies live in a child, and their arrays are sent to and fro: rgb_array
without a screen, human in a window.
"""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import RunError
from ...env import build as building
from ...env.library import Description, Library
from ...env.vec import VecEnv
from ...pictures.screen import canvas
from ...raylib import drawing
from ..python_envs.env_worker import Failure
from ..python_envs.worker_processes import raised, start
from .seeded_copies import make_vec

Arrays = Mapping[str, NDArray[Any] | None]
ARRAYS = ("observations", "rewards", "terminals", "truncations", "action_mask",
          "final_observations", "has_final", "alive")
PATIENCE = 60.0             # seconds for one answer
WARNINGS = 4                # raylib's LOG_WARNING: nothing below is printed


class DrawnVec:
    """The part of a VecEnv that adapters use, with frame(env) besides. Its arrays are copies."""

    observations: NDArray[Any]
    rewards: NDArray[np.float32]
    terminals: NDArray[np.float32]
    truncations: NDArray[np.float32]
    action_mask: NDArray[np.uint8] | None
    final_observations: NDArray[Any] | None
    has_final: NDArray[np.uint8] | None
    alive: NDArray[np.uint8] | None

    def __init__(self, folder: Path, settings: Mapping[str, float], agents: int,
                 about: Description, seeds: Sequence[int], *, visible: bool):
        served = drawing.shared("desktop" if visible else "headless")
        built = building.build(folder, raylib_headers=served.headers)
        self.description, self.agents = about, agents
        self.process = start("puffer_sdk.interop.to_learners.drawn:answering")
        self._ask("screen", canvas.build(served), served.library, visible)
        self._ask("load", built.library, folder, settings, agents)
        self.begin(seeds)

    def begin(self, seeds: Sequence[int]) -> None:
        """Copies with these own seeds, in place of those before."""
        self.num_envs, self.num_agents = len(seeds), len(seeds) * self.agents
        heads = len(self.description.act_sizes)
        self.actions = np.zeros((self.num_agents, heads), np.float32)
        self._take(self._ask("begin", list(seeds)))

    def reset(self) -> NDArray[Any]:
        self.reset_range(0, self.num_envs)
        return self.observations

    def reset_range(self, first: int, count: int) -> None:
        self._take(self._ask("reset", first, count))

    def step(self) -> None:
        self._take(self._ask("step", None, self.actions))

    def step_others(self, waits: NDArray[np.bool_]) -> None:
        self._take(self._ask("step", waits, self.actions))

    def renew(self, env: int, seed: int) -> None:
        self._ask("renew", env, seed)

    def logs_of(self, envs: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        n, values = self._ask("logs", envs)
        return n, values

    def frame(self, env: int) -> NDArray[np.uint8] | None:
        """(H, W, 3) uint8: what one copy draws now; None: it has drawn nothing."""
        found: NDArray[np.uint8] | None = self._ask("frame", env)
        return found

    def asked_fps(self) -> float | None:
        """Frames per second that the environment asked for; None: it has not, or not drawn."""
        found: float | None = self._ask("fps")
        return found

    def close(self) -> None:
        self.process.end()

    def _take(self, arrays: Arrays) -> None:
        for name in ARRAYS:
            setattr(self, name, arrays[name])

    def _ask(self, *message: object) -> Any:
        self.process.send(message)
        try:
            kind, found = self.process.answer(PATIENCE)
        except EOFError:
            raise RunError(f"the render process ended: {self.process.cause}",
                           where=self.description.name,
                           hint="puffer-sdk check looks for the cause") from None
        except TimeoutError:
            self.process.end()
            raise RunError(f"the render process did not respond for {PATIENCE:g} seconds",
                           where=self.description.name,
                           hint="puffer-sdk check looks for the cause") from None
        if kind == "raised":
            raise raised(found, None)
        return found

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.process.end()


class Renderer:
    """The copies, in the child. Each message names a method: first screen, load and begin.

    vecs    the current one is last; those before it are never closed
    drawn   copies of the current one that have drawn
    """

    _screen: canvas.Screen
    _make: Callable[[Sequence[int]], VecEnv]

    def __init__(self) -> None:
        self.vecs: list[VecEnv] = []
        self.drawn: set[int] = set()

    @property
    def vec(self) -> VecEnv:
        return self.vecs[-1]

    def screen(self, director: Path, library: Path, visible: bool) -> None:
        self._screen = canvas.Screen.load(director, library, visible=visible)
        ctypes.CDLL(str(library)).SetTraceLogLevel(WARNINGS)

    def load(self, path: Path, folder: Path, settings: Mapping[str, float], agents: int) -> None:
        library = Library(path, folder)
        self._make = lambda seeds: make_vec(library, seeds, agents, settings)

    def begin(self, seeds: Sequence[int]) -> Arrays:
        # a c_close may assume that an open window means that its env has drawn
        if self.vecs and (not self.drawn or len(self.drawn) == self.vec.num_envs):
            self.vecs.pop().close()
        self.drawn.clear()
        self.vecs.append(self._make(seeds))
        return self.arrays()

    def arrays(self) -> Arrays:
        return {name: getattr(self.vec, name) for name in ARRAYS}

    def reset(self, first: int, count: int) -> Arrays:
        self.vec.reset_range(first, count)
        return self.arrays()

    def step(self, waits: NDArray[np.bool_] | None, actions: NDArray[np.float32]) -> Arrays:
        self.vec.actions = actions
        if waits is None:
            self.vec.step()
        else:
            self.vec.step_others(waits)
        return self.arrays()

    def renew(self, env: int, seed: int) -> None:
        self.vec.renew(env, seed, abandon=bool(self.drawn) and env not in self.drawn)
        self.drawn.discard(env)

    def logs(self, envs: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.vec.logs_of(envs)

    def frame(self, env: int) -> NDArray[np.uint8] | None:
        self.drawn.add(env)
        return self._screen.render(self.vec, env)

    def fps(self) -> float | None:
        fps: float | None = self._screen.asked_fps
        return fps


def answering() -> Callable[[Connection, tuple[Any, ...]], None]:
    """What the child does with each message."""
    renderer = Renderer()

    def answer(channel: Connection, message: tuple[Any, ...]) -> None:
        name, *given = message
        try:
            found = ("found", getattr(renderer, name)(*given))
        except Exception as error:
            found = ("raised", Failure.of(error))
        channel.send(found)

    return answer
