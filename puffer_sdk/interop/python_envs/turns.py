"""Games of turns.  an AEC environment of PettingZoo -> a parallel one with masks of zeros

One step is one agent's move. An agent that waits for its turn has a mask of zeros, which trainers
read as such; its action is not looked at. Rewards arrive as AECEnv.last() gives them: what an agent
earned since its own last move, when it is its turn again or when it is out.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import space_rows
from .interfaces import Value
from .masks import MASK


class TurnsEnv:
    """A pettingzoo.ParallelEnv. agents: those that are not out."""

    def __init__(self, aec: Any):
        self.aec_env = aec
        self.metadata, self.possible_agents = aec.metadata, list(aec.possible_agents)
        self.agents: list[Any] = []
        self.sizes = {agent: space_rows.actions_of(aec.action_space(agent)).mask_size
                      for agent in self.possible_agents}

    @property
    def unwrapped(self) -> Any:
        return self.aec_env.unwrapped

    def observation_space(self, agent: Any) -> Any:
        return self.aec_env.observation_space(agent)

    def action_space(self, agent: Any) -> Any:
        return self.aec_env.action_space(agent)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Value:
        """(observations, infos), each by agent."""
        self.aec_env.reset(seed=seed, options=options)
        self.agents = list(self.aec_env.agents)
        return self._seen()

    def step(self, actions: Mapping[Any, Value]) -> Value:
        """(observations, rewards, terminations, truncations, infos), each by agent."""
        aec, acted = self.aec_env, list(self.agents)
        rewards, ends = dict.fromkeys(acted, 0.0), dict.fromkeys(acted, (False, False))
        gone_obs, gone_infos = {}, {}
        aec.step(actions[aec.agent_selection])
        while aec.agents:
            agent = aec.agent_selection
            ob, rewards[agent], *ends[agent], info = aec.last()
            if not any(ends[agent]):
                break
            gone_obs[agent], gone_infos[agent] = ob, info   # it is out, and says so once
            aec.step(None)
        self.agents = [agent for agent in acted if agent in aec.agents
                       and agent not in gone_obs]
        obs, infos = self._seen()
        return ({**gone_obs, **obs}, rewards, {agent: end[0] for agent, end in ends.items()},
                {agent: end[1] for agent, end in ends.items()}, {**gone_infos, **infos})

    def _seen(self) -> tuple[dict[Any, Value], dict[Any, Value]]:
        """What the agents see, and whose turn it is."""
        obs, infos = {}, {}
        for agent in self.agents:
            ob, info = self.aec_env.observe(agent), dict(self.aec_env.infos.get(agent) or {})
            acts = agent == self.aec_env.agent_selection
            holder = ob if isinstance(ob, Mapping) and MASK in ob else info
            if not acts and holder is ob:
                ob = {**ob, MASK: np.zeros_like(ob[MASK])}
            elif not acts or MASK not in holder:
                info[MASK] = np.full(self.sizes[agent], acts, np.int8)
            obs[agent], infos[agent] = ob, info
        return obs, infos

    def render(self) -> Value:
        return self.aec_env.render()

    def close(self) -> None:
        self.aec_env.close()
