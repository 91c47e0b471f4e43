"""What a Python environment is.  an environment, made -> Facts

Facts are found by making one environment and resetting it once, in a worker process.
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import site
import sys
import sysconfig
import time
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ...base import process_memory
from ...base.errors import UsageError
from ...env.library import Description
from . import layouts, masks, space_checks, space_rows
from .interfaces import (
    AnyEnv,
    ManyEnvs,
    ParallelEnv,
    SingleEnv,
    Value,
    info_of,
    is_many,
    is_parallel,
)
from .makers import Maker, as_parallel
from .masks import MASK, flat_mask, flat_masks
from .oddities import refuse
from .space_rows import Actions, Observations

NORMALIZERS = ("NormalizeObservation", "NormalizeReward")
SINGLE, PARALLEL, BATCH = "single", "parallel", "batch"
PACKAGES = ("gymnasium", "pettingzoo", "ale_py", "minigrid", "minihack", "nle", "crafter",
            "vizdoom", "magent2", "highway_env", "procgen", "envpool", "mujoco", "Box2D")


@dataclass(frozen=True)
class Facts:
    """An environment's shape.

    kind        SINGLE (Gymnasium), PARALLEL (PettingZoo) or BATCH (a gymnasium.vector.VectorEnv)
    agents      names of its rows: possible_agents; ("",) for a single one
    teams       of these rows, by the environment's attribute `teams`; () where it has none
    masked      whether it gives action masks
    mask_key    whether these are in its observations, and not in infos
    mask_method whether its action_masks() returns them
    limit       steps after which a TimeLimit that was taken off ends an episode; 0: none
    modes, fps  render modes, and the frames per second that its metadata ask for
    threshold   of the return, from which on its registration calls it solved; None: not known
    packages    {"gymnasium": "1.4.0"} that it was made with
    files       of the modules that it loaded and that belong to no installed package
    alone       why no second instance can live in the same process; "" where it can
    same        whether its maker returns one and the same object
    seconds, bytes  that making and resetting the second instance took
    normalizers wrappers of Gymnasium whose running statistics are a part of it
    """

    kind: str
    observations: Observations
    actions: Actions
    agents: tuple[str, ...] = ("",)
    teams: tuple[int, ...] = ()
    masked: bool = False
    mask_key: bool = False
    mask_method: bool = False
    limit: int = 0
    modes: tuple[str, ...] = ()
    fps: float = 0.0
    threshold: float | None = None
    packages: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    alone: str = ""
    same: bool = False
    seconds: float = 0.0
    bytes: int = 0
    normalizers: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Agents of one environment."""
        return len(self.agents)

    @property
    def mask_size(self) -> int:
        return self.actions.mask_size if self.masked else 0

    @property
    def has_alive(self) -> bool:
        """Whether a row may have no agent."""
        return self.kind != SINGLE

    def in_bytes(self, raw: bool) -> Facts:
        """The same environment with raw rows, where its observations differ in type, or without."""
        return replace(self, observations=layouts.with_rows(self.observations, raw))

    @property
    def in_plain_bytes(self) -> bool:
        """Whether each number of a row is a byte, and not a part of a wider number."""
        return self.observations.dtype == np.uint8 and not self.observations.raw

    def hash(self) -> str:
        """Changes when what a policy sees or does changes."""
        lines = [self.kind, *["bytes"] * self.observations.raw,
                 *space_rows.describe(self.observations.leaves), "->",
                 *space_rows.describe(self.actions.leaves), str(self.mask_size)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def description(self, name: str) -> Description:
        """As a compiled environment describes itself."""
        return Description(name=name, obs_dtype=self.observations.dtype,
                           obs_size=self.observations.size, act_sizes=self.actions.sizes,
                           mask_size=self.mask_size, has_truncations=True, has_final_obs=True,
                           has_all_finals=True,
                           has_alive=self.has_alive, whole_steps=True,
                           log_names=("episode_return", "episode_length"),
                           layout=self.observations, actions=self.actions)

    def to_dict(self, name: str) -> dict[str, object]:
        """As written to a run's spec.json."""
        return {"name": name, "kind": self.kind, "obs_dtype": self.observations.dtype.name,
                "obs_size": self.observations.size, "act_sizes": list(self.actions.sizes),
                "observations": space_rows.describe(self.observations.leaves),
                "actions": space_rows.describe(self.actions.leaves), "agents": list(self.agents),
                "has_mask": self.masked, "reward_threshold": self.threshold,
                "packages": self.packages}


def probe(env: Any) -> Facts:
    """The Facts of an environment that was made. It is reset once.

    Raises UsageError where it is no environment, or a space cannot be rows.
    """
    if is_parallel(env):
        return _probe_parallel(as_parallel(env))
    missing = [name for name in ("reset", "step", "observation_space", "action_space")
               if not hasattr(env, name)]
    if missing:
        raise UsageError("this is not an environment", actual=f"{type(env).__name__}, without "
                         f"{', '.join(missing)}", expected="a gymnasium.Env, a PettingZoo "
                         "environment or a gymnasium.vector.VectorEnv",
                         hint="name a callable that returns an environment")
    if is_many(env):
        observations, actions = (space_rows.observations_of(env.single_observation_space),
                                 space_rows.actions_of(env.single_action_space))
        if len(actions.leaves) > 1 or actions.tree != 0:
            raise UsageError("an environment that steps its copies by itself takes arrays of "
                             "actions", expected="a Discrete, MultiDiscrete, MultiBinary or Box",
                             actual=str(env.single_action_space))
        in_ob, mask = _mask_of_many(env) if actions.mask_size else (False, None)
        if mask is not None:
            flat_masks(mask, env.num_envs, actions.mask_size)
        return _with_origin(Facts(BATCH, observations, actions, masked=mask is not None,
                                  mask_key=in_ob), env)
    observations = space_rows.observations_of(env.observation_space)
    actions = space_rows.actions_of(env.action_space)
    ob, info = start(env, 0)
    refuse(space_checks.observation(env.observation_space, ob), "reset", error=UsageError)
    in_ob = isinstance(ob, dict) and MASK in ob
    told = ob if in_ob else info
    method = masks.method_of(env) if MASK not in told else None
    masked = bool(actions.mask_size) and (MASK in told or method is not None)
    if masked:
        flat_mask(method() if method else told[MASK], actions.mask_size)
    return _with_origin(Facts(SINGLE, observations, actions, masked=masked, mask_key=in_ob,
                              mask_method=method is not None, limit=peel(env)[1]), env)


def beside(facts: Facts, maker: Maker, env: AnyEnv) -> Facts:
    """With what a second instance shows, made next to the first."""
    if facts.kind == BATCH:
        return facts
    before, began = process_memory.used_by(os.getpid()), time.perf_counter()
    try:
        other = maker(1)
        other.reset(seed=1)
    except Exception as error:
        return replace(facts, alone=f"{type(error).__name__}: {error}".partition("\n")[0][:160])
    seconds, used = time.perf_counter() - began, process_memory.used_by(os.getpid()) - before
    same = getattr(other, "unwrapped", other) is getattr(env, "unwrapped", env)
    if not same:
        with contextlib.suppress(Exception):
            other.close()
    return replace(facts, same=same, seconds=seconds, bytes=max(0, used))


def _mask_of_many(env: ManyEnvs) -> tuple[bool, Value]:
    """(whether masks are in its observations, those of its first step or None)."""
    obs, infos = env.reset()
    in_ob = isinstance(obs, dict) and MASK in obs
    told = obs if in_ob else infos if isinstance(infos, dict) else {}
    return in_ob, told.get(MASK)


def start(env: AnyEnv, seed: int | None, options: dict[str, Any] | None = None
          ) -> tuple[Value, dict[Any, Value]]:
    """env.reset(seed=seed), which must answer with an observation and a dict."""
    try:
        found = env.reset(seed=seed) if options is None else env.reset(seed=seed, options=options)
    except TypeError as error:
        if "seed" not in str(error):
            raise
        raise UsageError("reset() does not take a seed", detail=str(error),
                         expected="Gymnasium's reset(*, seed=None, options=None)",
                         hint=old_interface(env)) from None
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)):
        raise UsageError("reset() does not return (observation, info)",
                         actual=f"{type(found).__name__}"
                         + (f" of {len(found)}" if isinstance(found, tuple) else ""),
                         hint=old_interface(env))
    return found


