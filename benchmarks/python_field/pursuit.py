"""Three hunters chase one evader over a field with traps."""

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

MOVES = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
HUNTERS = 3


class Pursuit(ParallelEnv):
    """A hunter that steps on a trap dies; the others hunt on.

    The evader is caught when a living hunter is at most one cell away (not
    diagonally). Each living hunter then gets +1. A step costs 0.01, dying 1.

    Observation of a hunter: its position (2), the way to the evader (2), the
    way to each other hunter and whether it lives (2 x 3), and the traps in the
    3 x 3 cells around it (9).
    """

    metadata = {"name": "pursuit_v0", "render_modes": []}

    def __init__(self, size=10, traps=8, max_cycles=100, render_mode=None):
        self.size = size
        self.trap_count = traps
        self.max_cycles = max_cycles
        self.render_mode = render_mode
        self.possible_agents = [f"hunter_{i}" for i in range(HUNTERS)]
        self.agents = []
        width = 4 + 3 * (HUNTERS - 1) + 9
        self._observation_spaces = {
            agent: spaces.Box(-1.0, 1.0, (width,), np.float32)
            for agent in self.possible_agents
        }
        self._action_spaces = {
            agent: spaces.Discrete(len(MOVES)) for agent in self.possible_agents
        }
        self.rng = None

    def observation_space(self, agent):
        return self._observation_spaces[agent]

    def action_space(self, agent):
        return self._action_spaces[agent]

    def reset(self, seed=None, options=None):
        if seed is not None or self.rng is None:
            self.rng, _ = seeding.np_random(seed)
        self.agents = self.possible_agents[:]
        self.cycles = 0
        cells = self.rng.permutation(self.size * self.size)
        spots = np.stack(np.divmod(cells, self.size), axis=1)
        self.hunters = spots[:HUNTERS].copy()
        self.alive = np.ones(HUNTERS, dtype=bool)
        self.evader = self._far_from_hunters(spots[HUNTERS : HUNTERS + 6])
        self.traps = np.zeros((self.size, self.size), dtype=bool)
        for row, col in spots[HUNTERS + 6 : HUNTERS + 6 + self.trap_count]:
            self.traps[row, col] = True
        observations = {agent: self._observe(agent) for agent in self.agents}
        return observations, {agent: {} for agent in self.agents}

    def step(self, actions):
        self.cycles += 1
        for agent in self.agents:
            i = self.possible_agents.index(agent)
            self.hunters[i] = self._moved(self.hunters[i], actions[agent])
            if self.traps[tuple(self.hunters[i])]:
                self.alive[i] = False
        self._move_evader()
        caught = self._caught()
        late = self.cycles >= self.max_cycles

        observations, rewards, terminations, truncations, infos = {}, {}, {}, {}, {}
        for agent in self.agents:
            alive = bool(self.alive[self.possible_agents.index(agent)])
            observations[agent] = self._observe(agent)
            rewards[agent] = -0.01 + (1.0 * caught if alive else -1.0)
            terminations[agent] = caught or not alive
            truncations[agent] = late and not terminations[agent]
            infos[agent] = {"caught": caught}
        self.agents = [
            agent
            for agent in self.agents
            if not (terminations[agent] or truncations[agent])
        ]
        return observations, rewards, terminations, truncations, infos

    def _moved(self, position, action):
        return np.clip(position + MOVES[action], 0, self.size - 1)

    def _move_evader(self):
        """Half the time, step to the cell farthest from the nearest hunter."""
        if self.rng.random() < 0.5 and self.alive.any():
            options = [self._moved(self.evader, move) for move in range(len(MOVES))]
            self.evader = self._far_from_hunters(options)
        else:
            self.evader = self._moved(self.evader, self.rng.integers(len(MOVES)))

    def _far_from_hunters(self, cells):
        living = self.hunters[self.alive]
        gaps = [np.abs(living - cell).sum(axis=1).min() for cell in cells]
        return np.array(cells[int(np.argmax(gaps))])

    def _caught(self):
        gaps = np.abs(self.hunters - self.evader).sum(axis=1)
        return bool(np.any(self.alive & (gaps <= 1)))

    def _observe(self, agent):
        i = self.possible_agents.index(agent)
        own = self.hunters[i]
        parts = [own / self.size, (self.evader - own) / self.size]
        for other in range(HUNTERS):
            if other != i:
                parts.append((self.hunters[other] - own) / self.size)
                parts.append([float(self.alive[other])])
        around = np.pad(self.traps, 1)[own[0] : own[0] + 3, own[1] : own[1] + 3]
        parts.append(around.ravel())
        return np.concatenate(parts).astype(np.float32)
