"""An intrinsic reward: what was seldom seen pays a bonus. Any environment, either trainer.

    puffer-sdk new my_env
    puffer-sdk train my_env --train.reward curiosity.py:Curious     # beside the header, or here

The metric `reward` is the mean that was learned from; env/score and the rest stay the game's own.
"""
import numpy as np

BITS, BONUS = 16, 0.05


class Curious:
    """Counts observations by the side of random planes on which they lie: near ones share a count.

    Its counts go into checkpoints, so that a resumed run is as curious as it was.
    """

    def __init__(self):
        self.counts = np.zeros(1 << BITS)

    def __call__(self, rollout):
        """rollout.obs (N, T, D) -> rewards (N, T)"""
        agents, horizon, size = rollout.obs.shape
        planes = np.random.default_rng(0).standard_normal((size, BITS), np.float32)
        sides = rollout.obs.reshape(-1, size).astype(np.float32) @ planes > 0
        seen = sides @ (1 << np.arange(BITS))
        self.counts += np.bincount(seen, minlength=len(self.counts))
        bonus = BONUS / np.sqrt(self.counts[seen])
        return rollout.rewards + bonus.reshape(agents, horizon)

    def state_dict(self):
        return {"counts": self.counts}

    def load_state_dict(self, state):
        self.counts = state["counts"]
