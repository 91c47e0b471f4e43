"""The measured score of an exported policy.  TrainedPolicy -> a sentence, with random play"""
from __future__ import annotations

from pathlib import Path

from ..base.errors import PufferError
from ..scoring.score import ORDER
from ..scoring.words import claimed
from ..training.looks import without_episodes
from .evaluate import evaluate
from .export import TrainedPolicy

SECONDS = 1.0           # of play, each of the policy and at random, where nobody has measured it


def measure(policy: TrainedPolicy, folder: Path | None = None) -> str:
    """The score of its run's evaluation, or else of a short play if its environment is found, or
    that it was not measured.

    folder      the environment's; found by its name unless given
    """
    if policy.measured:
        return policy.measured
    try:
        found = evaluate(folder or policy.name, model=policy.path, seconds=SECONDS)
    except PufferError:
        return f"not measured yet: puffer-sdk eval {policy.name}"
    trained, goal = found.scores["trained"], found.goal
    metric = next((name for name in (goal.name if goal else "", *ORDER) if name in trained.mean),
                  ORDER[0])
    return claimed({"step": policy.step, "metric": metric,
                    "least": bool(goal and goal.name == metric and not goal.at_least),
                    "trained": without_episodes(trained),
                    "random": without_episodes(found.scores["random"])})
