"""Find the bugs that silently ruin training.  an env folder or name -> CheckResult

    result = check("my_env")
    result.verdict          "pass" or "fail"
    result.findings         what is wrong, and where
    result.not_tested       rules that had nothing to look at, and why

collect/c/ reads the source, compiles it in several ways and runs experiments in processes of
their own, which only write down facts; rules/ turn facts into findings; prove/ writes a program
for each error. check_python.py does the same for environments in Python.
"""
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..base import files, paths
from ..base.errors import BuildError, NoEnvs, RunError, UsageError
from ..env import header, library, pufferlib5
from ..interop.python_envs import makers
from ..settings.config import find_ini, resolve
from . import check_python
from .collect.c import learning_probe, line_coverage, plan
from .collect.c.source import read
from .core import engine, registry
from .core.fact_kinds import (
    ActionsFact,
    FailedFact,
    GuardedFact,
    PackedFact,
    RewrittenFact,
    RunFact,
    TracedFact,
)
from .core.facts import Facts
from .core.finding import Finding
from .core.memory_bound import GIB, MEMORY
from .core.result import CheckResult, Coverage, HeadSeen
from .prove import proof
from .rules.contract import outside

SEED = 42


def check(env: str | os.PathLike[str] | Callable[..., object] | None = None, *,
          settings: Mapping[str, object] | None = None, ini: Path | None = None,
          strict: bool = False, seed: int = SEED, budget: float = 1.0, prove: bool = True,
          preview: bool = False, deep: bool = False, learn: bool = False,
          learn_seconds: float = learning_probe.SECONDS,
          memory: float = MEMORY / GIB,
          on_progress: Callable[[str, int, int], None] | None = None,
          verbose: bool = False) -> CheckResult:
    """Run every rule on an environment: a folder, a name, or a Python environment (a class or
    function, too), of which every rule is asked that has a meaning for objects and arrays.

    settings    overrides, {'env.size': 9}
    ini         a file of settings over the environment's own ini
    strict      warnings count as well
    budget      factor on the length of every experiment
    prove       write build/check/repro_PUFnnn.c for the first finding of each error
    preview     with detectors that are new
    deep        with MemorySanitizer and valgrind as well, where they are installed
    memory      GiB that all experiments together may use
    learn       train for about learn_seconds, to see whether there is anything to learn
    on_progress called as on_progress(what, done, total) while it trains

    Raises UsageError for a refused setting, BuildError for a header that does not compile or is for
    another interface, RunError when the checker cannot run.
    """
    env = makers.as_name(env)
    if isinstance(env, str) and makers.is_name(env):
        if deep or learn:
            raise UsageError(f"{'deep' if deep else 'learn'} is for environments in C", where=env)
        return check_python.check(env, settings=settings, ini=ini, strict=strict, seed=seed,
                              budget=budget, memory=int(memory * GIB),
                              on_progress=on_progress or (lambda *progress: None))
    began = time.perf_counter()
    folder = paths.find_env(env)
    texts = _read_files(folder)
    spec, problems, source = read.examine(folder)
    if refused := header.refusal(problems):
        raise refused
    config = resolve(folder, settings, spec, over=[ini] if ini else [], warn_unread=False)
    facts = Facts(folder, spec, config, problems, source, seed, files=texts,
                  memory=int(memory * GIB))
    facts.options |= {option for option, asked in (("--deep", deep), (registry.PREVIEW, preview))
                      if asked}
    with files.private("puffer-check-") as name:
        lab = None
        if spec is not None and not any(problem.code for problem in problems):
            lab = _gather(facts, Path(name), budget, verbose)
        if deep and facts.outcomes:
            from .collect.c.deep import gather
            gather(facts, budget=budget, verbose=verbose)
        if learn:
            facts.options |= {"--learn"}
            learning_probe.probe(facts, learn_seconds, on_progress or (lambda *progress: None),
                                 verbose)
        verdict = engine.judge(_judges(facts))
        if spec and spec.by_agent:
            _rename(verdict)

        def show(findings: list[Finding]) -> None:
            if prove and not facts.exceeded:
                proof.prove(facts, findings, lab, verbose=verbose)

        return engine.finish(folder.name, verdict, config=config, folder=folder, files=texts,
                             coverage=_coverage(facts), strict=strict, began=began,
                             learning=learning_probe.summary(facts.learning), prove=show)


