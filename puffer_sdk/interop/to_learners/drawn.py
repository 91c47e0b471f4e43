"""Copies that draw, in a process of their own.  Opened, seeds -> DrawnVec, with frames

Which raylib an environment calls is decided when its library is opened, and in this process that
may have happened. So the copies live in a child, and their arrays are sent to and fro: rgb_array
without a screen, human in a window.
"""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...base.errors import RunError
from ...env import build as building
from ...pictures.screen import canvas
from ...raylib import drawing
from ..python_envs.env_worker import Failure
from ..python_envs.worker_processes import raised, start

ARRAYS = ("observations", "rewards", "terminals", "truncations", "action_mask",
          "final_observations", "has_final", "alive")
PATIENCE = 60.0             # seconds for one answer
WARNINGS = 4                # raylib's LOG_WARNING: nothing below is printed


class DrawnVec:
    """The part of a VecEnv that adapters use, with frame(env) besides. Its arrays are copies."""

    def __init__(self, opened, seeds: Sequence[int]):
        visible = opened.render_mode == "human"
        served = drawing.shared("desktop" if visible else "headless")
        built = building.build(opened.folder, raylib_headers=served.headers)
        self.description, self.where = opened.about, opened.name
        self.process = start("puffer_sdk.interop.to_learners.drawn:answering")
        self._ask("screen", canvas.build(served), served.library, visible)
        self._open = (built.library, opened.folder, opened.settings, opened.agents)
        self.begin(seeds)

    def begin(self, seeds: Sequence[int]) -> None:
        """Copies with these own seeds, in place of those before."""
        self.num_envs, self.num_agents = len(seeds), len(seeds) * self._open[-1]
        heads = len(self.description.act_sizes)
        self.actions = np.zeros((self.num_agents, heads), np.float32)
        self._take(self._ask("begin", *self._open, list(seeds)))

    def reset(self) -> np.ndarray:
        self.reset_range(0, self.num_envs)
        return self.observations

    def reset_range(self, first: int, count: int) -> None:
        self._take(self._ask("reset", first, count))

    def step(self) -> None:
        self._take(self._ask("step", None, self.actions))

    def step_others(self, waits: np.ndarray) -> None:
        self._take(self._ask("step", waits, self.actions))

    def renew(self, env: int, seed: int) -> None:
        self._ask("renew", env, seed)

    def logs_of(self, envs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._ask("logs", envs)

    def frame(self, env: int) -> np.ndarray:
        """(H, W, 3) uint8: what one copy draws now."""
        return self._ask("frame", env)

    def asked_fps(self) -> float | None:
        """Frames per second that the environment asked for; None: it has not, or not drawn."""
        return self._ask("fps")

    def close(self) -> None:
        self.process.end()

    def _take(self, arrays: dict) -> None:
        for name in ARRAYS:
            setattr(self, name, arrays[name])

    def _ask(self, *message):
        self.process.send(message)
        try:
            kind, found = self.process.answer(PATIENCE)
        except EOFError:
            raise RunError(f"the render process ended: {self.process.cause}",
                           where=self.where, hint="puffer-sdk check looks for the cause") from None
        except TimeoutError:
            self.process.end()
            raise RunError(f"the render process did not respond for {PATIENCE:g} seconds",
                           where=self.where, hint="puffer-sdk check looks for the cause") from None
        if kind == "raised":
            raise raised(found, None)
        return found

    def __del__(self):
        with contextlib.suppress(Exception):
            self.process.end()


def answering():
    """What the child does with each message."""
    from ...env.library import Library
    from .seeded_copies import make_vec

    screen = vec = None
    drawn: set[int] = set()         # copies of vec that have
    kept = []

    def arrays() -> dict:
        return {name: getattr(vec, name) for name in ARRAYS}

    def act(name: str, *rest):
        nonlocal screen, vec, drawn
        if name == "screen":
            director, library, visible = rest
            screen = canvas.Screen.load(director, library, visible=visible)
            ctypes.CDLL(str(library)).SetTraceLogLevel(WARNINGS)
        elif name == "begin":
            path, folder, settings, agents, seeds = rest
            # a c_close may assume that an open window means that its env has drawn
            if vec is not None and drawn and len(drawn) < vec.num_envs:
                kept.append(vec)        # it is never closed
            elif vec is not None:
                vec.close()
            drawn = set()
            vec = make_vec(Library(Path(path), folder), seeds, agents, settings)
            return arrays()
        elif name == "reset":
            vec.reset_range(*rest)
            return arrays()
        elif name == "step":
            waits, vec.actions = rest
            vec.step() if waits is None else vec.step_others(waits)
            return arrays()
        elif name == "renew":
            env, seed = rest
            vec.renew(env, seed, abandon=bool(drawn) and env not in drawn)
            drawn.discard(env)
        elif name == "logs":
            return vec.logs_of(*rest)
        elif name == "frame":
            drawn.add(*rest)
            return screen.render(vec, *rest)
        elif name == "fps":
            return screen.asked_fps
        return None

    def answer(channel, message: tuple) -> None:
        try:
            found = ("found", act(*message))
        except Exception as error:
            found = ("raised", Failure.of(error))
        channel.send(found)

    return answer
