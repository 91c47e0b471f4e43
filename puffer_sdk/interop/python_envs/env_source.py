"""What ENV means to a command: a compiled environment, or a Python one.  ENV -> Source -> Prepared

    source = env_source.find("gymnasium:CartPole-v1")      # or a folder, a name, None
    source.runs_dir(None)                               # runs/gymnasium/CartPole-v1
    prepared = source.prepare({"train.seed": 7})        # built, or probed; settings resolved
    job = prepared.job(TrainJob, ...)                   # for a child process
"""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...base import paths
from ...base.errors import UsageError
from ...base.spec import Spec
from ...env.job import CompiledEnv, EnvJob
from ...settings.table import AUTO, OBS_SCALE
from ...settings.texts import literal, numbers_of
from . import makers
from .makers import CALLABLE
from .python_spec import PythonEnv as PythonEnv
from .python_spec import PythonSpec

if TYPE_CHECKING:
    from ...base.spec import Spec
    from ...settings.values import Config
    from .probe_env import Facts

Job = TypeVar("Job", bound=EnvJob)

# a step costs a hundred times as much as one in C; all else has the same defaults
DEFAULTS = {"train.total_timesteps": 500_000}
ALONE = 8               # copies, where each needs a process of its own
WHY = "a Python environment"
# what a sweep searches in place of its own ranges, which are for epochs of many more steps
RANGES = {"train.horizon": ("uniform_pow2", 8, 128),
          "train.minibatch_size": ("uniform_pow2", 64, 2048),
          "train.replay_ratio": ("log_normal", 0.5, 8.0)}


Settings = Mapping[str, object]
Range = tuple[str, float, float]


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
        """Seconds of silence after which the parent of a child takes it for hung."""
        return self.config.vec.step_timeout

    @property
    def step_patience(self) -> float:
        """The same for a step alone, where no worker process is between the parent and the code
        that hangs."""
        return self.patience

    def again(self, settings: Settings | None = None) -> Prepared:
        """The same environment with other settings. Raises UsageError, and RunError where a Python
        environment cannot be made with them."""
        raise NotImplementedError

    def count_agents(self) -> int:
        """The agents of one copy. Raises RunError where init dies or does not return."""
        raise NotImplementedError

    def job(self, kind: type[Job], *, config: Config | None = None, **more: Any) -> Job:
        """A job for a child process; more: what its kind adds."""
        return kind(opener=self.opener, config=config or self.config, **more)

    def as_trained(self, env: Mapping[str, object] | None) -> Prepared:
        """The same environment with rows as a trained network has them.

        env     what its checkpoint says about the environment; None: no checkpoint
        """
        return self

    def with_sizes(self) -> Prepared:
        """[vec] reward_scale and [train] obs_scale of a Python environment, where they are chosen
        automatically: by random play. RunError where its code fails. (A compiled environment is
        played by the child that trains.)
        """
        return self

    def remark(self) -> None:
        """Say what copies of a Python environment take, and what of them no run keeps."""

    def write_config_header(self) -> None:
        """NAME_config.h of a compiled environment, for the programs beside it."""


@dataclass(frozen=True)
class PreparedC(Prepared):
    """A compiled environment; it is built."""

    opener: CompiledEnv
    spec: Spec
    folder: Path
    source: CompiledSource

    def again(self, settings: Settings | None = None) -> PreparedC:
        return replace(self, config=self.source.resolve(settings, self.spec, ini=self.ini,
                                                        warn_unread=False))

    def count_agents(self) -> int:
        from ...env.job import count_agents

        return count_agents(self.folder)

    def write_config_header(self) -> None:
        from ...env import binding

        binding.write_config_header(self.spec, self.config.env, self.opener.library.parent)


@dataclass(frozen=True)
class PreparedPython(Prepared):
    """A Python environment; it is probed."""

    opener: PythonEnv
    spec: PythonSpec
    source: PythonSource

    @property
    def patience(self) -> float:
        """A vec of Python environments knows better which of its workers hangs, and says so before
        the parent."""
        vec = self.config.vec
        return max(vec.step_timeout, vec.start_timeout) + 5.0

    @property
    def step_patience(self) -> float:
        return self.patience if self.config.vec.num_workers else self.config.vec.step_timeout

    def again(self, settings: Settings | None = None) -> PreparedPython:
        resolved = self.source.resolve(settings, ini=self.ini, facts=self.opener.facts)
        maker, weights = self.opener.maker, numbers_of(resolved.vec.reward_weights)
        if (resolved.env, weights) == (maker.keywords, maker.weights):
            return replace(self, config=resolved)
        return self.source.probe(resolved, settings, self.ini)

    def count_agents(self) -> int:
        return self.opener.facts.rows

    def drawn(self, mode: str) -> PreparedPython:
        """The same environment made with render_mode = "rgb_array" or "human". UsageError where
        its metadata have no such mode."""
        modes = self.opener.facts.modes
        if mode not in modes:
            raise UsageError(f"this environment has no render mode {mode}", where=self.spec.name,
                             expected=f"metadata = {{'render_modes': ['{mode}']}}, and a keyword "
                                      "render_mode",
                             actual=", ".join(modes) or "no render modes")
        maker = self.opener.maker
        maker = replace(maker, keywords={**maker.keywords, "render_mode": mode})
        return replace(self, opener=replace(self.opener, maker=maker))

    def remark(self) -> None:
        from . import remarks

        remarks.say(self.opener.facts, self.config)

    def as_trained(self, env: Mapping[str, object] | None) -> PreparedPython:
        if env is None:
            return self
        layout = env.get("layout")
        facts = self.opener.facts.in_bytes(isinstance(layout, Mapping) and bool(layout["raw"]))
        return replace(self, opener=replace(self.opener, facts=facts),
                       spec=replace(self.spec, facts=facts))

    def with_sizes(self) -> PreparedPython:
        from ...env import encoder_choice
        facts = self.opener.facts
        config = encoder_choice.resolve(self.config, facts.observations.size, self.spec.row)
        self, scaled = replace(self, config=config), config.train.obs_scale != AUTO
        if config.vec.reward_scale and scaled:
            return self
        from ...env import random_play
        from .pool_vec import PoolVec

        library = self.opener.open(config, patient=True)
        library.free_running, library.reward_scale = False, 1.0
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
        if not config.vec.reward_scale:
            config = config.with_auto("vec.reward_scale", played.reward_scale, "random play")
        return replace(self, config=config)