def _read_files(folder: Path) -> dict[str, bytes]:
    """The author's files as they are now: findings name them, and --fix starts from them."""
    ini = find_ini(folder)
    found = [path for path in paths.c_files(folder, below=True)
             if not {"build", "runs"} & set(path.relative_to(folder).parts)]
    files = {}
    for path in sorted([*found, *([ini] if ini else [])]):
        with suppress(OSError):
            files[os.path.relpath(path, folder)] = paths.content(path)
    return files


def _gather(facts: Facts, folder: Path, budget: float, verbose: bool) -> plan.Plan | None:
    """Fill the facts; what the compiler says in a rule's name becomes a finding.

    The plan, if the environment was run: it can tell what its experiments did.
    """
    try:
        lab = plan.gather(facts, folder, budget=budget, verbose=verbose)
    except BuildError as error:
        if error.code is None:
            raise
        facts.problems.append(error)
        return None
    for outcome in facts.outcomes.values():
        failed = outcome.first(FailedFact)
        if not failed:
            continue
        problem = library.explain_error(
            library.Refusal(failed.reason, failed.a, failed.b, failed.name, failed.text),
            list(facts.config.env), facts.folder)
        if isinstance(problem, NoEnvs):
            printed = dict.fromkeys(outcome.stderr.splitlines())    # each try may print it
            problem.where, problem.detail = str(facts.folder), "\n".join(list(printed)[-5:]) or None
            raise problem
        if problem.code is None:
            raise RunError("the checker cannot run this environment", where=facts.folder,
                           detail=problem.message)
        problem.where = (facts.known_spec.binding or facts.known_spec.header).name
        facts.problems.append(problem)      # next to what the source shows
        facts.outcomes.clear()
        return None
    return lab


def _judges(facts: Facts) -> Iterator[engine.Judge]:
    """Every rule on these facts."""
    for code, rule in registry.requested(facts).items():
        if not rule.static and not facts.outcomes:
            yield (code,), _not_run
        else:
            yield (code,), partial(rule.look, facts)


def _rename(verdict: engine.Verdict) -> None:
    """Rules are stated in the names of PufferLib 4.0: findings in 5.0's form have that form's."""
    for finding in verdict.findings:
        for name in ("message", "expected", "actual", "hint"):
            text = getattr(finding, name)
            if isinstance(text, str):
                setattr(finding, name, pufferlib5.named(text))
        finding.stack = [pufferlib5.named(frame) for frame in finding.stack]
    verdict.not_tested = {code: pufferlib5.named(why) for code, why in verdict.not_tested.items()}


def _not_run() -> Iterator[Finding]:
    raise registry.NotTested("the environment was not run: it breaks the contract")


def _coverage(facts: Facts) -> Coverage:
    """How much was exercised."""
    run = facts.fact("run", RunFact)
    steps = run.steps if run else 0
    for name, outcome in facts.outcomes.items():
        for fact in outcome.facts:
            if isinstance(fact, (GuardedFact, PackedFact, RewrittenFact)):
                steps += fact.steps
            elif isinstance(fact, TracedFact):
                steps += fact.steps * (1 if "alone" in name else fact.envs)
    actions: list[HeadSeen] = [{"head": f.head, "width": f.width, "seen": f.seen}
               for f in facts.all("run", ActionsFact)]
    return {"env_steps": steps, "envs": run.envs if run else 0,
            "agents_per_env": facts.probed.env_agents if facts.probed else None,
            "terminals": run.terminals if run else 0,
            "truncations": run.truncations if run else 0,
            "logged": run.logged if run else 0, "nonzero_rewards": run.rewards if run else 0,
            "actions": actions, "lines": line_coverage.summary(facts),
            "statistics": facts.statistics.to_dict() if facts.statistics else [],
            "deep": facts.deep,
            "sanitized": any(name.startswith("sanitized") for name in facts.outcomes),
            "asked": [{"call": fact.call, "what": fact.what, "denied": fact.denied}
                      for fact in outside.asked(facts)],
            "rules": len(registry.requested(facts))}

