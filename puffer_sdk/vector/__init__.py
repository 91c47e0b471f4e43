"""A gymnasium.vector.VectorEnv over worker processes: for environments in Python.

    envs = puffer_sdk.vector.Vector([lambda: gymnasium.make("CartPole-v1")] * 64)
    observations, infos = envs.reset(seed=0)
    observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())

It takes what gymnasium.vector.AsyncVectorEnv takes, and returns what that returns; each worker
steps several environments, and writes their observations in place.

`SB3Vector` is the same for Stable-Baselines3: a VecEnv.
`OldInfos` gives a vector the infos of Gymnasium 0.29, for programs that were written for it.
"""
from __future__ import annotations

__all__ = ["OldInfos", "SB3Vector", "Vector"]
MODULES = {"OldInfos": "old_infos", "SB3Vector": "sb3", "Vector": "vector"}


def __getattr__(name: str):
    if name not in MODULES:
        raise AttributeError(f"module 'puffer_sdk.vector' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f".{MODULES[name]}", __name__), name)
