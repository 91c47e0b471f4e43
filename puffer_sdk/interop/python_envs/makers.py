"""What a name of a Python environment means.  "gymnasium:CartPole-v1" -> Maker -> the environment

    gymnasium:ID            gymnasium.make(ID); `gymnasium:MODULE:ID` imports the module first
    gymnasium.vector:ID     gymnasium.make_vec(ID): many copies that are stepped by their own code
    envpool:ID              envpool.make_gymnasium(ID), likewise
    pettingzoo:MODULE       MODULE.parallel_env(), or MODULE.env() where agents can act at once
    FILE.py:NAME            a class or function in a file that returns an environment
    MODULE:NAME             the same in a module that can be imported

Keywords are those of the call: `--env.KEY VALUE`.
"""
from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...base import files, paths
from ...base.errors import UsageError, did_you_mean
from ...settings.texts import numbers_of
from . import displays
from .importing import find_callable as find_callable
from .importing import import_here, need
from .interfaces import AnyEnv, ManyEnvs, ParallelEnv, is_many, is_parallel

if TYPE_CHECKING:
    from ...settings.values import Config

GYMNASIUM, PETTINGZOO, CALLABLE = "gymnasium", "pettingzoo", "callable"
VECTOR, ENVPOOL = "gymnasium.vector", "envpool"
Named: TypeAlias = "str | os.PathLike[str] | None"      # what a command takes as ENV
INDEX = "env_index"      # a keyword: which copy is made
KINDS = (GYMNASIUM, VECTOR, ENVPOOL, PETTINGZOO)
# packages that register their environments when they are imported: how their ids begin
REGISTER = {"ALE/": "ale_py", "MiniGrid-": "minigrid", "BabyAI-": "minigrid",
            "MiniHack-": "minihack", "NetHack": "nle", "Vizdoom": "vizdoom.gymnasium_wrapper",
            "highway-": "highway_env", "merge-": "highway_env",
            "roundabout-": "highway_env", "parking-": "highway_env",
            "intersection-": "highway_env", "racetrack-": "highway_env"}
PIP = {"ale_py": "ale-py", "vizdoom.gymnasium_wrapper": "vizdoom", "highway_env": "highway-env"}

given: dict[str, Callable[..., Any]] = {}       # what names mean that as_name() gave
typed: dict[Path, str] = {}     # folders of runs, and the names of environments they were asked by


