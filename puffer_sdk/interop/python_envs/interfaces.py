"""What we call of other people's environments: no more of their interfaces than this."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

# An observation, an action or an info, nested as its space is: only the environment knows its type
Value: TypeAlias = Any


class AnyEnv(Protocol):
    """What all kinds have."""

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Value: ...
    def step(self, action: Value, /) -> Value: ...
    def render(self) -> Value: ...
    def close(self) -> object: ...


class SingleEnv(AnyEnv, Protocol):
    """A gymnasium.Env."""

    @property
    def observation_space(self) -> Any: ...
    @property
    def action_space(self) -> Any: ...


class ManyEnvs(AnyEnv, Protocol):
    """A gymnasium.vector.VectorEnv."""

    @property
    def num_envs(self) -> int: ...
    @property
    def single_observation_space(self) -> Any: ...
    @property
    def single_action_space(self) -> Any: ...


class ParallelEnv(AnyEnv, Protocol):
    """A pettingzoo.ParallelEnv."""

    agents: list[Any]

    @property
    def possible_agents(self) -> list[Any]: ...
    def observation_space(self, agent: Any, /) -> Any: ...
    def action_space(self, agent: Any, /) -> Any: ...


def info_of(infos: object, agent: object) -> Mapping[str, Value]:
    """One agent's part of infos; {} where there is none."""
    found = infos.get(agent) if isinstance(infos, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def is_many(env: object) -> bool:
    """Whether it steps copies by itself, as a gymnasium.vector.VectorEnv does."""
    return hasattr(env, "num_envs") and hasattr(env, "single_observation_space")


def is_parallel(env: object) -> bool:
    return hasattr(env, "possible_agents") or hasattr(env, "agent_iter")
