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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .interop.async_vector.async_sb3 import SB3Vector
    from .interop.async_vector.old_infos import OldInfos
    from .interop.async_vector.vector_parent import Vector

__all__ = ["OldInfos", "SB3Vector", "Vector"]
MODULES = {"OldInfos": "old_infos", "SB3Vector": "async_sb3", "Vector": "vector_parent"}


def __getattr__(name: str) -> object:
    if name not in MODULES:
        raise AttributeError(f"module 'puffer_sdk.vector' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f".{MODULES[name]}", "puffer_sdk.interop.async_vector"), name)