@dataclass(frozen=True)
class Maker:
    """Makes one environment. Pickled on its way to a worker.

    name        as the user wrote it, or of the function that was given
    kind        one of KINDS, or CALLABLE
    target      an id, a module, "module:NAME" or "FILE.py:NAME"; "" where `pickled` is set
    keywords    of the call
    pickled     a function that was given as an object, by cloudpickle
    weights     of the numbers that a reward consists of; (): it is one number
    """

    name: str
    kind: str
    target: str
    keywords: Mapping[str, object] = field(default_factory=dict)
    pickled: bytes | None = None
    weights: tuple[float, ...] = ()

    def __call__(self, env_index: int = 0) -> AnyEnv:
        """The environment, with one reward. As make()."""
        made = self.make(env_index)
        if not self.weights:
            return made
        from . import weighing  # it loads numpy and gymnasium

        if is_many(made):
            raise UsageError("rewards of copies that one object steps are not weighed",
                             where="vec.reward_weights", actual=self.name,
                             expected="an environment of its own for each copy")
        return weighing.WeightedAgents(as_parallel(made), self.weights) \
            if is_parallel(made) else weighing.Weighted(made, self.weights)

    def make(self, env_index: int = 0) -> AnyEnv:
        """The environment. UsageError where the name leads nowhere or a package is missing; what
        the environment's own code raises passes through.

        env_index   which copy it is, for a function that takes this as a keyword
        """
        displays.prepare(self.keywords)
        try:
            if self.kind == GYMNASIUM:
                made: AnyEnv = _gymnasium(self.target, dict(self.keywords))
            elif self.kind == PETTINGZOO:
                made = _pettingzoo(self.target, dict(self.keywords))
            elif self.kind in (VECTOR, ENVPOOL):
                made = self.batch(1)
            else:
                function = self.function()
                made = function(**self.keywords, **({INDEX: env_index} if takes_index(
                    function) and INDEX not in self.keywords else {}))
            return made
        except TypeError as error:
            unknown = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", str(error))
            if unknown and unknown[2] in self.keywords:
                raise UsageError(f"the environment takes no keyword '{unknown[2]}'",
                                 where=f"[env] {unknown[2]}", expected="one of the constructor's",
                                 actual=f"'{unknown[2]}'", hint="leave it out") from error
            raise
        except ImportError as error:
            if not _is_theirs(error):
                raise
            raise UsageError(f"{self.name} needs a package, or another version of one",
                             where=self.name, detail=str(error)) from None

    @property
    def shown(self) -> str:
        """What is called, for people: "make()"."""
        return f"{self.name.rpartition(':')[2]}()"

    @property
    def own_index(self) -> bool:
        """Whether it takes the copy's index."""
        return self.kind == CALLABLE and takes_index(self.function())

    @property
    def seeded_when_made(self) -> bool:
        """Whether batch() takes the seeds, and reset() none."""
        return self.kind == ENVPOOL

    def batch(self, count: int, seeds: Sequence[int] = ()) -> ManyEnvs:
        """So many copies that step together, as a gymnasium.vector.VectorEnv.

        seeds   of the copies, where they are taken when it is made; none: any
        """
        if self.kind == ENVPOOL:
            return _envpool(self.target, dict(self.keywords), count, list(seeds))
        made: ManyEnvs = _gymnasium(self.target, dict(self.keywords), count) \
            if self.kind == VECTOR else self.function()(num_envs=count, **self.keywords)
        return made

    def function(self) -> Callable[..., Any]:
        """What a CALLABLE calls."""
        if self.pickled is not None:
            import cloudpickle
            function: Callable[..., Any] = cloudpickle.loads(self.pickled)
            return function
        return find_callable(self.target)


def _is_theirs(error: ImportError) -> bool:
    """Whether an import failed for a package that is not there or does not fit, and not for a name
    in the user's own file. gymnasium.error.DependencyNotInstalled is no ImportError."""
    return not error.path or "site-packages" in Path(error.path).parts


class PerCopy:
    """A function for each copy, or keywords that depend on the copy.

    makers      one for each copy; or one for all, with keywords(env_index)
    """

    def __init__(self, makers: Sequence[Callable[..., AnyEnv]],
                 keywords: Callable[[int], Mapping[str, object]] | None = None):
        self.makers, self.keywords = list(makers), keywords
        self.__qualname__ = name_of(makers[0])

    def __call__(self, env_index: int) -> AnyEnv:
        if self.keywords is None:
            return self.makers[env_index % len(self.makers)]()
        only, keywords = self.makers[0], self.keywords(env_index)
        return replace(only, keywords=keywords)(env_index) if isinstance(only, Maker) \
            else only(**keywords)


@dataclass(frozen=True)
class Here(Maker):
    """A Maker of a function that stays in this process."""

    call: Callable[..., Any] = field(kw_only=True)

    @classmethod
    def of(cls, call: Callable[..., Any], keywords: Mapping[str, object] | None = None) -> Here:
        return cls(name_of(call), CALLABLE, "", dict(keywords or {}), call=call)

    def function(self) -> Callable[..., Any]:
        return self.call


def name_of(call: Callable[..., Any]) -> str:
    """What a class or function is called."""
    return call.name if isinstance(call, Maker) else \
        str(getattr(call, "__qualname__", type(call).__name__))


def takes_index(function: Callable[..., Any]) -> bool:
    """Whether it has a parameter env_index."""
    with suppress(TypeError, ValueError):
        return INDEX in inspect.signature(function).parameters
    return False


def is_name(text: object) -> bool:
    """Whether a command's ENV names a Python environment: it has a colon, and is no path."""
    return isinstance(text, str) and ":" in text and not Path(text).exists()


