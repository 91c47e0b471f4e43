"""One copy as a gymnasium.Env.  a name or folder -> PufferEnv"""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...base.errors import UsageError
from ...env.spaces import ROW, mask_of
from .opened import RENDER_MODES, USUAL_FPS, Episode, Opened, drawn

Observation = NDArray[Any] | dict[str, NDArray[Any]]


class PufferEnv(gymnasium.Env[Observation, object]):
    """An environment in C with one agent, as Gymnasium has it. Parameters: see to_gymnasium.

    reset(seed=s) always begins the same episode, and the episodes after it follow from s as well.
    What is legal stands in info["action_mask"], int8, for environments with a mask. Where an
    episode ends, `info` has what the environment logs of it, under its own names.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": USUAL_FPS}

    def __init__(self, env: str | os.PathLike[str], *,
                 env_settings: Mapping[str, float] | None = None, render_mode: str | None = None,
                 observations: str = ROW):
        self.opened = opened = Opened(env, env_settings, render_mode, observations)
        if opened.agents != 1:
            raise UsageError("a gymnasium.Env has one agent", where=opened.name, expected="1",
                             actual=f"{opened.agents} agents",
                             hint="to_parallel(env) for all of them, or to_vector(env, n), which "
                                  "has a row for each")
        self.render_mode = render_mode
        self.metadata = dict(self.metadata)
        self.observation_space = opened.observations.space
        self.action_space = opened.actions.space
        self._episode: Episode | None = None
        self._over = False

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None
              ) -> tuple[Observation, dict[str, object]]:
        """(observation, info) of a new episode."""
        super().reset(seed=seed)
        vec = None if self._episode is None else self._episode.vec
        if seed is not None or vec is None:
            first = seed if seed is not None else int(self.np_random.integers(2**63))
            vec = self.opened.vec([first], last=vec)
            vec.reset()
        elif not self._over:            # else the copy has begun anew by itself
            vec.reset()
        self._over = False
        self._episode = Episode(vec)
        self._draw_if_human()
        return self.opened.observations.one(self._episode.last[0]), self._info(self._episode)

    def step(self, action: object) -> tuple[Observation, float, bool, bool, dict[str, object]]:
        """(observation, reward, terminated, truncated, info)

        Raises UsageError before reset(), and for an action that does not exist.
        """
        episode = self._episode
        if episode is None or self._over:
            raise UsageError("there is no episode to step", where=self.opened.name,
                             expected="reset() before the first step, and after each ending")
        vec = episode.vec
        actions = self.opened.actions
        heads: list[Any] = [[part] for part in action] \
            if actions.tuple and isinstance(action, Iterable) else [action]
        actions.write(heads, vec.actions)
        vec.step()
        truncated = bool(vec.truncations[0])
        terminated = bool(vec.terminals[0]) and not truncated
        self._over = terminated or truncated
        if self._over:
            self.opened.warn_of_missing(vec, np.array([0]))
        episode.last = row = episode.finals(np.array([0])) if self._over \
            else vec.observations.copy()
        info = episode.logged() if self._over else self._info(episode)
        self._draw_if_human()
        return (self.opened.observations.one(row[0]), float(vec.rewards[0]), terminated, truncated,
                info)

    def render(self) -> NDArray[np.uint8] | None:
        """(H, W, 3) uint8 for "rgb_array", of the state that the next step starts from; None for
        "human", whose window every step draws. Raises UsageError before reset()."""
        vec = drawn(None if self._episode is None else self._episode.vec)
        if vec is None:
            return None
        frame = vec.frame(0)
        self.metadata["render_fps"] = vec.asked_fps() or USUAL_FPS
        return frame if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        if self._episode is not None:
            self._episode.vec.close()
            self._episode = None

    def _draw_if_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _info(self, episode: Episode) -> dict[str, object]:
        mask = episode.vec.action_mask
        return {} if mask is None else {"action_mask": mask_of(mask[0])}
