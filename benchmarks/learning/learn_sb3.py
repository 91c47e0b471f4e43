"""One run of SB3's PPO: `python learn_sb3.py defaults|zoo TASK SEED` -> a line of JSON.

`zoo`: the settings that RL Baselines3 Zoo found for the task (learn_sb3_settings.py), with
its steps replaced by ours. best: the weights at the best mean of a rollout's last episodes; last:
those at the end. Both play 100 fresh episodes, as ours do.
"""
from __future__ import annotations

import copy
import json
import resource
import sys

import numpy as np
import torch
from learn_sb3_settings import ZOO
from learn_tasks import EPISODES, TASKS
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize


class Best(BaseCallback):
    """Keeps the weights, and the scales of observations, of the best rollout."""

    def __init__(self):
        super().__init__()
        self.mean, self.weights, self.scales = -np.inf, None, None

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        ended = [row["r"] for row in self.model.ep_info_buffer]
        if ended and np.mean(ended) > self.mean:
            self.mean = float(np.mean(ended))
            self.weights = copy.deepcopy(self.model.policy.state_dict())
            self.scales = copy.deepcopy(getattr(self.model.env, "obs_rms", None))


def play(model, task, seed: int, scales) -> float:
    """The mean return of fresh episodes; actions are drawn, as ours are."""
    vec = DummyVecEnv([lambda: Monitor(task.make())])
    if scales is not None:
        vec = VecNormalize(vec, training=False, norm_reward=False)
        vec.obs_rms = scales
    vec.seed(1_000_000 + seed)
    return float(evaluate_policy(model, vec, EPISODES, deterministic=False)[0])


def main() -> None:
    which, task, seed = sys.argv[1], TASKS[sys.argv[2]], int(sys.argv[3])
    torch.set_num_threads(1)
    settings = dict(ZOO[task.name]) if which == "zoo" else {}
    if "activation_fn" in settings.get("policy_kwargs", {}):
        settings["policy_kwargs"] = settings["policy_kwargs"] | {"activation_fn": torch.nn.ReLU}
    copies, normalize = settings.pop("n_envs", 1), settings.pop("normalize", False)
    vec = DummyVecEnv([lambda: Monitor(task.make())] * copies)
    if normalize:
        vec = VecNormalize(vec, gamma=settings.get("gamma", 0.99))
    model, best = PPO("MlpPolicy", vec, seed=seed, device="cpu", **settings), Best()
    model.learn(task.steps, callback=best)
    taken = resource.getrusage(resource.RUSAGE_SELF)
    row = {"cpu": round(taken.ru_utime + taken.ru_stime, 1), "steps": model.num_timesteps,
           "last": play(model, task, seed, getattr(model.env, "obs_rms", None))}
    if best.weights:
        model.policy.load_state_dict(best.weights)
    row["best"] = play(model, task, seed, best.scales) if best.weights else row["last"]
    print(json.dumps(row))


if __name__ == "__main__":
    main()