def old_interface(env: object) -> str:
    return ("an environment of the old Gym is wrapped with Shimmy: "
            "shimmy.GymV21CompatibilityV0(env=env)")


def _probe_parallel(env: ParallelEnv) -> Facts:
    agents = tuple(str(agent) for agent in env.possible_agents)
    if not agents:
        raise UsageError("the environment has no possible_agents",
                         expected="all possible agents")
    plans = []
    for agent in env.possible_agents:
        plans.append((space_rows.observations_of(env.observation_space(agent)),
                      space_rows.actions_of(env.action_space(agent))))
    (observations, actions), different = plans[0], ""
    for agent, (other, deeds) in zip(agents, plans):
        if (space_rows.describe(other.leaves), deeds.sizes) != (
                space_rows.describe(observations.leaves), actions.sizes):
            different = agent
    if different:
        raise UsageError(f"{agents[0]} and {different} have different spaces",
                         expected="the same spaces for all agents: they share one policy",
                         hint="pad them: supersuit.pad_observations_v0 and pad_action_space_v0")
    obs, infos = start(env, 0)
    for agent, ob in obs.items():
        if agent in env.possible_agents:
            refuse(space_checks.observation(env.observation_space(agent), ob), "reset", agent,
                   UsageError)
    first = next(iter(obs), None)
    ob, info = obs.get(first), info_of(infos, first)
    in_ob = isinstance(ob, dict) and MASK in ob
    masked = bool(actions.mask_size) and (in_ob or MASK in info)
    return _with_origin(Facts(PARALLEL, observations, actions, agents=agents, masked=masked,
                              mask_key=in_ob, teams=_teams_of(env)), env)


