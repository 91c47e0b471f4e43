"""The functions to_gymnasium, to_vector, to_parallel and to_sb3.  a name or folder -> adapters"""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...base import extras
from ...base.errors import UsageError

if TYPE_CHECKING:
    from .gymnasium_env import PufferEnv
    from .gymnasium_vector import PufferVector
    from .pettingzoo_env import PufferParallel
    from .sb3_vec_env import PufferSB3

ROW = "row"


@contextmanager
def _needing(package: str, install: str) -> Iterator[None]:
    """Inside, a missing package is a UsageError that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UsageError(f"{package} is not installed", hint=install) from None


def to_gymnasium(env: str | os.PathLike[str], *, env_settings: Mapping[str, float] | None = None,
                 render_mode: str | None = None, observations: str = ROW) -> PufferEnv:
    """A C environment with one agent as a gymnasium.Env.

    env             a name or folder, as `puffer_sdk.make` takes it
    env_settings    [env] values over those of the ini
    render_mode     None, "rgb_array" or "human"
    observations    "row": a Box (D,) with the bounds that the header declares; "dict": its named
                    parts

    Returns a PufferEnv; it has not been reset. Raises UsageError for an environment with several
    agents (to_parallel) or without Gymnasium, BuildError.
    """
    with _needing("gymnasium", "pip install 'puffer-sdk[gymnasium]'"):
        from .gymnasium_env import PufferEnv
    return PufferEnv(env, env_settings=env_settings, render_mode=render_mode,
                     observations=observations)


def to_vector(env: str | os.PathLike[str], num_envs: int = 1, *, autoreset: str | None = None,
              threads: int = 1, env_settings: Mapping[str, float] | None = None,
              render_mode: str | None = None, observations: str = ROW,
              copy: bool = True) -> PufferVector:
    """Copies of a C environment, stepped together, as a gymnasium.vector.VectorEnv.

    env             a name or folder, as `puffer_sdk.make` takes it
    num_envs        copies. Each agent of a copy is an env here: n = num_envs x agents in all
    autoreset       "next_step", Gymnasium's default; "same_step", which is how environments in C
                    work and costs least; "disabled". With several agents a copy: "same_step" alone
    threads         how many step at a time; the result does not depend on it
    env_settings    [env] values over those of the ini
    render_mode     None, "rgb_array" or "human"
    observations    "row": a Box (n, D) with the bounds that the header declares; "dict": its named
                    parts
    copy            False: reset and step return the same arrays each time ("same_step" alone)

    Returns a PufferVector; it has not been reset. Raises UsageError for an autoreset that the
    environment cannot have or without Gymnasium, BuildError.
    """
    with _needing("gymnasium", "pip install 'puffer-sdk[gymnasium]'"):
        from .gymnasium_vector import PufferVector
    return PufferVector(env, num_envs, autoreset=autoreset, threads=threads,
                        env_settings=env_settings, render_mode=render_mode,
                        observations=observations, copy=copy)


def to_parallel(env: str | os.PathLike[str], *, env_settings: Mapping[str, float] | None = None,
                render_mode: str | None = None, observations: str = ROW) -> PufferParallel:
    """A C environment as a pettingzoo.ParallelEnv, with an agent for each of its rows.

    env             a name or folder, as `puffer_sdk.make` takes it
    env_settings    [env] values over those of the ini
    render_mode     None, "rgb_array" or "human"
    observations    "row": a Box (D,) with the bounds that the header declares; "dict": its named
                    parts

    Returns a PufferParallel; it has not been reset. Raises UsageError without PettingZoo,
    BuildError.
    """
    with _needing("pettingzoo", "pip install 'puffer-sdk[pettingzoo]'"):
        from .pettingzoo_env import PufferParallel
    return PufferParallel(env, env_settings=env_settings, render_mode=render_mode,
                          observations=observations)


def to_sb3(env: str | os.PathLike[str], num_envs: int = 1, *, seed: int = 0, threads: int = 1,
           env_settings: Mapping[str, float] | None = None, render_mode: str | None = None,
           observations: str = ROW) -> PufferSB3:
    """Copies of a C environment as a VecEnv of Stable-Baselines3.

    env             a name or folder, as `puffer_sdk.make` takes it
    num_envs        copies. Each agent of a copy is an env here: n = num_envs x agents in all
    seed            copy i begins with seed + i
    threads         how many step at a time; the result does not depend on it
    env_settings    [env] values over those of the ini
    render_mode     None, "rgb_array" or "human"
    observations    "row" (n, D), for MlpPolicy; "dict": named parts, for MultiInputPolicy

    Returns a PufferSB3; it has not been reset. Raises UsageError for an environment whose heads
    are of both kinds or without Stable-Baselines3, BuildError.
    """
    with _needing("stable_baselines3", extras.install_with_torch("sb3")):
        from .sb3_vec_env import PufferSB3
    return PufferSB3(env, num_envs, seed=seed, threads=threads, env_settings=env_settings,
                     render_mode=render_mode, observations=observations)
