"""check on a Python environment.  a name -> CheckResult"""
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..base import paths
from ..interop.python_envs import env_source, makers
from ..interop.python_envs.makers import CALLABLE
from .collect.python import children
from .collect.python.python_facts import PythonFacts
from .core import engine, registry
from .core.finding import Finding
from .core.registry import NotTested
from .core.result import CheckResult, Coverage
from .rules.python_envs import judging


def check(name: str, *, settings: Mapping[str, object] | None = None, ini: Path | None = None,
          strict: bool = False, seed: int = 42, budget: float = 1.0, memory: int = 4 << 30,
          on_progress: Callable[[str, int, int], None] = lambda *progress: None) -> CheckResult:
    """Run every rule that applies to objects and arrays.

    memory      bytes that a child process may use
    Raises UsageError where the name leads nowhere, RunError where no child process starts.
    """
    began = time.perf_counter()
    source = env_source.find(name, ini)
    config = source.resolve(settings)
    facts = children.gather(
        makers.read_config(name, config), seed=seed, budget=budget, memory=memory,
        step_timeout=config.vec.step_timeout, start_timeout=config.vec.start_timeout,
        on_progress=on_progress)
    folder, files = _files(name, facts)
    verdict = judge(facts)
    return engine.finish(source.place.name, verdict, config=config, folder=folder, files=files,
                         coverage=_coverage(facts, verdict.rules), strict=strict, began=began)


def judge(facts: PythonFacts) -> engine.Verdict:
    """Every judgement of environments in Python on these facts."""
    registry.load()
    return engine.judge(((each.codes, partial(_ask, each, facts)) for each in judging.known),
                        facts.seed)


def _ask(judgement: judging.Judgement, facts: PythonFacts) -> Iterator[Finding]:
    for name in judgement.needs:
        if name not in facts.done:
            raise NotTested(_why(facts, name))
    return judgement.function(facts)


def _why(facts: PythonFacts, experiment: str) -> str:
    """Why an experiment did not come to its end."""
    if "opening" in facts.skipped:
        return facts.skipped["opening"]
    return facts.skipped.get(experiment, f"the environment did not survive '{experiment}'")


def _files(name: str, facts: PythonFacts) -> tuple[Path, dict[str, bytes]]:
    """The folder that findings are relative to, and the file of the environment's class."""
    maker = makers.read_name(name)
    where = Path(maker.target.rpartition(":")[0])
    mine = maker.kind == CALLABLE and where.suffix == ".py"
    folder = Path(facts.shape.folder) if facts.shape else where.parent if mine else Path.cwd()
    place = facts.at("class").get("file") or (where.name if mine else None)
    files = {}
    if place:
        with suppress(OSError):
            files[place] = paths.content(folder / place)
    return folder, files


def _coverage(facts: PythonFacts, rules: int) -> Coverage:
    """How much was exercised, under the keys that compiled environments have."""
    play, shape = facts.play, facts.shape
    seen = play.seen if play else []
    return {"env_steps": sum(facts.done.values()), "envs": 1,
            "agents_per_env": len(shape.agents) if shape else None,
            "terminals": play.endings if play else 0,
            "truncations": play.truncations if play else 0, "logged": 0,
            "nonzero_rewards": play.nonzero if play else 0,
            "actions": [{"head": head, "width": width, "seen": count}
                        for head, (width, count) in enumerate(zip(shape.sizes if shape else (),
                                                                  seen))],
            "statistics": [], "deep": {}, "sanitized": None, "asked": [], "rules": rules}