def no_maker(env: object) -> UsageError:
    """The error of an object that makes no environment."""
    return UsageError("this is neither a name nor a callable", actual=repr(env),
                      expected="'gymnasium:ID', or a function that returns an environment",
                      hint="pass the function that creates it, not the environment: copies are "
                           "created in worker processes")


def as_name(env: Named | Callable[..., Any]) -> Named:
    """The name of an environment as commands take it; a class or function gets one, such as
    __main__:Walk for a notebook's, which means this object from now on. UsageError for an object
    that makes no environment."""
    if env is None or isinstance(env, (str, os.PathLike)):
        return env
    if not callable(env):
        raise no_maker(env)
    name = f"{getattr(env, '__module__', None) or '__main__'}:{name_of(env)}"
    given[name] = env
    return name


def _given(text: str) -> Callable[..., Any] | None:
    """What as_name() gave this name, or what the program that runs calls so: no worker can import
    its __main__."""
    where, _, name = text.rpartition(":")
    found = getattr(sys.modules.get("__main__"), name, None) if where == "__main__" else None
    return given.get(text) or (found if callable(found) else None)


def read_config(text: str, config: Config) -> Maker:
    """The Maker of a name with the keywords and weights of its settings. As read_name()."""
    return replace(read_name(text, config.env), weights=numbers_of(config.vec.reward_weights))


def read_name(text: str, keywords: Mapping[str, object] | None = None) -> Maker:
    """The Maker that a name means. UsageError for a name of another form."""
    function = _given(text)
    if function is not None:
        return replace(of_function(function, keywords), name=text)
    kind, _, rest = text.partition(":")
    if kind in KINDS and rest:
        return Maker(text, kind, rest, dict(keywords or {}))
    where, _, name = text.rpartition(":")
    if where and re.fullmatch(r"[A-Za-z_][\w.]*", name) and (
            where.endswith(".py") or re.fullmatch(r"[A-Za-z_][\w.]*", where)):
        target = f"{files.typed(where)}:{name}" if where.endswith(".py") else text
        return Maker(text, CALLABLE, target, dict(keywords or {}))
    raise UsageError(f"'{text}' is not the name of an environment", where=text,
                     expected="gymnasium:ID, pettingzoo:MODULE, FILE.py:NAME or MODULE:NAME")


def of_function(function: Callable[..., Any], keywords: Mapping[str, object] | None = None
                ) -> Maker:
    """The Maker of a class or function that returns an environment."""
    cloudpickle = need("cloudpickle", "cloudpickle")
    try:
        pickled = cloudpickle.dumps(function)
    except Exception as error:
        raise UsageError("this function cannot be sent to the worker processes",
                         actual=f"{type(error).__name__}: {error}",
                         hint="create everything that it needs inside it, or use workers=0"
                         ) from None
    return Maker(name_of(function), CALLABLE, "", dict(keywords or {}), pickled)


def _gymnasium(target: str, keywords: dict[str, Any], count: int = 0) -> Any:
    """count: copies of a vectorised environment; 0: a single one"""
    gymnasium = need("gymnasium", "gymnasium")
    module = next((module for start, module in REGISTER.items()
                   if target.startswith(start) and target not in gymnasium.registry), None)
    if module:
        need(module, PIP.get(module, module))
    if module == "ale_py":
        gymnasium.register_envs(import_module(module))
    named, _, rest = target.rpartition(":")
    if named and rest:
        import_here(named)                  # it registers the id
    try:
        if count:
            return gymnasium.make_vec(rest, num_envs=count,
                                      vectorization_mode="vector_entry_point", **keywords)
        return gymnasium.make(rest, disable_env_checker=True, **keywords)
    except (gymnasium.error.NameNotFound, gymnasium.error.NamespaceNotFound,
            gymnasium.error.VersionNotFound, gymnasium.error.DeprecatedEnv) as error:
        spaces = isinstance(error, gymnasium.error.NamespaceNotFound)
        here = [f"{path.stem}:{rest}" for path in _files_that_register(rest)]
        ids = [name for name in gymnasium.registry if isinstance(name, str)
               and (not spaces or "/" in name)]
        hint = f"{here[0].partition(':')[0]}.py registers it: gymnasium:{here[0]}" if here else \
            did_you_mean(rest, ids) if len(ids) > 12 else None
        raise UsageError(f"Gymnasium has no environment {rest}", where=f"gymnasium:{target}",
                         detail=None if spaces else str(error).partition("\n")[0],
                         hint=hint or "a module or file that registers it is named first: "
                                      "gymnasium:MODULE:ID") from None
    except gymnasium.error.DependencyNotInstalled as error:
        raise UsageError(f"{target} needs a package that is not installed",
                         where=f"gymnasium:{target}", detail=str(error)) from None


