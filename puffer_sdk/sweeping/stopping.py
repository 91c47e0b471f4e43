"""Which trials to stop early.  a curve so far, whole runs -> stop, or go on

A trial is compared with whole runs at the same share of their schedules, not at the same number of
steps: learning rates anneal over a run.
"""
from __future__ import annotations

import numpy as np

from .store import DONE, Stored

LEAST = 10              # whole runs before anything is stopped
FIRST = 2               # the eighth of a run at whose end it may be stopped first
GAIN = 0.9              # the quantile of the gains that whole runs still made from there


def is_hopeless(eighth: int, score: float, cost: float, trials: list[Stored],
                minimize: bool = False) -> bool:
    """Whether even a good rest of the run would end below the best score at the same cost.

    eighth      how many eighths of its steps the trial has done
    score, cost so far
    """
    sign = -1.0 if minimize else 1.0
    whole = [trial for trial in trials if trial.state == DONE and trial.facts.get("curve")]
    if eighth < FIRST or len(whole) < LEAST:
        return False
    gains = [sign * (trial.final_score - trial.facts["curve"][eighth - 1]) for trial in whole
             if trial.facts["curve"][eighth - 1] is not None]
    bought = [sign * trial.final_score for trial in whole if trial.cost <= cost * 8 / eighth]
    if len(gains) < LEAST or not bought:
        return False
    hoped = sign * score + max(0.0, float(np.quantile(gains, GAIN)))
    return hoped < max(bought)
