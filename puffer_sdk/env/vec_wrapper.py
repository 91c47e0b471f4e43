"""A step of the user's own.  a VecEnv -> the same arrays, and a step that trainers call

Trainers step a VecEnv's copies from C, without Python; those of a VecWrapper they step by calling
step() in every tick.
"""
from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ..base.errors import UsageError
from .library import Layout
from .vec import VecEnv


class VecWrapper:
    """What stands between an environment and whoever plays it: a trainer calls step() every tick.

        class Novelty(puffer_sdk.VecWrapper):
            def step(self, actions=None):
                found = super().step(actions)
                self.rewards[:] += bonus(self.observations)     # the memory that trainers read
                return found

        with puffer_sdk.make("my_env", num_envs=1024) as vec, \\
                puffer_sdk.Trainer(Novelty(vec)) as trainer: ...

    Every other name is that of the VecEnv, `vec`: arrays are the same memory. Wrappers may wrap
    wrappers. Raises UsageError where it is given anything else.
    """

    trainer_threads, block_agents = 1, 0    # steps are whole: those of the vec do not count
    vec: VecEnv | VecWrapper

    def __init__(self, vec: VecEnv | VecWrapper):
        if not isinstance(vec, (VecEnv, VecWrapper)):
            raise UsageError("this cannot be wrapped", expected="a VecEnv of make() or wrap()",
                             actual=type(vec).__name__)
        self.vec = vec

    def __getattr__(self, name: str) -> Any:
        if name == "vec":                   # __init__ of a subclass has not called ours yet
            raise AttributeError(f"{type(self).__name__}.__init__ has not called "
                                 "super().__init__(vec)")
        return getattr(self.vec, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("actions", "all_finals"):
            setattr(self.vec, name, value)
        else:
            object.__setattr__(self, name, value)

    @property
    def layout(self) -> Layout | None:
        return self.vec.layout

    def reset(self, seed: int | None = None) -> Any:
        """As VecEnv.reset(): observations (N, D)."""
        return self.vec.reset(seed)

    def step(self, actions: ArrayLike | None = None) -> tuple[Any, Any, Any, Any]:
        """As VecEnv.step(): (observations, rewards, terminals, truncations)."""
        return self.vec.step(actions)

    def __enter__(self) -> VecWrapper:
        return self

    def __exit__(self, *exc: object) -> None:
        self.vec.close()
