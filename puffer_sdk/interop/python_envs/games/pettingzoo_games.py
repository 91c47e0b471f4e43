"""Environments of PettingZoo: a variable number of agents, each with its own row."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....base.errors import UsageError
from ..interfaces import ParallelEnv, Value, info_of
from ..makers import as_parallel
from ..oddities import Oddity, refuse
from ..shared_rows import PoolBlock
from .base import NEXT_STEP, SAME_STEP, Lane, Part


class ParallelLane(Lane[ParallelEnv]):
    """Environments of PettingZoo: a variable number of agents, each with its own row."""

    def __init__(self, part: Part, block: PoolBlock):
        self.agents: list[list[Any]] = []
        super().__init__(part, block)

    def make(self, number: int) -> ParallelEnv:
        env = as_parallel(self.part.maker(self.part.index + number))
        self.agents[number:number + 1] = [list(env.possible_agents)]
        return self.only_once(env)

    def agent_of(self, row: int) -> object:
        number, place = divmod(row, self.facts.rows)
        return self.agents[number][place]

    def space_of(self, row: int) -> Value:
        return self.envs[row // self.facts.rows].observation_space(self.agent_of(row))

    def row_of(self, number: int) -> int:
        return number * self.facts.rows

    def reset_env(self, number: int, seed: int | None) -> None:
        obs, infos = self.start(number, seed)
        living = self._living(number)
        for row, agent in enumerate(self.agents[number], self.row_of(number)):
            self.alive[row] = agent in living
            if agent in living:
                self.look(row, self._seen(obs, agent, "reset"), "reset")
                self._write(row, obs[agent], info_of(infos, agent), "reset")

    def _living(self, number: int) -> set[Any]:
        """The agents that act next. RunError for one who is not known."""
        living = set(self.envs[number].agents)
        unknown = living.difference(self.agents[number])
        refuse((Oddity("agent-unknown", what=str(agent), expected="one of possible_agents",
                       actual=str(agent)) for agent in sorted(unknown, key=str)), "step")
        return living

    def _seen(self, obs: Value, agent: object, when: str) -> Value:
        """An agent's observation. RunError where there is none."""
        if agent not in obs:
            refuse([Oddity("agent-no-obs", expected="an observation", actual="none")], when, agent)
        return obs[agent]

    def _write(self, row: int, ob: Value, info: Mapping[str, Value], when: str) -> None:
        self.put(row, self.write[row], ob, when)
        self.write_mask(row, ob, info)

    def step_all(self) -> None:
        actions = self.read(self.actions)
        self.clear()
        for number in range(self.count):
            self.note(number)
            if number not in self.waiting:
                self._step_one(number, actions)
            elif self.part.autoreset == NEXT_STEP:
                self.waiting.remove(number)
                self.reset_env(number, None)
            else:
                raise UsageError(f"env {self.part.first + number} has ended and was not reset",
                                 hint="autoreset is disabled: call reset()")

    def _step_one(self, number: int, actions: list[Value]) -> None:
        env, first = self.envs[number], self.row_of(number)
        rows = {agent: first + place for place, agent in enumerate(self.agents[number])}
        before = [agent for agent in self.agents[number] if self.alive[rows[agent]]]
        try:
            obs, rewards, terminated, truncated, infos = env.step(
                {agent: actions[rows[agent]] for agent in before})
        except Exception as error:
            if not self.restart(number, error):
                raise
            for agent in before:
                self.terminals[rows[agent]] = self.truncations[rows[agent]] = 1
                self.returns[rows[agent]], self.lengths[rows[agent]] = 0.0, 0
            self.reset_env(number, self.seeds[number])
            return
        after = self._living(number)
        for agent in before:
            row, info = rows[agent], info_of(infos, agent)
            reward = rewards.get(agent, 0.0)
            if agent in obs:
                self.look_at_step(row, obs[agent], reward, terminated.get(agent, False),
                                  truncated.get(agent, False), info)
            try:
                self.rewards[row] = reward
            except (TypeError, ValueError):
                self.rewards[row] = reward = self.plain(row, reward)
            self.returns[row] += float(reward)
            self.lengths[row] += 1
            over, cut = bool(terminated.get(agent)), bool(truncated.get(agent))
            if over or cut or agent not in after:
                if agent in obs:
                    self.end(row, obs[agent], over or not cut)
                else:
                    self.terminals[row], self.truncations[row] = 1, cut and not over
                self.record(number, row, info)
                self.alive[row] = 0
        if not after:
            if self.part.autoreset == SAME_STEP:
                self.reset_env(number, None)
            else:
                self.waiting.add(number)
            return
        for agent in after:
            row = rows[agent]
            if agent in before and not self.alive[row]:
                continue                # it ended; an env may still list it for a step
            self.alive[row] = 1
            self._write(row, self._seen(obs, agent, "step"), info_of(infos, agent), "step")
