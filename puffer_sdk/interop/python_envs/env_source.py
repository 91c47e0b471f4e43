"""What ENV means to a command: a compiled environment, or a Python one.  ENV -> Source -> Prepared

    source = env_source.find("gymnasium:CartPole-v1")      # or a folder, a name, None
    source.runs_dir(None)                               # runs/gymnasium/CartPole-v1
    prepared = source.prepare({"train.seed": 7})        # built, or probed; settings resolved
    job = prepared.job(TrainJob, ...)                   # for a child process
"""
from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...base import paths
from ...base.errors import UsageError
from ...base.spec import Spec
from ...env.job import CompiledEnv, EnvJob
from ...settings.table import AUTO, OBS_SCALE
from ...settings.texts import literal
from . import makers
from .makers import CALLABLE, Maker

if TYPE_CHECKING:
    from ...env.obs_spec import ObsField
    from ...settings.values import Config
    from .probe_env import Facts
    from .space_rows import Leaf

# what a Python environment begins with: its steps cost a hundred times as much as those in C, and
# a small network learns from fewer of them
DEFAULTS = {"train.total_timesteps": 500_000, "train.horizon": 32, "train.minibatch_size": 256,
            "train.learning_rate": 0.015, "train.replay_ratio": 4.0, "train.gamma": 0.99,
            "train.gae_lambda": 0.95, "train.ent_coef": 0.005, "policy.hidden_size": 64,
            "policy.num_layers": 1, "eval.episodes": 100}
AGENTS = 64
WHY = "a Python environment"
# what a sweep searches in place of its own ranges, which are for epochs of many more steps
RANGES = {"train.horizon": ("uniform_pow2", 8, 128),
          "train.minibatch_size": ("uniform_pow2", 64, 2048),
          "train.replay_ratio": ("log_normal", 0.5, 8.0)}


@dataclass(frozen=True)
class Prepared:
    """An environment that can be opened, with its settings.

    spec    name, hash(), to_dict() for a run's spec.json, no_final_obs
    folder  of a compiled environment; None for a Python one
    cwd     where its code runs
    source  what it was prepared from, and ini: a file that was read alone, in place of its own
    """

    opener: CompiledEnv | PythonEnv
    config: Config
    spec: Spec | PythonSpec
    folder: Path | None
    cwd: Path
    source: CompiledSource | PythonSource
    ini: Path | None = None

    @property
    def patience(self) -> float:
        """Seconds of silence after which the parent of a child takes it for hung. A vec of Python
        environments knows better which of its workers hangs, and says so before."""
        vec = self.config.vec
        return vec.step_timeout if self.folder else max(vec.step_timeout, vec.start_timeout) + 5.0

    @property
    def step_patience(self) -> float:
        """The same for a step alone, where no worker process is between the parent and the code
        that hangs."""
        vec = self.config.vec
        return self.patience if vec.num_workers and not self.folder else vec.step_timeout

    def again(self, settings: Mapping[str, object] | None = None) -> Prepared:
        """The same environment with other settings. Raises UsageError, and RunError where a Python
        environment cannot be made with them."""
        return self.source.again(self, settings)

    def count_agents(self) -> int:
        """The agents of one copy. Raises RunError where init dies or does not return."""
        return self.source.count_agents(self)

    def job(self, kind: type[EnvJob], *, config: Config | None = None, **more):
        """A job for a child process; more: what its kind adds."""
        return kind(opener=self.opener, config=config or self.config, **more)

    def drawn(self, mode: str) -> Prepared:
        """The same Python environment made with render_mode = "rgb_array" or "human". UsageError
        where its metadata have no such mode."""
        modes = self.opener.facts.modes
        if mode not in modes:
            raise UsageError(f"this environment has no render mode {mode}", where=self.spec.name,
                             expected=f"metadata = {{'render_modes': ['{mode}']}}, and a keyword "
                                      "render_mode",
                             actual=", ".join(modes) or "no render modes")
        maker = self.opener.maker
        maker = replace(maker, keywords={**maker.keywords, "render_mode": mode})
        return replace(self, opener=replace(self.opener, maker=maker))

    def as_trained(self, env: Mapping | None) -> Prepared:
        """The same environment with rows as a trained network has them.

        env     what its checkpoint says about the environment; None: no checkpoint
        """
        if env is None or self.folder is not None:
            return self
        layout = env.get("layout")
        facts = self.opener.facts.in_bytes(bool(layout and layout["raw"]))
        return replace(self, opener=replace(self.opener, facts=facts),
                       spec=replace(self.spec, facts=facts))

    def with_sizes(self) -> Prepared:
        """A Python environment's automatic [vec] reward_scale and [train] obs_scale, from random
        play; a compiled one's are measured by the child that trains. Raises RunError.
        """
        vec, scaled = self.config.vec, self.config.train.obs_scale != AUTO
        if self.folder is not None or vec.reward_scale and scaled:
            return self
        from ...env import random_play
        from .pool import PoolLibrary
        from .pool_vec import PoolVec

        facts, config = self.opener.facts, self.config
        library = PoolLibrary(self.opener.maker, facts, workers=vec.num_workers or 1,
                              max_restarts=vec.max_restarts, step_timeout=vec.step_timeout,
                              start_timeout=vec.start_timeout)
        try:
            with PoolVec(library, total_agents=random_play.COPIES * facts.rows,
                         seed=random_play.SEED) as envs:
                played = random_play.play(envs, config.train.gamma)
        finally:
            library.close()
        if not scaled:
            config = config.with_auto(OBS_SCALE, *(
                ("1", "rows are bytes of several types") if facts.observations.raw else
                random_play.choose_obs_scale(played.squares, self.spec.row)))
        if not vec.reward_scale:
            config = config.with_auto("vec.reward_scale", played.reward_scale, "random play")
        return replace(self, config=config)

    def write_config_header(self) -> None:
        """NAME_config.h of a compiled environment, for the programs beside it."""
        from ...env import binding

        if self.folder is not None:
            binding.write_config_header(self.spec, self.config.env, self.opener.library.parent)


