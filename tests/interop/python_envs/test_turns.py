"""Games of turns of PettingZoo: whose turn it is, and what each player is given."""
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import puffer_sdk
from puffer_sdk.base.errors import UsageError


class Count(AECEnv):
    """Three players add 1 to 3 to a sum; who reaches 7 wins, and the others lose. No masks."""

    metadata = {"name": "count", "is_parallelizable": False}
    possible_agents = ["a", "b", "c"]
    actions = spaces.Discrete(3)

    def observation_space(self, agent):
        return spaces.Box(0, 9, (2,), np.float32)

    def action_space(self, agent):
        return self.actions

    def reset(self, seed=None, options=None):
        self.agents, self.sum = list(self.possible_agents), 0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations, self.infos = dict(self.terminations), {each: {} for each in self.agents}
        self.agent_selection = "a"

    def observe(self, agent):
        return np.float32([self.sum, self.possible_agents.index(agent)])

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0
        self.sum += int(action) + 1
        over = self.sum >= 7
        self.rewards = {each: over * (1.0 if each == agent else -0.5) for each in self.agents}
        self.terminations = dict.fromkeys(self.agents, over)
        place = (self.possible_agents.index(agent) + 1) % 3
        self.agent_selection = self.possible_agents[place]
        self._accumulate_rewards()
        if over:
            self._deads_step_first()

    def render(self):
        return None


@pytest.mark.parametrize("wrapped", [False, True])
def test_who_waits_has_a_mask_of_zeros_and_all_are_given_theirs(wrapped):
    def make():
        return turn_based_aec_to_parallel(Count()) if wrapped else Count()

    with puffer_sdk.wrap(make, 1, workers=0) as vec:
        vec.reset()
        turns, last = [], None
        for _ in range(4):
            turns.append(np.flatnonzero(vec.action_mask.any(1)).tolist())
            vec.actions[:] = 1                          # 2 each: the fourth move reaches 7
            last = [array.tolist() for array in vec.step()[1:]]
        assert turns == [[0], [1], [2], [0]]
        assert last == [[1.0, -0.5, -0.5], [1, 1, 1], [0, 0, 0]]
        assert np.flatnonzero(vec.action_mask.any(1)).tolist() == [0]       # a new game
        assert vec.log()["n"] == 3


def test_turns_with_continuous_actions_are_refused():
    class Push(Count):
        actions = spaces.Box(-1, 1, (1,), np.float32)

    with pytest.raises(UsageError, match="agents that take turns need discrete actions"):
        puffer_sdk.wrap(Push, 1, workers=0)
