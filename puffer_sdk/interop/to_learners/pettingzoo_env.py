"""One copy as a PettingZoo ParallelEnv.  a name or folder -> PufferParallel"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.utils import EzPickle, seeding
from pettingzoo import ParallelEnv

from ...base.errors import UsageError
from ...env.agent_slots import ended, living
from ...env.spaces import ROW, Actions, Observations, mask_of
from .opened import RENDER_MODES, USUAL_FPS, Finals, Opened


class PufferParallel(ParallelEnv, EzPickle):
    """An environment in C, with an agent for each of its rows: agent_0, agent_1, ...

    env             a name or folder, as `puffer_sdk.make` takes it
    env_settings    [env] values over those of the ini
    render_mode     None, "rgb_array" or "human"
    observations    "row": a Box with the bounds that the header declares; "dict": its named parts

    `agents` are those whose episode goes on. The env's episode ends with that of its last agent.
    In C an agent may begin anew while others still play: here it stays away until reset(), and
    its row gets action 0. reset(seed=s) always begins the same episode.
    """

    def __init__(self, env, *, env_settings: Mapping[str, float] | None = None,
                 render_mode: str | None = None, observations: str = ROW):
        EzPickle.__init__(self, env, env_settings=env_settings, render_mode=render_mode,
                          observations=observations)     # a pickled one is made anew: SuperSuit
        self.opened = opened = Opened(env, env_settings, render_mode)
        self.render_mode = render_mode
        self.metadata: dict[str, Any] = {
            "name": opened.name, "render_modes": list(RENDER_MODES), "render_fps": USUAL_FPS,
            "is_parallelizable": True}
        self._observations = Observations(opened.about, opened.row, observations)
        self._actions = Actions(opened.about)
        self.possible_agents = [f"agent_{row}" for row in range(opened.agents)]
        self._rows = {agent: row for row, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: Observations(opened.about, opened.row, observations).space
                                   for agent in self.possible_agents}
        self.action_spaces = {agent: Actions(opened.about).space
                              for agent in self.possible_agents}
        self.agents: list[str] = []
        self._vec = self._finals = self._random = None
        self._fresh = False             # all began anew in the last step, by themselves

    def observation_space(self, agent: str):
        return self.observation_spaces[agent]

    def action_space(self, agent: str):
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict | None = None):
        """(observations, infos), by agent, of a new episode."""
        if seed is not None or self._random is None:
            self._random, _ = seeding.np_random(seed)
        if seed is not None or self._vec is None:
            first = seed if seed is not None else int(self._random.integers(2**63))
            self._vec = self.opened.vec([first], last=self._vec)
            self._vec.reset()
        elif not self._fresh:
            self._vec.reset()
        self._fresh = False
        self._finals = Finals(self.opened.about, self._vec.observations.copy())
        there = living(self._vec)
        self.agents = [agent for agent, row in self._rows.items() if there[row]]
        if self.render_mode == "human":
            self.render()
        return self._seen(self.agents, self._finals.last), self._infos(self.agents)

    def step(self, actions: Mapping[str, Any]):
        """(observations, rewards, terminations, truncations, infos), each by agent.

        actions     one for each agent of `agents`; others are not looked at
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise UsageError(f"there is no action for {missing[0]}", where=self.opened.name,
                             expected=", ".join(self.agents), actual=", ".join(actions) or "none")
        vec, playing = self._vec, np.array([self._rows[agent] for agent in self.agents])
        vec.actions[:] = 0
        given = [actions[agent] for agent in self.agents]
        if self._actions.tuple:
            given = list(zip(*given))
        rows = np.empty((len(playing), vec.actions.shape[1]), np.float32)
        self._actions.write(given, rows)
        vec.actions[playing] = rows
        vec.step()
        return self._after(playing)

    def _after(self, playing: np.ndarray):
        vec, stepped = self._vec, self.agents
        over = ended(vec)
        rows = vec.observations.copy()
        gone = playing[over[playing]]
        rows[gone] = self._finals.of(vec, gone)
        truncated = vec.truncations != 0
        infos = self._infos(stepped)
        if len(gone):
            n, values = vec.logs_of(np.array([0]))
            if n[0]:
                logged = dict(zip(self.opened.about.log_names, values[0].tolist()))
                for row in gone:
                    infos[self.possible_agents[row]] |= logged
        self._finals.last = rows
        self.agents = [agent for agent in stepped if not over[self._rows[agent]]]
        self._fresh = bool(over.all()) and vec.alive is None
        if self.render_mode == "human":
            self.render()

        def by_agent(values, kind=bool):
            return {agent: kind(values[self._rows[agent]]) for agent in stepped}
        return (self._seen(stepped, rows), by_agent(vec.rewards, float),
                by_agent(over & ~truncated), by_agent(truncated), infos)

    def _seen(self, agents: list[str], rows: np.ndarray) -> dict:
        return {agent: self._observations.one(rows[self._rows[agent]]) for agent in agents}

    def _infos(self, agents: list[str]) -> dict[str, dict]:
        masks = self._vec.action_mask
        return {agent: {} if masks is None else {"action_mask": mask_of(masks[self._rows[agent]])}
                for agent in agents}

    def render(self):
        """(H, W, 3) uint8 for "rgb_array"; None for "human", whose window every step draws."""
        if self._vec is None:
            raise UsageError("nothing to render yet", expected="reset() first")
        if self.render_mode is None:
            return None
        frame = self._vec.frame(0)
        return frame if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        if self._vec is not None:
            self._vec.close()
            self._vec = None