def find(env=None, ini: Path | str | None = None) -> CompiledSource | PythonSource:
    """What ENV means; ini: settings over those of its own ini. Raises UsageError with the nearest
    name."""
    over = (Path(ini).absolute(),) if ini else ()
    if makers.is_name(env):
        return PythonSource(env, over)
    return CompiledSource(paths.find_env(env), over)


@dataclass(frozen=True)
class CompiledSource:
    """A folder with a header; over: files of settings over its own; theirs: as config.resolve."""

    folder: Path
    over: tuple[Path, ...] = ()
    theirs: bool = False

    name = property(lambda self: self.folder.name)
    label = property(lambda self: self.folder.name, doc="its name in names of files")
    place = property(lambda self: Path(self.folder.name), doc="of its runs, below all runs")
    ref = property(lambda self: self.folder, doc="what commands take as ENV")
    in_c, ranges, defaults = True, {}, {}

    @property
    def lenient(self) -> bool:
        """Whether its ini is one of PufferLib's, which holds what has no effect here."""
        return (self.folder / "binding.c").is_file()

    def own_inis(self) -> list[Path]:
        """Its own files of settings; the last one counts."""
        from ...settings import config

        return config.own_inis(self.folder)

    def resolve(self, settings: Mapping[str, object] | None = None, spec=None, *,
                ini: Path | None = None, warn_unread: bool = True) -> Config:
        """Its settings; ini: read alone, in place of its own files."""
        from ...settings import config

        return config.resolve(self.folder, settings, spec, ini=ini, over=self.over,
                              warn_unread=warn_unread, theirs=self.theirs)

    @staticmethod
    def read_value(text: str) -> object:
        """A value of [env]. Raises ValueError."""
        return float(text)

    def runs_dir(self, runs: Path | None = None) -> Path:
        return paths.runs_dir(self.folder, runs)

    def prepare(self, settings: Mapping[str, object] | None = None, *, ini: Path | None = None,
                raylib_headers: Path | None = None, verbose: bool = False) -> Prepared:
        """Built, and its settings resolved; ini: read alone, in place of its own files. Raises
        UsageError, BuildError."""
        from ...env import build

        built = build.build(self.folder, raylib_headers=raylib_headers, verbose=verbose)
        return Prepared(CompiledEnv.of(built), self.resolve(settings, built.spec, ini=ini),
                        built.spec, self.folder, paths.working_dir(self.folder), self, ini)

    def again(self, before: Prepared, settings: Mapping[str, object] | None) -> Prepared:
        return replace(before, config=self.resolve(settings, before.spec, ini=before.ini,
                                                   warn_unread=False))

    def count_agents(self, prepared: Prepared) -> int:
        from ...env.job import count_agents

        return count_agents(self.folder)


