"""puffer-sdk: write reinforcement-learning environments in C, find their bugs, train on them.

    import puffer_sdk

    with puffer_sdk.make("my_env", num_envs=64, seed=0) as vec:     # a VecEnv
        vec.reset()
        vec.actions[:] = 0
        observations, rewards, terminals, truncations = vec.step()

    puffer_sdk.new("my_env")            a project from a template
    puffer_sdk.check("my_env")          what is wrong with it
    puffer_sdk.build("my_env")          its library
    puffer_sdk.build_programs("my_env", targets=["fast"])   its programs
    puffer_sdk.load("my_env")           the same, opened
    puffer_sdk.wrap("gymnasium:CartPole-v1", num_envs=64)   the same arrays over Python envs
    puffer_sdk.to_gymnasium("my_env")   a gymnasium.Env; and to_vector, to_parallel, to_sb3
    puffer_sdk.train("my_env")          a policy
    puffer_sdk.sweep("my_env")          settings that reach more for less
    puffer_sdk.runs("my_env")           its runs and their curves, as records for pandas
    puffer_sdk.evaluate("my_env")       how good it is
    puffer_sdk.match("my_env", ["best", "random"])  who wins how often, where there are teams
    puffer_sdk.Policy.load("runs/my_env/0001")      it acts in your own loop
    puffer_sdk.collect(policy, vec, 100_000)    transitions for other libraries
    puffer_sdk.export("my_env")         its policy for C, ONNX or PyTorch
    puffer_sdk.play("my_env")           a window, and you
    puffer_sdk.record("my_env", gif="my_env.gif")   what it looks like
    puffer_sdk.profile("my_env")        where the time of training goes
    puffer_sdk.report("my_env")         all of this on one page
    puffer_sdk.review("their_env")      what is wrong with somebody else's, in a sandbox
    puffer_sdk.configure("my_env")      its settings
    puffer_sdk.Trainer(vec)             rollout() and update(), for a loop of your own
    puffer_sdk.Run(trainer)             its folder, as train makes one: evidence, metrics, weights
    puffer_sdk.VecWrapper(vec)          a step of your own, between env and trainer
    puffer_sdk.Sampler(space)           which settings to try next: ask() and tell()
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .interop.to_learners.registration import register_when_imported

if TYPE_CHECKING:       # for editors and type checkers: the names of _PUBLIC
    from .base.errors import BuildError as BuildError
    from .base.errors import Interrupted as Interrupted
    from .base.errors import PufferError as PufferError
    from .base.errors import RunError as RunError
    from .base.errors import UsageError as UsageError
    from .checking.check import check as check
    from .env.open_env import build as build
    from .env.open_env import configure as configure
    from .env.open_env import load as load
    from .env.open_env import make as make
    from .env.vec import VecEnv as VecEnv
    from .env.vec_wrapper import VecWrapper as VecWrapper
    from .interop.python_envs.wrapping import wrap as wrap
    from .interop.to_learners.public import to_gymnasium as to_gymnasium
    from .interop.to_learners.public import to_parallel as to_parallel
    from .interop.to_learners.public import to_sb3 as to_sb3
    from .interop.to_learners.public import to_vector as to_vector
    from .interop.to_learners.registration import register as register
    from .pictures.record import record as record
    from .playing.play import play as play
    from .policy.collecting import collect as collect
    from .policy.evaluate import evaluate as evaluate
    from .policy.export import export as export
    from .policy.match import match as match
    from .policy.trained_policy import Policy as Policy
    from .programs.targets import build_programs as build_programs
    from .projects.scaffold import new as new
    from .reporting.report import report as report
    from .reviewing.review import review as review
    from .sweeping.sampler import Sampler as Sampler
    from .sweeping.space import Space as Space
    from .sweeping.sweep import sweep as sweep
    from .training.loop import Trainer as Trainer
    from .training.own_run import Run as Run
    from .training.profiling import profile as profile
    from .training.run_table import runs as runs
    from .training.train import train as train

__version__ = "0.1.0"

# name -> module that defines it; imported when first used, so that `import puffer_sdk` is quick
_PUBLIC = {
    "new": "projects.scaffold", "build": "env.open_env", "build_programs": "programs.targets",
    "check": "checking.check", "load": "env.open_env", "make": "env.open_env", "VecEnv": "env.vec",
    "VecWrapper": "env.vec_wrapper",
    "wrap": "interop.python_envs.wrapping",
    "to_gymnasium": "interop.to_learners.public", "to_vector": "interop.to_learners.public",
    "to_parallel": "interop.to_learners.public", "to_sb3": "interop.to_learners.public",
    "register": "interop.to_learners.registration",
    "train": "training.train", "collect": "policy.collecting", "evaluate": "policy.evaluate",
    "match": "policy.match", "record": "pictures.record",
    "play": "playing.play", "export": "policy.export", "configure": "env.open_env",
    "Trainer": "training.loop", "profile": "training.profiling", "report": "reporting.report",
    "review": "reviewing.review", "Policy": "policy.trained_policy",
    "Run": "training.own_run", "runs": "training.run_table",
    "sweep": "sweeping.sweep", "Space": "sweeping.space", "Sampler": "sweeping.sampler",
    "PufferError": "base.errors", "UsageError": "base.errors", "BuildError": "base.errors",
    "RunError": "base.errors", "Interrupted": "base.errors",
}
__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'puffer_sdk' has no attribute '{name}'")
    from importlib import import_module
    value = getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


register_when_imported()
