"""One copy as a gymnasium.Env.  a name or folder -> PufferEnv"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from ...base.errors import UsageError
from ...env.spaces import ROW, Actions, Observations, mask_of
from .opened import RENDER_MODES, USUAL_FPS, Finals, Opened


class PufferEnv(gymnasium.Env):
    """An environment in C with one agent, as Gymnasium has it.

    env             a name or folder, as `puffer_sdk.make` takes it
    env_settings    [env] values over those of the ini
    render_mode     None, "rgb_array" or "human"
    observations    "row": a Box with the bounds that the header declares; "dict": its named parts

    reset(seed=s) always begins the same episode, and the episodes after it follow from s as well.
    What is legal stands in info["action_mask"], int8, for environments with a mask. Where an
    episode ends, `info` has what the environment logs of it, under its own names.
    Raises UsageError for an environment with several agents (to_parallel), or an action that does
    not exist.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": USUAL_FPS}

    def __init__(self, env, *, env_settings: Mapping[str, float] | None = None,
                 render_mode: str | None = None, observations: str = ROW):
        self.opened = opened = Opened(env, env_settings, render_mode)
        if opened.agents != 1:
            raise UsageError("a gymnasium.Env has one agent", where=opened.name, expected="1",
                             actual=f"{opened.agents} agents",
                             hint="to_parallel(env) for all of them, or to_vector(env, n), which "
                                  "has a row for each")
        self.render_mode = render_mode
        self.metadata = dict(self.metadata)
        self._observations = Observations(opened.about, opened.row, observations)
        self._actions = Actions(opened.about)
        self.observation_space = self._observations.space
        self.action_space = self._actions.space
        self._vec = self._finals = None
        self._over = False

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """(observation, info) of a new episode."""
        super().reset(seed=seed)
        if seed is not None or self._vec is None:
            first = seed if seed is not None else int(self.np_random.integers(2**63))
            self._vec = self.opened.vec([first], last=self._vec)
            self._vec.reset()
        elif not self._over:            # else the copy has begun anew by itself
            self._vec.reset()
        self._over = False
        self._finals = Finals(self.opened.about, self._vec.observations.copy())
        self._draw_if_human()
        return self._observations.one(self._finals.last[0]), self._info()

    def step(self, action):
        """(observation, reward, terminated, truncated, info)"""
        if self._vec is None or self._over:
            raise UsageError("there is no episode to step", where=self.opened.name,
                             expected="reset() before the first step, and after each ending")
        vec = self._vec
        self._actions.write([action] if not self._actions.tuple else [[part] for part in action],
                            vec.actions)
        vec.step()
        truncated = bool(vec.truncations[0])
        terminated = bool(vec.terminals[0]) and not truncated
        self._over = terminated or truncated
        row = self._finals.of(vec, np.array([0])) if self._over else vec.observations.copy()
        self._finals.last = row
        info = self._logged() if self._over else self._info()
        self._draw_if_human()
        return (self._observations.one(row[0]), float(vec.rewards[0]), terminated, truncated, info)

    def render(self):
        """(H, W, 3) uint8 for "rgb_array", of the state that the next step starts from; None for
        "human", whose window every step draws."""
        if self._vec is None:
            raise UsageError("nothing to render yet", expected="reset() first")
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called, and no render_mode was given: "
                                  "make(..., render_mode='rgb_array')")
            return None
        frame = self._vec.frame(0)
        self.metadata["render_fps"] = self._vec.asked_fps() or USUAL_FPS
        return frame if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        if self._vec is not None:
            self._vec.close()
            self._vec = None

    def _draw_if_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _logged(self) -> dict:
        n, values = self._vec.logs_of(np.array([0]))
        return dict(zip(self.opened.about.log_names, values[0].tolist())) if n[0] else {}

    def _info(self) -> dict:
        mask = self._vec.action_mask
        return {} if mask is None else {"action_mask": mask_of(mask[0])}