@dataclass(frozen=True)
class PythonSource:
    """A name with a colon (makers.py); over: files of settings over those of its own ini."""

    name: str
    over: tuple[Path, ...] = ()
    theirs: bool = False
    ref = property(lambda self: self.name)
    label = property(lambda self: "-".join(self.place.parts))
    folder, in_c, lenient, ranges, defaults = None, False, False, RANGES, DEFAULTS
    read_value = staticmethod(literal)

    @property
    def place(self) -> Path:
        """Where its runs and its ini are, relative to what holds those of all environments:
        gymnasium/CartPole-v1."""
        maker = makers.read_name(self.name)
        first, _, rest = self.name.rpartition(":") if maker.kind == CALLABLE \
            else self.name.partition(":")
        first = Path(first).stem if first.endswith(".py") else first
        parts = [re.sub(r"[^\w.+-]", "_", part) for part in f"{first}/{rest}".split("/")]
        return Path(*(part for part in parts if part.strip(".")))

    def runs_dir(self, runs: Path | None = None) -> Path:
        root = paths.runs_root(paths.project_root(Path.cwd() / "x"), runs)
        return paths.follow(root / self.place)

    @property
    def ini(self) -> Path | None:
        """gymnasium/CartPole-v1.ini in the current folder or at the project's root, if it is
        there."""
        for root in (Path.cwd(), paths.project_root(Path.cwd() / "x")):
            path = root / self.place.parent / f"{self.place.name}.ini"
            if path.is_file():
                return path
        return None

    def own_inis(self) -> list[Path]:
        return [self.ini] if self.ini else []

    def resolve(self, settings: Mapping[str, object] | None = None, *, ini: Path | None = None,
                facts: Facts | None = None) -> Config:
        """Its settings; ini: read alone, in place of its own file. facts: once it is probed."""
        from ...settings import config

        rows = facts.rows if facts else 1
        agents = math.ceil(AGENTS / rows) * rows
        why = WHY if rows == 1 else f"{WHY} of {rows} agents"
        defaults = {**{full: (value, WHY) for full, value in DEFAULTS.items()},
                    "vec.total_agents": (agents, why)}
        files = [*([ini] if ini else self.own_inis()), *self.over]
        return config.resolve_python(self.name, settings, files, defaults,
                                     facts is None or facts.in_plain_bytes, theirs=self.theirs)

    def prepare(self, settings: Mapping[str, object] | None = None, *, ini: Path | None = None,
                verbose: bool = False) -> Prepared:
        """One copy is made in a worker process, and its spaces are read; settings are resolved.

        Raises UsageError where the name leads nowhere or the spaces cannot be rows, RunError where
        its code fails.
        """
        from . import lanes

        first = self.resolve(settings, ini=ini)
        if first.vec.device == "cuda":
            raise UsageError("a Python environment cannot run on a GPU", where="vec.device cuda",
                             hint="leave vec.device at cpu; train.device cuda trains on the GPU")
        lanes.build(verbose=verbose)
        return self._probed(first, settings, ini)

    def again(self, before: Prepared, settings: Mapping[str, object] | None) -> Prepared:
        opener = before.opener
        resolved = self.resolve(settings, ini=before.ini, facts=opener.facts)
        if resolved.env == opener.maker.keywords:
            return replace(before, config=resolved)
        return self._probed(resolved, settings, before.ini)

    def _probed(self, first: Config, settings: Mapping[str, object] | None,
                ini: Path | None) -> Prepared:
        from .pool import find_facts

        maker = makers.read_name(self.name, first.env)
        try:
            facts, process = find_facts(maker, first.vec.start_timeout)
        except UsageError as error:         # of a keyword: where it was given
            error.where = first.origin.get((error.where or "").replace("[env] ", "env."),
                                           error.where)
            raise
        process.end()
        facts = facts.in_bytes(bool(first.policy.torch_class))
        return Prepared(PythonEnv(maker, facts), self.resolve(settings, ini=ini, facts=facts),
                        PythonSpec(self.name, facts), None, Path.cwd(), self, ini)

    def count_agents(self, prepared: Prepared) -> int:
        return prepared.opener.facts.rows


@dataclass(frozen=True)
class PythonSpec:
    """A Python environment as its spaces state it."""

    name: str
    facts: Facts
    no_final_obs = ""
    has_truncations, final_obs = True, "handed over by the environment"
    log_names, open_log = ("episode_return", "episode_length"), True

    obs_dtype = property(lambda self: "u8" if self.facts.observations.dtype.itemsize == 1
                         else "f32")
    act_widths = property(lambda self: self.facts.actions.sizes)

    def row(self):
        """The ObsSpec of an observation: its parts are the leaves of the space."""
        from ...env.obs_spec import ObsSpec

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

    def to_dict(self) -> dict:
        return self.facts.to_dict(self.name)


def _part(leaf: Leaf, raw: bool) -> ObsField:
    """A leaf as the part of an observation's row, named by its path."""
    from ...env.obs_spec import ObsField

    where = {"name": leaf.name, "first": leaf.first, "file": "", "line": 0}
    if raw:
        return ObsField(**where, count=leaf.count * leaf.dtype.itemsize, low=None, high=None)
    if leaf.kind not in ("Box", "MultiBinary"):
        return ObsField(**where, count=leaf.count, low=0.0, high=1.0)
    deep = leaf.kind == "Box" and len(leaf.shape) > 1
    picture = leaf.dtype == "uint8" and len(leaf.shape) in (2, 3)
    return ObsField(**where, count=leaf.count, low=leaf.low, high=leaf.high,
                kind="image" if picture else "grid" if deep else "numbers",
                shape=leaf.shape if deep else ())


@dataclass(frozen=True)
class PythonEnv:
    """What opens a Python environment, in a child process."""

    maker: Maker
    facts: Facts

    name = property(lambda self: self.maker.name)
    folder = None

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

    def open(self, resolved: Config):
        from .pool import PoolLibrary

        vec = resolved.vec
        return PoolLibrary(
            self.maker, self.facts, workers=vec.num_workers, free_running=vec.free_running,
            max_restarts=vec.max_restarts, step_timeout=vec.step_timeout,
            start_timeout=vec.start_timeout, reward_scale=vec.reward_scale or 1.0)
