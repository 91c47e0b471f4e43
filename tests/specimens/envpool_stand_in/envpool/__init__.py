"""A stand-in for EnvPool: its interface over Gymnasium's CartPole, for tests where it has no wheel.

Written from what EnvPool 1.2.7 answers; tests/interop/python_envs/test_envpool.py plays both.
"""
import warnings

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

__version__ = "1.2.7"
LIMIT = 500


def list_all_envs():
    return ["CartPole-v0", "CartPole-v1", "Pendulum-v1"]


def make_gymnasium(task_id, num_envs=1, seed=42, render_mode=None, **config):
    assert task_id in list_all_envs(), f"{task_id} is not supported"
    for key in config:
        assert key in ("num_threads", "max_episode_steps", "batch_size"), key
    seeds = [seed + copy for copy in range(num_envs)] if isinstance(seed, int) else list(seed)
    assert len(seeds) == num_envs and all(-2**31 <= each < 2**31 for each in seeds)
    return Pool(seeds, config.get("max_episode_steps", LIMIT), render_mode)


class Pool(VectorEnv):
    """Copies that are seeded when they are made, and reset in the step after their ending."""

    metadata = {"render_modes": ["rgb_array", "human"], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, seeds, limit, render_mode):
        self.envs = [gymnasium.make("CartPole-v1", render_mode=render_mode).unwrapped
                     for _ in seeds]
        self.num_envs, self.limit = len(seeds), limit
        # both spaces are those of a single copy
        self.observation_space = self.single_observation_space = self.envs[0].observation_space
        self.action_space = self.single_action_space = self.envs[0].action_space
        self.over, self.steps = np.zeros(len(seeds), bool), np.zeros(len(seeds), int)
        for env, seed in zip(self.envs, seeds):
            env.reset(seed=seed)

    def reset(self, env_id=None, *, seed=None, options=None):
        if seed is not None:
            warnings.warn("seeds are fixed when it is made", stacklevel=2)
        rows = np.array([env.reset()[0] for env in self.envs])
        self.over[:], self.steps[:] = False, 0
        return rows, {"elapsed_step": self.steps.copy()}

    def step(self, actions, env_id=None):
        assert isinstance(actions, np.ndarray) and actions.shape == (self.num_envs,)
        rows, rewards = np.zeros((self.num_envs, 4), np.float32), np.zeros(self.num_envs)
        ended, cut = np.zeros((2, self.num_envs), bool)
        for at, (env, action) in enumerate(zip(self.envs, actions.astype(np.int32))):
            if self.over[at]:
                (rows[at], _), self.steps[at] = env.reset(), 0
                continue
            rows[at], rewards[at], ended[at], _, _ = env.step(int(action))
            self.steps[at] += 1
            cut[at] = self.steps[at] >= self.limit
        self.over = ended | cut
        return rows, rewards, ended & ~cut, cut, {"elapsed_step": self.steps.copy()}

    def render(self, env_ids=None, camera_id=None):
        return np.array([self.envs[at].render() for at in np.atleast_1d(env_ids or 0)])

    def close(self, **keywords):
        for env in self.envs:
            env.close()
