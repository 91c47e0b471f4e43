"""The functions to_gymnasium, to_vector, to_parallel and to_sb3.  a name or folder -> adapters"""
from __future__ import annotations


def _adapter(module: str, package: str, extra: str, name: str):
    """The class NAME of a module here, or a UsageError that says what to install."""
    from importlib import import_module

    from ...base import extras
    from ...base.errors import UsageError

    try:
        return getattr(import_module(f".{module}", __package__), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        hint = extras.install_with_torch(extra) if extra == "sb3" else \
            f"pip install 'puffer-sdk[{extra}]'"
        raise UsageError(f"{package} is not installed", hint=hint) from None


def to_gymnasium(env, **options):
    """ENV (a name or folder of a C environment with one agent) as a gymnasium.Env: a PufferEnv.

    options     env_settings, render_mode, observations: see PufferEnv
    Raises UsageError, BuildError.
    """
    return _adapter("gymnasium_env", "gymnasium", "gymnasium", "PufferEnv")(env, **options)


def to_vector(env, num_envs: int = 1, **options):
    """Copies of ENV (a name or folder of a C environment) as a gymnasium.vector.VectorEnv: a
    PufferVector.

    options     autoreset, threads, env_settings, render_mode, observations, copy: see PufferVector
    Raises UsageError, BuildError.
    """
    return _adapter("gymnasium_vector", "gymnasium", "gymnasium", "PufferVector")(
        env, num_envs, **options)


def to_parallel(env, **options):
    """ENV (a name or folder of a C environment) as a pettingzoo.ParallelEnv: a PufferParallel.

    options     env_settings, render_mode, observations: see PufferParallel
    Raises UsageError, BuildError.
    """
    return _adapter("pettingzoo_env", "pettingzoo", "pettingzoo", "PufferParallel")(
        env, **options)


def to_sb3(env, num_envs: int = 1, **options):
    """Copies of ENV (a name or folder of a C environment) as a VecEnv of Stable-Baselines3: a
    PufferSB3.

    options     seed, threads, env_settings, render_mode, observations: see PufferSB3
    Raises UsageError, BuildError.
    """
    return _adapter("sb3_vec_env", "stable_baselines3", "sb3", "PufferSB3")(
        env, num_envs, **options)
