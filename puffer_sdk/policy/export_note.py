"""What is known of a policy that leaves us.  TrainedPolicy -> a sentence, beside random play"""
from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from ..base.errors import PufferError
from ..scoring.score import ORDER
from ..scoring.words import claimed
from .evaluate import evaluate
from .export import TrainedPolicy

SECONDS = 1.0           # of play, each of the policy and at random, where nobody has measured it


def measure(policy: TrainedPolicy, folder: Path | None = None) -> str:
    """What its run's evaluation says of it, or else what a short play shows, if its environment is
    at hand; or that nobody measured it.

    folder      the environment's; it is looked for by its name unless given
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
    return claimed({"metric": metric, "least": bool(goal and goal.name == metric
                                                    and not goal.at_least),
                    "trained": asdict(trained), "random": asdict(found.scores["random"])})
