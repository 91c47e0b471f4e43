"""PUF305: an observation that never changes."""
from ....core.fact_kinds import RunFact
from ....core.vocabulary import Facts, Finding, Findings, Statistics, detector, needed, span
from .obs_constant import at_constant, ends_at_once, observed, untouched


@detector("PUF305", "whole")
def whole(facts: Facts) -> Findings:
    """The whole observation never changes, although episodes have several steps."""
    stats = observed(facts)
    constant = stats.low == stats.high
    if not constant.all() or len(untouched(facts)) == len(constant) or _is_bandit(facts, stats):
        return
    size = facts.shape.obs_size
    steps = needed(facts, "run", RunFact).steps
    yield Finding("PUF305", f"the observation never changes, in {steps:,} steps",
                  **at_constant(facts, 0),
                  element=span(0, size - 1), expected="values that tell the agent something",
                  actual=f"the same {size} elements on every step" if size > 1
                  else f"{float(stats.low[0]):g} on every step", seed=facts.seed, seen_in="run",
                  hint="observe in c_step, after the state has changed")


def _is_bandit(facts: Facts, stats: Statistics) -> bool:
    """One state only: each step is an episode, or the only input is a bias of 1."""
    return ends_at_once(facts) or (len(stats.low) == 1 and stats.low[0] == 1)