def _teams_of(env: ParallelEnv) -> tuple[int, ...]:
    """The team of each possible agent, where env.unwrapped.teams = {agent: number} says it; a
    wrapper may say it as well."""
    told = getattr(env, "teams", None) or getattr(getattr(env, "unwrapped", env), "teams", None)
    if not isinstance(told, dict) or not told:
        return ()
    numbers = [told.get(agent) for agent in env.possible_agents]
    teams = tuple(int(team) for team in numbers if isinstance(team, (int, np.integer))
                  and team >= 0)
    if len(teams) < len(numbers):
        raise UsageError("the environment's `teams` does not give every possible agent a team",
                         expected="{agent: 0 or more} for all of possible_agents", actual=told)
    return teams


def peel(env: Any) -> tuple[SingleEnv, int]:
    """(the environment without the stock wrappers that only check, the steps of a TimeLimit or 0).

    The lane counts steps itself; what was taken off costs a microsecond or two each step.
    """
    import gymnasium.wrappers as stock

    inner, limit = env, 0
    while True:
        kind = type(inner)
        if kind in (stock.OrderEnforcing, stock.PassiveEnvChecker):
            inner = inner.env
        elif kind is stock.TimeLimit and not limit:
            inner, limit = inner.env, int(inner._max_episode_steps)
        else:
            return inner, limit


def _with_origin(facts: Facts, env: AnyEnv) -> Facts:
    """With what its metadata say of drawing, its packages and its files."""
    metadata = getattr(env, "metadata", None) or {}
    modes = metadata.get("render_modes", metadata.get("render.modes", ())) or ()
    fps = metadata.get("render_fps") or 0
    solved = getattr(getattr(env, "spec", None), "reward_threshold", None)
    return replace(facts, modes=tuple(str(mode) for mode in modes),
                   fps=float(fps) if isinstance(fps, (int, float)) else 0.0,
                   threshold=float(solved) if isinstance(solved, (int, float)) else None,
                   packages=versions(env), files=own_files(), normalizers=normalizers_of(env))


def normalizers_of(env: Any) -> tuple[str, ...]:
    """Gymnasium's NormalizeObservation and NormalizeReward among its wrappers."""
    found = []
    while env is not None:
        kind, env = type(env), getattr(env, "env", None)
        if kind.__name__ in NORMALIZERS and kind.__module__.startswith("gymnasium."):
            found.append(kind.__name__)
    return tuple(found)


def versions(env: object) -> dict[str, str]:
    """Of the packages that are loaded now, and of the one that the environment comes from."""
    found = {"numpy": np.__version__}
    inner = getattr(env, "unwrapped", env)
    for name in dict.fromkeys((*PACKAGES, type(inner).__module__.partition(".")[0])):
        module = sys.modules.get(name)
        version = getattr(module, "__version__", None) if module is not None else None
        if module is not None and version is None:
            with contextlib.suppress(metadata.PackageNotFoundError, ValueError):
                version = metadata.version(name)
        if version:
            found[name] = str(version)
    return found


PACKAGES_OF = {"site-packages", "dist-packages"}    # of any Python: a .pth may lead to others


def own_files() -> tuple[str, ...]:
    """Files of the modules that are loaded now and belong to no installed package: what a user
    may change without a new version."""
    places = sysconfig.get_paths()
    installed = {os.path.realpath(path) for path in [
        *(places[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(), site.getusersitepackages(),
        str(Path(__file__).resolve().parents[2])]}
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py"):
            real = os.path.realpath(file)
            if not any(real.startswith(f"{folder}{os.sep}") for folder in installed) \
                    and not PACKAGES_OF.intersection(real.split(os.sep)):
                found.append(real)
    return tuple(sorted(found))
