"""How much each kind of work takes.  an environment, a space -> the weights of compute.parts

Short trainings of settings from the space, one after another on one core.
"""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base import files
from ..base.errors import PufferError, RunError
from ..interop.python_envs.env_source import CompiledSource, PythonSource
from .compute import fit, parts
from .gaussian import Floats
from .sampler import Sampler
from .sweep_plan import Plan
from .trial import Bench, Cut

RUNS = 24               # short trainings
LONG = 0.25             # CPU seconds of each
LEAST = 12              # of them that must succeed


def calibrate(source: CompiledSource | PythonSource, plan: Plan) -> list[float]:
    """The weights of the parts, in CPU seconds of this machine's core.

    Raises RunError if most of the trainings fail.
    """
    rows: list[Floats] = []
    times: list[float] = []
    error: str | None = None
    with files.private("puffer-sweep-") as home:
        quick = replace(plan, cost="cpu", limit=0.0)
        bench = Bench(source, quick, Path(home))
        asked = Sampler(plan.space(), seed=plan.seed, method="random", start=plan.start)
        try:
            for number in range(RUNS):
                settings = asked.ask(number).settings
                seen: list[tuple[float, float]] = []

                def look(share: float, score: float | None, cost: float,
                         seen: list[tuple[float, float]] = seen) -> str | None:
                    seen.append((share, cost))
                    return "cut" if cost > LONG else None

                try:
                    config = bench.resolve(settings, plan.seed + number)
                    outcome = bench.run(number, settings, plan.seed + number, look)
                    error = outcome.facts.get("error", error)
                except Cut:
                    pass
                except PufferError as refused:
                    error = refused.message
                    continue
                if seen and seen[-1][1] > 0:
                    share, cost = seen[-1]
                    rows.append(parts(config) * share * config.train.total_timesteps)
                    times.append(cost)
        finally:
            bench.close()
    if len(times) < LEAST:
        raise RunError("the cost of this environment cannot be modelled", expected=f"{LEAST} short "
                       f"trainings of {RUNS} that run", actual=f"{len(times)} did", detail=error,
                       hint="--cost cpu measures each trial")
    return list(map(float, fit(np.array(rows), np.array(times))))