def _files_that_register(id: str) -> list[Path]:
    """Files of the current folder that hold this id as a text, and register something."""
    found = []
    for path in sorted(Path.cwd().glob("*.py")):
        with suppress(OSError, UnicodeDecodeError, UsageError):
            text = paths.text(path, "strict")
            if "register" in text and re.search(rf"""["']{re.escape(id)}["']""", text):
                found.append(path)
    return found


def _envpool(target: str, keywords: dict[str, Any], count: int, seeds: list[int]) -> ManyEnvs:
    """Each copy has a seed of its own, so that no result depends on how they are dealt."""
    envpool = need("envpool", "envpool", "its wheels are for Python 3.12 and later")
    known = list(envpool.list_all_envs())
    if target not in known:
        raise UsageError(f"EnvPool has no environment {target}", where=f"envpool:{target}",
                         hint=did_you_mean(target, known) or
                         "envpool.list_all_envs() returns their names")
    env = envpool.make_gymnasium(target, **{"num_envs": count, **({"seed": seeds} if seeds else {}),
                                            **keywords})
    if not hasattr(env, "single_observation_space"):
        raise UsageError("this EnvPool is too old", where=f"envpool:{target}",
                         expected="one whose environments are those of gymnasium.vector, such as "
                                  "1.2.7", actual=getattr(envpool, "__version__", None))
    many: ManyEnvs = env
    return many


def _pettingzoo(target: str, keywords: dict[str, Any]) -> ParallelEnv:
    need("pettingzoo", "pettingzoo")
    module = import_here(target)
    if hasattr(module, "parallel_env"):
        env: ParallelEnv = module.parallel_env(**keywords)
        return env
    if hasattr(module, "env"):
        return in_parallel(module.env(**keywords))
    raise UsageError(f"PettingZoo has no environment {target}", where=f"pettingzoo:{target}",
                     expected="a module with parallel_env() or env()",
                     hint="name the module with its version: pettingzoo.butterfly.pistonball_v6")


def in_parallel(env: Any) -> ParallelEnv:
    """An AEC environment as a parallel one, in which agents take turns unless its metadata say
    is_parallelizable. UsageError where they do, and have actions that no mask can forbid."""
    from pettingzoo.utils.conversions import aec_to_parallel

    from .turns import TurnsEnv  # loads numpy

    if env.metadata.get("is_parallelizable", False):
        parallel: ParallelEnv = aec_to_parallel(env)
        return parallel
    turns = TurnsEnv(env)
    if not all(turns.sizes.values()):
        raise UsageError("agents that take turns need discrete actions",
                         actual=str(env.action_space(turns.possible_agents[0])),
                         expected="a Discrete, MultiDiscrete or MultiBinary action space",
                         hint="an agent that waits has an action mask of zeros, and continuous "
                              "actions have no mask")
    return turns


def as_parallel(env: Any) -> ParallelEnv:
    """A PettingZoo environment as a parallel one."""
    conversions = sys.modules.get("pettingzoo.utils.conversions")
    wrapper: Any = getattr(conversions, "turn_based_aec_to_parallel_wrapper", ())
    if isinstance(env, wrapper):
        env = env.aec_env               # the wrapper does not say who waits
    parallel: ParallelEnv = in_parallel(env) if hasattr(env, "agent_iter") else env
    return parallel
