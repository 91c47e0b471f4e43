"""A Python environment as its spaces state it, and what opens it.  Facts -> ObsSpec, PoolLibrary"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...env.obs_spec import ObsField, ObsSpec
from ...settings.goal import Goal
from .makers import Maker

if TYPE_CHECKING:
    from ...settings.values import Config
    from .pool import PoolLibrary
    from .probe_env import Facts
    from .space_rows import Leaf


@dataclass(frozen=True)
class PythonSpec:
    """A Python environment as its spaces state it."""

    name: str
    facts: Facts
    no_final_obs: ClassVar[str] = ""
    has_truncations: ClassVar[bool] = True
    final_obs: ClassVar[str] = "handed over by the environment"
    log_names: ClassVar[tuple[str, ...]] = ("episode_return", "episode_length")
    open_log: ClassVar[bool] = True

    @property
    def registered(self) -> str:
        """The goal that it was registered with in Gymnasium; "" for none."""
        solved = self.facts.threshold
        return "" if solved is None else str(Goal("episode_return", True, solved))

    @property
    def obs_dtype(self) -> str:
        return "u8" if self.facts.observations.dtype.itemsize == 1 else "f32"

    @property
    def act_widths(self) -> tuple[int, ...]:
        return self.facts.actions.sizes

    @property
    def in_teams(self) -> bool:
        """Whether the environment says which agents play together."""
        return bool(self.facts.teams)

    def row(self) -> ObsSpec:
        """The ObsSpec of an observation: its parts are the leaves of the space."""
        plan = self.facts.observations
        parts = tuple(_part(leaf, plan.raw) for leaf in plan.leaves)
        heads = tuple(leaf.name if len(leaf.widths) == 1 else f"{leaf.name}[{number}]"
                      for leaf in self.facts.actions.leaves for number in
                      range(leaf.count if leaf.kind == "Box" else len(leaf.widths)))
        heads = heads if all(heads) and len(heads) > 1 else ()
        if len(parts) == 1 and not parts[0].name:
            return ObsSpec(plan.size, whole=parts[0], heads=heads)
        return ObsSpec(plan.size, parts, heads=heads)

    def hash(self) -> str:
        return self.facts.hash()

    def to_dict(self) -> dict[str, object]:
        return self.facts.to_dict(self.name)


def _part(leaf: Leaf, raw: bool) -> ObsField:
    """A leaf as the part of an observation's row, named by its path."""
    if raw:
        return ObsField(leaf.name, leaf.first, leaf.count * leaf.dtype.itemsize, None, None, "", 0)
    if leaf.kind not in ("Box", "MultiBinary"):
        return ObsField(leaf.name, leaf.first, leaf.count, 0.0, 1.0, "", 0)
    deep = leaf.kind == "Box" and len(leaf.shape) > 1
    picture = leaf.dtype == "uint8" and len(leaf.shape) in (2, 3)
    return ObsField(leaf.name, leaf.first, leaf.count, leaf.low, leaf.high, "", 0,
                    kind="image" if picture else "grid" if deep else "numbers",
                    shape=leaf.shape if deep else ())


@dataclass(frozen=True)
class PythonEnv:
    """What opens a Python environment, in a child process."""

    maker: Maker
    facts: Facts

    folder: ClassVar[None] = None

    @property
    def name(self) -> str:
        return self.maker.name

    @property
    def modules(self) -> tuple[str, ...]:
        """What it imports of the packages that are safe to have before a fork: they start no
        thread, and hold nothing of one environment."""
        found = [name for name in ("gymnasium", "pettingzoo") if name in self.facts.packages]
        return ("puffer_sdk.interop.python_envs.pool_vec", *found,
                *(["gymnasium.wrappers"] if "gymnasium" in found else []))

    def where_played(self, workers: int) -> str:
        return f"in {workers} worker process{'es' * (workers != 1)} of its own" \
            if workers else "in its own process"

    def open(self, config: Config, *, patient: bool = False) -> PoolLibrary:
        """For the child that steps it; patient: one worker or more, so that a hang is an error."""
        from .pool import PoolLibrary

        vec = config.vec
        return PoolLibrary(
            self.maker, self.facts,
            workers=vec.num_workers or int(patient or bool(self.facts.alone)),
            free_running=vec.free_running, max_restarts=vec.max_restarts,
            step_timeout=vec.step_timeout, start_timeout=vec.start_timeout,
            reward_scale=vec.reward_scale or 1.0)
