"""One copy as a PettingZoo ParallelEnv.  a name or folder -> PufferParallel"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle, seeding
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from ...base.errors import UsageError
from ...env.agent_slots import ended, living
from ...env.spaces import ROW, mask_of
from .gymnasium_env import Observation
from .opened import RENDER_MODES, USUAL_FPS, Episode, Opened, drawn

Infos = dict[str, dict[str, object]]


class PufferParallel(ParallelEnv, EzPickle):    # type: ignore[misc]  # PettingZoo has no types
    """An environment in C, with an agent for each of its rows: agent_0, agent_1, ... Parameters:
    see to_parallel.

    `agents` are those whose episode goes on. The env's episode ends with that of its last agent.
    In C an agent may restart while others still play: here it is absent until reset(), and
    its row gets action 0. reset(seed=s) always begins the same episode.
    """

    def __init__(self, env: str | os.PathLike[str], *,
                 env_settings: Mapping[str, float] | None = None, render_mode: str | None = None,
                 observations: str = ROW):
        EzPickle.__init__(self, env, env_settings=env_settings, render_mode=render_mode,
                          observations=observations)     # SuperSuit pickles it
        self.opened = opened = Opened(env, env_settings, render_mode, observations)
        self.render_mode = render_mode
        self.metadata: dict[str, Any] = {
            "name": opened.name, "render_modes": list(RENDER_MODES), "render_fps": USUAL_FPS,
            "is_parallelizable": True}
        self.possible_agents = [f"agent_{row}" for row in range(opened.agents)]
        self._rows = {agent: row for row, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: deepcopy(opened.observations.space)
                                   for agent in self.possible_agents}
        self.action_spaces = {agent: deepcopy(opened.actions.space)
                              for agent in self.possible_agents}
        self.agents: list[str] = []
        self._episode: Episode | None = None
        self._random: np.random.Generator | None = None
        self._fresh = False             # all began anew in the last step, by themselves

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None
              ) -> tuple[dict[str, Observation], Infos]:
        """(observations, infos), by agent, of a new episode."""
        if seed is not None or self._random is None:
            self._random, _ = seeding.np_random(seed)
        vec = None if self._episode is None else self._episode.vec
        if seed is not None or vec is None:
            first = seed if seed is not None else int(self._random.integers(2**63))
            vec = self.opened.vec([first], last=vec)
            vec.reset()
        elif not self._fresh:
            vec.reset()
        self._fresh = False
        self._episode = episode = Episode(vec)
        there = living(vec)
        self.agents = [agent for agent, row in self._rows.items() if there[row]]
        self.opened.show(vec)
        return self._seen(self.agents, episode.last), self._infos(episode, self.agents)

    def step(self, actions: Mapping[str, Any]) -> tuple[
            dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """(observations, rewards, terminations, truncations, infos), each by agent.

        actions     one for each agent of `agents`; others are not looked at
        Raises UsageError for an action that is missing or does not exist.
        """
        episode = self._episode
        if episode is None or not self.agents:
            return {}, {}, {}, {}, {}
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise UsageError(f"there is no action for {missing[0]}", where=self.opened.name,
                             expected=", ".join(self.agents), actual=", ".join(actions) or "none")
        vec, playing = episode.vec, np.array([self._rows[agent] for agent in self.agents])
        vec.actions[:] = 0
        given: Sequence[Any] = [actions[agent] for agent in self.agents]
        if self.opened.actions.tuple:
            given = list(zip(*given))
        rows = np.empty((len(playing), vec.actions.shape[1]), np.float32)
        self.opened.actions.write(given, rows)
        vec.actions[playing] = rows
        vec.step()
        return self._after(episode, playing)

    def _after(self, episode: Episode, playing: NDArray[np.intp]) -> tuple[
            dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        vec, stepped = episode.vec, self.agents
        over = ended(vec)
        rows = vec.observations.copy()
        gone = playing[over[playing]]
        self.opened.warn_of_missing(episode.vec, gone)
        rows[gone] = episode.finals(gone)
        truncated = vec.truncations != 0
        infos = self._infos(episode, stepped)
        logged = episode.logged() if len(gone) else {}
        for row in gone:
            infos[self.possible_agents[row]] |= logged
        episode.last = rows
        self.agents = [agent for agent in stepped if not over[self._rows[agent]]]
        self._fresh = bool(over.all()) and vec.alive is None
        self.opened.show(vec)

        def flags(values: NDArray[np.bool_]) -> dict[str, bool]:
            return {agent: bool(values[self._rows[agent]]) for agent in stepped}
        return (self._seen(stepped, rows),
                {agent: float(vec.rewards[self._rows[agent]]) for agent in stepped},
                flags(over & ~truncated), flags(truncated), infos)

    def _seen(self, agents: list[str], rows: NDArray[Any]) -> dict[str, Observation]:
        return {agent: self.opened.observations.one(rows[self._rows[agent]]) for agent in agents}

    def _infos(self, episode: Episode, agents: list[str]) -> Infos:
        masks = episode.vec.action_mask
        return {agent: {} if masks is None else {"action_mask": mask_of(masks[self._rows[agent]])}
                for agent in agents}

    def render(self) -> NDArray[np.uint8] | None:
        """(H, W, 3) uint8 for "rgb_array"; None for "human", whose window every step draws. Raises
        UsageError before reset()."""
        vec = drawn(None if self._episode is None else self._episode.vec)
        frame = None if vec is None else vec.frame(0)
        return frame if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        if self._episode is not None:
            self._episode.vec.close()
            self._episode = None
