"""Stable-Baselines3's PPO on Gymnasium's CartPole, in its own venv: a line of JSON.

    PYTHON learn.py SETTINGS STEPS

SETTINGS: `ours` (64 copies, 32 steps each, minibatches of 256, 4 epochs, as our defaults) or `zoo`
(those that SB3's authors tuned for CartPole). Two layers of 64 each for policy and value.
"""
import json
import sys
import time

SETTINGS = {
    "ours": (64, {"n_steps": 32, "batch_size": 256, "n_epochs": 4, "gamma": 0.99,
                  "gae_lambda": 0.95, "ent_coef": 0.005, "learning_rate": 1e-3}),
    "zoo": (8, {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98,
                "gae_lambda": 0.8, "ent_coef": 0.0,
                "learning_rate": lambda left: 1e-3 * left, "clip_range": lambda left: 0.2 * left})}


def main() -> None:
    import numpy as np
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)        # networks of 64 gain nothing from a second one
    copies, settings = SETTINGS[sys.argv[1]]
    vec = make_vec_env("CartPole-v1", n_envs=copies, seed=0)
    model = PPO("MlpPolicy", vec, seed=0, device="cpu", verbose=0, **settings)
    began = time.perf_counter()
    model.learn(int(sys.argv[2]))
    seconds = time.perf_counter() - began
    print(json.dumps({
        "rate": model.num_timesteps / seconds, "steps": model.num_timesteps,
        "return": float(np.mean([row["r"] for row in model.ep_info_buffer])),
        "parameters": sum(each.numel() for each in model.policy.parameters())}))


main()