def find(env: str | os.PathLike[str] | None = None, ini: Path | str | None = None
         ) -> CompiledSource | PythonSource:
    """What ENV means; ini: settings over those of its own ini. Raises UsageError with the nearest
    name."""
    over = (Path(ini).absolute(),) if ini else ()
    if isinstance(env, str) and makers.is_name(env):
        return PythonSource(env, over)
    return CompiledSource(paths.find_env(env), over)


@dataclass(frozen=True)
class CompiledSource:
    """A folder with a header; over: files of settings over its own; theirs: as config.resolve."""

    folder: Path
    over: tuple[Path, ...] = ()
    theirs: bool = False

    in_c: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Range]] = {}
    defaults: ClassVar[Mapping[str, float]] = {}

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def label(self) -> str:
        """Its name in names of files."""
        return self.folder.name

    @property
    def place(self) -> Path:
        """Of its runs, below all runs."""
        return Path(self.folder.name)

    @property
    def ref(self) -> Path:
        """What commands take as ENV."""
        return self.folder

    @property
    def lenient(self) -> bool:
        """Whether its ini is one of PufferLib's, which holds what has no effect here."""
        return paths.is_ocean(self.folder)

    def own_inis(self) -> list[Path]:
        """Its own files of settings; the last one counts."""
        from ...settings import config

        return config.own_inis(self.folder)

    def resolve(self, settings: Settings | None = None, spec: Spec | None = None, *,
                ini: Path | None = None, warn_unread: bool = True) -> Config:
        """Its settings; ini: read alone, in place of its own files."""
        from ...env import header
        from ...settings import config

        return config.resolve(self.folder, settings, spec or header.find(self.folder), ini=ini,
                              over=self.over, warn_unread=warn_unread, theirs=self.theirs)

    @staticmethod
    def read_value(text: str) -> object:
        """A value of [env]. Raises ValueError."""
        return float(text)

    def runs_dir(self, runs: Path | None = None) -> Path:
        return paths.runs_dir(self.folder, runs)

    def prepare(self, settings: Settings | None = None, *, ini: Path | None = None,
                raylib_headers: Path | None = None, verbose: bool = False) -> PreparedC:
        """Built, and its settings resolved; ini: read alone, in place of its own files. Raises
        UsageError, BuildError."""
        from ...env import build

        built = build.build(self.folder, raylib_headers=raylib_headers, verbose=verbose)
        return PreparedC(CompiledEnv.of(built), self.resolve(settings, built.spec, ini=ini),
                         built.spec, self.folder, paths.working_dir(self.folder), self, ini)


@dataclass(frozen=True)
class PythonSource:
    """A name with a colon (makers.py); over: files of settings over those of its own ini."""

    name: str
    over: tuple[Path, ...] = ()
    theirs: bool = False
    folder: ClassVar[None] = None
    in_c: ClassVar[bool] = False
    lenient: ClassVar[bool] = False
    ranges: ClassVar[Mapping[str, Range]] = RANGES
    defaults: ClassVar[Mapping[str, float]] = DEFAULTS
    read_value = staticmethod(literal)

    @property
    def ref(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        return "-".join(self.place.parts)

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
        found = paths.follow(root / self.place)
        makers.typed[found] = self.name
        return found

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

    def resolve(self, settings: Settings | None = None, *, ini: Path | None = None,
                facts: Facts | None = None) -> Config:
        """Its settings; ini: read alone, in place of its own file. facts: once it is probed."""
        from ...settings import config

        rows = facts.rows if facts else 1
        defaults = {full: (value, WHY) for full, value in DEFAULTS.items()}
        if facts and facts.alone:
            defaults["vec.total_agents"] = ALONE * rows, f"{WHY}, one instance a process"
        files = [*([ini] if ini else self.own_inis()), *self.over]
        return config.resolve_python(self.name, settings, files, defaults,
                                     facts is None or facts.in_plain_bytes, rows=rows,
                                     theirs=self.theirs)

    def prepare(self, settings: Settings | None = None, *, ini: Path | None = None,
                verbose: bool = False) -> PreparedPython:
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
        return self.probe(first, settings, ini)

    def probe(self, first: Config, settings: Settings | None, ini: Path | None) -> PreparedPython:
        """prepare() with the keywords of `first`."""
        from .pool import find_facts

        maker = makers.read_config(self.name, first)
        try:
            facts, process = find_facts(maker, first.vec.start_timeout)
        except UsageError as error:         # of a keyword: where it was given
            error.where = first.origin.get((error.where or "").replace("[env] ", "env."),
                                           error.where)
            raise
        process.end()
        facts = facts.in_bytes(bool(first.policy.torch_class))
        return PreparedPython(
            PythonEnv(maker, facts), self.resolve(settings, ini=ini, facts=facts),
            PythonSpec(self.name, facts), None, Path.cwd(), self, ini)
