"""Whether training and eval measure the same.  one policy, played by both -> a mean of each

With a learning rate of 0, training and eval play the same policy, and both draw their actions: the
means of the environment's log must be equal. If they differ, the environment behaves differently in
each, or one of them counts wrongly.

    for measure in compare("my_env"):
        measure.name, measure.training, measure.eval, measure.agrees
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..policy.evaluate import evaluate
from ..scoring.intervals import clustered_mean
from ..scoring.play_episodes import PATIENCE
from ..scoring.score import PLACE
from ..training.runs import Run
from ..training.train import train
from .keeping import Facts

STEPS = 2_000_000               # agent steps
EPISODES = 400                  # that eval plays
FEWEST = 5                      # epochs that logged something
MANY = 1_000_000                # a quota of episodes that nobody fills
STILL = {"train.learning_rate": 0, "policy.hidden_size": 32}


@dataclass(frozen=True)
class Measure:
    """One column of the log."""

    name: str
    training: float             # mean over the entries of training
    eval: float                 # mean over the entries of eval
    within: float               # how far apart chance puts them, 99 % of the time and more

    @property
    def agrees(self) -> bool:
        return abs(self.training - self.eval) <= self.within + 1e-6


def compare(env: str | Path, settings: Mapping[str, object] | None = None, *,
            agents: int, steps: int = STEPS, shared: bool = False,
            runs_dir: Path) -> list[Measure]:
    """Train without learning, evaluate, and compare what was logged.

    agents      [vec] total_agents, and as many as that in eval where worlds are shared
    shared      several agents live in one env. What they do depends on its age, so the entries of
                the same ticks are compared: those of the second half of the training.
    Raises what train and evaluate raise. [] where too little was logged for a comparison.
    """
    given = {**(settings or {}), **STILL, "vec.total_agents": agents,
             "train.total_timesteps": steps}
    result = train(env, given, runs_dir=runs_dir)
    assert result and not isinstance(result, int)    # in this process
    rows = [row for row in Run(result.folder).metrics() if row.get("env/n")]
    late = [row for row in rows if (row["step"] or 0) > result.steps // 2]
    if len(late) < FEWEST:
        return []
    ticks = result.steps // agents
    length = {"eval.episodes": EPISODES}
    if shared:
        length = {"eval.episodes": MANY, "eval.steps": math.ceil(ticks / PATIENCE)}
    score = evaluate(env, {**length, **(settings or {}), "vec.total_agents": agents},
                     model=result.checkpoint, runs_dir=runs_dir, opponent="self").scores["trained"]
    first, last = (ticks // 2, ticks) if shared else (0, math.inf)
    return measures(late, [each for each in score.episodes if first < each["tick"] <= last])


def measures(rows: Sequence[Facts], entries: Sequence[Facts]) -> list[Measure]:
    """rows: of a training, {"env/score": mean, "env/n": entries, ...}; entries: of an evaluation,
    {"score": mean, "n": entries, "env": index, ...}."""
    if not entries:
        return []
    found = []
    for name in entries[0]:
        key = f"env/{name}"
        if name in PLACE or key not in rows[0]:
            continue
        trained, own = _mean([row[key] for row in rows], [row["env/n"] for row in rows])
        mean, half = clustered_mean([each[name] for each in entries],
                                    [each["env"] for each in entries],
                                    [each["n"] for each in entries])
        if not half:            # no point in n games says: less than 5 / n a game
            half = 5 / sum(each["n"] for each in entries)
        found.append(Measure(name, trained, mean, 1.5 * (own + half)))      # 95 % -> 99 %
    return found


def _mean(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """A weighted mean, and the half width of its 95 % interval."""
    total = sum(weights)
    mean = sum(value * weight for value, weight in zip(values, weights)) / total
    spread = sum((weight * (value - mean))**2 for value, weight in zip(values, weights))
    return mean, 2 * math.sqrt(spread * len(values) / (len(values) - 1)) / total
