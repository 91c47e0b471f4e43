"""RLlib's PPO on an environment in C, under a name that Ray knows.

    pip install 'puffer-sdk[gymnasium]' 'ray[rllib]' torch
    python rllib_ppo.py                         # cartpole, 40,000 steps
    python rllib_ppo.py ENV STEPS SEED
"""
import sys
import time

from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune import register_env

import puffer_sdk

name = sys.argv[1] if len(sys.argv) > 1 else "cartpole"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 40_000
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1

register_env(name, lambda config: puffer_sdk.to_gymnasium(name, **config))
learner = (
    PPOConfig()
    .environment(name)                              # env_config={"env_settings": {...}}
    .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
    .training(train_batch_size_per_learner=2048, minibatch_size=256, num_epochs=8, lr=2e-3,
              gamma=0.98, lambda_=0.9, vf_clip_param=1000.0)
    .debugging(seed=seed)
    .build_algo()
)
done, score, began = 0, float("nan"), time.perf_counter()
while done < steps:
    found = learner.train()
    done = int(found["num_env_steps_sampled_lifetime"])
    score = found["env_runners"]["episode_return_mean"]
    print(f"{done:>9} steps  return {score:.1f}", flush=True)
print(f"{done / (time.perf_counter() - began):.0f} steps/s")
learner.stop()
print(f"score {score:.1f} after {done} steps")
