"""A single copy of environments that step many by themselves.  a Maker -> a gymnasium.Env"""
from __future__ import annotations

import gymnasium
import numpy as np

from .games.batch import LARGEST, frame_of, of_row, reset_with
from .interfaces import ManyEnvs, Value
from .makers import Maker


class OneCopy(gymnasium.Env[Value, Value]):
    """What a batch of one copy does, with the interface of one.

    maker   makes it, and makes it anew where a seed is taken only then
    many    the batch
    """

    def __init__(self, maker: Maker, many: ManyEnvs):
        self.maker, self.many = maker, many
        self.observation_space = many.single_observation_space
        self.action_space = many.single_action_space
        self.metadata = dict(getattr(many, "metadata", None) or {})
        self.render_mode = getattr(many, "render_mode", None)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None
              ) -> tuple[Value, dict[str, Value]]:
        super().reset(seed=seed)
        if seed is None:
            obs, infos = self.many.reset()
        elif self.maker.seeded_when_made:
            self.many.close()
            self.many = self.maker.batch(1, [seed & LARGEST])
            obs, infos = self.many.reset()
        else:
            obs, infos = reset_with(self.many, [seed & LARGEST])
        return copied(of_row(obs, 0)), first(infos)

    def step(self, action: Value) -> tuple[Value, float, bool, bool, dict[str, Value]]:
        obs, rewards, terminated, truncated, infos = self.many.step(np.asarray([action]))
        over = bool(terminated[0] or truncated[0])
        if over and isinstance(infos, dict) and infos.get("final_obs") is not None:
            obs, infos = infos["final_obs"], infos.get("final_info")    # it has reset itself
        return (copied(of_row(obs, 0)), float(rewards[0]), bool(terminated[0]), bool(truncated[0]),
                first(infos))

    def render(self) -> Value:
        return frame_of(self.maker, self.many, 0)

    def close(self) -> None:
        self.many.close()


def copied(ob: Value) -> Value:
    """A copy of an observation, with its own arrays."""
    if isinstance(ob, dict):
        return {key: copied(part) for key, part in ob.items()}
    if isinstance(ob, tuple):
        return tuple(map(copied, ob))
    return np.array(ob)


def first(infos: Value) -> dict[str, Value]:
    """The first copy's part of a vector's infos: {key: (copies,)}, with a mask under _key."""
    if not isinstance(infos, dict):
        return {}
    return {key: value[0] for key, value in infos.items()
            if isinstance(value, np.ndarray) and len(value) == 1 and not key.startswith("_")
            and not key.startswith("final_")}
