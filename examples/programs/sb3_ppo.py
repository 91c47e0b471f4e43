"""Stable-Baselines3's PPO on an environment in C, whose copies it steps as one VecEnv.

    pip install 'puffer-sdk[sb3]'
    python sb3_ppo.py                       # cartpole, 40,000 steps
    python sb3_ppo.py ENV STEPS SEED        # a name or folder of yours

One discrete or several, or all continuous: Stable-Baselines3 has no actions of both kinds at once.
"""
import sys
import time

import numpy as np
import torch
from stable_baselines3 import PPO

import puffer_sdk

name = sys.argv[1] if len(sys.argv) > 1 else "cartpole"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 40_000
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1

torch.set_num_threads(1)                    # networks of 64 gain nothing from a second one
envs = puffer_sdk.to_sb3(name, 8, seed=seed)
model = PPO("MlpPolicy", envs, seed=seed, device="cpu", n_steps=64, batch_size=256, n_epochs=10,
            gamma=0.98, gae_lambda=0.9, learning_rate=lambda left: 2e-3 * left)
began = time.perf_counter()
model.learn(steps)
print(f"{model.num_timesteps / (time.perf_counter() - began):.0f} steps/s")

score = np.mean([episode["r"] for episode in model.ep_info_buffer])     # the last 100 episodes
print(f"score {score:.1f} after {model.num_timesteps} steps")
envs.close()
