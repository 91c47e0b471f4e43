"""Many agents, one policy: Stable-Baselines3's PPO trains it, and PettingZoo's loop plays it.

    pip install 'puffer-sdk[sb3,pettingzoo]'
    python pettingzoo_sb3.py                    # 64 snakes in one world
    python pettingzoo_sb3.py STEPS --seed=2
    pip install supersuit
    python pettingzoo_sb3.py STEPS --supersuit  # trains through PettingZoo as well: slower

to_sb3 has a row for each agent, so that one policy learns from all of them. SuperSuit does the same
for environments of PettingZoo. The score is what agents of PettingZoo's loop earn in their lives.
"""
import sys
import time

import numpy as np
import torch
from stable_baselines3 import PPO

import puffer_sdk

WORLD = {"num_agents": 64, "width": 160, "height": 90, "num_food": 512, "vision": 5}
words = [word for word in sys.argv[1:] if not word.startswith("--")]
steps = int(words[0]) if words else 400_000
seed = next((int(word[7:]) for word in sys.argv if word.startswith("--seed=")), 1)


def through_supersuit():
    import supersuit

    env = supersuit.black_death_v3(puffer_sdk.to_parallel("snake", env_settings=WORLD))
    envs = supersuit.pettingzoo_env_to_vec_env_v1(env)      # agents that died: rows of zeros
    return supersuit.concat_vec_envs_v1(envs, 1, base_class="stable_baselines3")


def play(model, ticks: int) -> float:
    """The mean return in PettingZoo's own loop: of lives, and of those that go on at the end."""
    env = puffer_sdk.to_parallel("snake", env_settings=WORLD)
    seen, _ = env.reset(seed=7)
    earned, lives = dict.fromkeys(env.possible_agents, 0.0), []
    for _ in range(ticks):
        if not env.agents:
            seen, _ = env.reset()
        rows = np.stack([seen[agent] for agent in env.agents])
        actions, _ = model.predict(rows)
        seen, rewards, over, cut, _ = env.step(dict(zip(env.agents, actions)))
        for agent, reward in rewards.items():
            earned[agent] += reward
            if over[agent] or cut[agent]:
                lives.append(earned[agent])
                earned[agent] = 0.0
    lives += [earned[agent] for agent in env.agents]
    env.close()
    return float(np.mean(lives))


torch.set_num_threads(1)
torch.manual_seed(seed)
zoo = "--supersuit" in sys.argv
envs = through_supersuit() if zoo else \
    puffer_sdk.to_sb3("snake", 1, seed=seed, env_settings=WORLD)
# SuperSuit's vectors cannot be seeded
model = PPO("MlpPolicy", envs, seed=None if zoo else seed, device="cpu", n_steps=64,
            batch_size=1024, n_epochs=4, gamma=0.9, learning_rate=2e-3, ent_coef=0.01)
began = time.perf_counter()
model.learn(steps)
print(f"{model.num_timesteps / (time.perf_counter() - began):.0f} steps/s")
print(f"score {play(model, 150):.2f} after {model.num_timesteps} steps")
envs.close()
