"""The public wrap.  a name, or a function that returns an environment -> PoolVec"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from ...base import paths
from ...base.errors import UsageError
from ...base.number_limits import whole_number
from . import makers
from .games.base import AUTORESET, SAME_STEP
from .interfaces import AnyEnv
from .makers import Maker
from .pool import PoolLibrary, facts_here, find_facts
from .pool_vec import MOST_WORKERS, PoolVec
from .worker_processes import Process, as_itself

Keywords = Mapping[str, object]


def wrap(env: str | Callable[..., AnyEnv] | Sequence[Callable[..., AnyEnv]], num_envs: int = 1, *,
         workers: int | str = "auto", seed: int = 0,
         keywords: Keywords | Callable[[int], Keywords] | None = None,
         autoreset: str = SAME_STEP, max_restarts: int = 0,
         step_timeout: float = 10.0, start_timeout: float = 60.0, raw: bool = False,
         reward_scale: float = 1.0, reward_weights: Sequence[float] = (),
         checked: bool = False) -> PoolVec:
    """Copies of a Python environment behind the arrays of a VecEnv, stepped by worker processes.

        with puffer_sdk.wrap("gymnasium:CartPole-v1", num_envs=64, seed=0) as envs:
            envs.reset()
            envs.actions[:] = 0
            observations, rewards, terminals, truncations = envs.step()

    env             "gymnasium:ID", "pettingzoo:MODULE", "FILE.py:NAME", "MODULE:NAME"; or a class
                    or function that returns a gymnasium.Env or a PettingZoo environment, which
                    gets its copy's index if it has a parameter env_index; or a list of functions,
                    one for each copy
    num_envs        copies; an environment of PettingZoo has a row for each of its agents
    workers         processes; "auto": one per core; 0: none, all happens in this process
    keywords        of the call that makes an environment; or a function of the copy's index that
                    returns them
    seed            each copy's own seed derives from it and the copy's index
    autoreset       "same_step", "next_step" or "disabled", as Gymnasium names them
    max_restarts    maximum restarts of each copy after it raised an exception, or after its worker
                    process died or hung, with all copies of that worker: episodes are truncated
    step_timeout    seconds after which a reset or step that does not return is an error
    start_timeout   the same for the constructor and the first reset
    raw             rows of bytes where the parts of an observation differ in type, as a network of
                    one's own has them: unflatten() gives each part in its own type
    reward_scale    factor of rewards; the log is of the environment's own
    reward_weights  where a reward is several numbers: a weight for each; their sum is the reward
    checked         as of make()

    Returns a PoolVec of N = num_envs x agents rows; it has not been reset. What an environment
    raises is raised by reset() and step(), with the worker's traceback as its cause. Raises
    UsageError where the name leads nowhere, or a space cannot be rows of fixed
    length; RunError where a worker died or hangs.
    """
    whole_number("num_envs", num_envs, 1, 2**24)
    if workers != "auto":
        whole_number("workers", workers, 0, MOST_WORKERS)
    whole_number("max_restarts", max_restarts, 0, 2**31 - 1)
    if autoreset not in AUTORESET:
        raise UsageError(f"autoreset cannot be {autoreset!r}",
                         expected=" or ".join(AUTORESET), actual=repr(autoreset))
    maker = _maker(env, num_envs, keywords, makers.of_function if workers else makers.Here.of)
    maker = replace(maker, weights=tuple(map(float, reward_weights)))
    idle: list[Process] = []
    if workers:
        try:
            facts, process = find_facts(maker, start_timeout)
        except Exception as error:
            shown = as_itself(error)
            raise shown from shown.__cause__
        idle.append(process)
    else:
        facts = facts_here(maker)
    library = PoolLibrary(maker, facts.in_bytes(raw), workers=workers, autoreset=autoreset,
                          max_restarts=max_restarts, step_timeout=step_timeout,
                          start_timeout=start_timeout, reward_scale=reward_scale,
                          as_itself=True, idle=idle)
    try:
        return PoolVec(library, total_agents=num_envs * facts.rows, seed=seed, checked=checked)
    except BaseException:
        library.close()
        raise


def _maker(env: str | Callable[..., AnyEnv] | Sequence[Callable[..., AnyEnv]], num_envs: int,
           keywords: Keywords | Callable[[int], Keywords] | None,
           of: Callable[..., Maker]) -> Maker:
    """of: the Maker of a function"""
    if isinstance(env, (list, tuple)) and env and all(map(callable, env)):
        if len(env) != num_envs or keywords:
            raise UsageError("a list has one function for each copy, without keywords",
                             expected=f"{num_envs} functions", actual=len(env))
        return of(makers.PerCopy(env))
    if not isinstance(env, str) and not callable(env):
        raise makers.no_maker(env)
    if callable(keywords):
        return of(makers.PerCopy([_read_name(env, None) if isinstance(env, str) else env],
                                 keywords))
    return _read_name(env, keywords) if isinstance(env, str) else of(env, keywords)


def _read_name(env: str, keywords: Keywords | None) -> Maker:
    try:
        return makers.read_name(env, keywords)
    except UsageError as error:
        with suppress(UsageError):
            paths.find_env(env)
            error.hint = f"it is an environment in C: puffer_sdk.make({env!r})"
        raise
