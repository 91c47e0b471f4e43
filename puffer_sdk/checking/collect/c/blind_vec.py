"""Agents that see what others see.  a VecEnv -> the same, with the observations of another env"""
from __future__ import annotations

from typing import TYPE_CHECKING

from ....env.agent_slots import living

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....env.vec import VecEnv


class Blind:
    """A VecEnv whose agents are shown what the agents of another env see, each tick another's."""

    num_agents: int             # of the vec, from here on
    obs_size: int
    act_sizes: tuple[int, ...]
    actions: NDArray[np.float32]
    rewards: NDArray[np.float32]
    terminals: NDArray[np.float32]
    truncations: NDArray[np.float32]
    action_mask: NDArray[np.uint8] | None

    def __init__(self, vec: VecEnv, unit: int, seed: int):
        import numpy as np

        self.vec, self.unit = vec, unit
        self.rng = np.random.default_rng(seed)
        self.observations: NDArray[np.generic] = vec.observations.copy()
        self.rows = np.arange(vec.num_agents)

    def __getattr__(self, name: str) -> object:
        value: object = getattr(self.vec, name)
        return value

    def mix(self) -> None:
        import numpy as np

        n = len(self.rows)
        away = int(self.rng.integers(self.unit, max(n - self.unit, self.unit) + 1))
        rows = (self.rows + away) % n
        np.take(self.vec.observations, rows, axis=0, out=self.observations)
        self.observations[~living(self.vec)[rows]] = 0

    def reset(self) -> NDArray[np.generic]:
        self.vec.reset()
        self.mix()
        return self.observations

    def step(self) -> tuple[NDArray[np.generic], NDArray[np.float32], NDArray[np.float32],
                            NDArray[np.float32]]:
        self.vec.step()
        self.mix()
        return self.observations, self.vec.rewards, self.vec.terminals, self.vec.truncations
