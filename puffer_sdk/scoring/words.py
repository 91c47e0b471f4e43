"""A Score in words.  a Score, or a run's claim -> "perf 0.983 ± 0.007 (1,000 episodes)"
"""
from __future__ import annotations

from collections.abc import Mapping

from ..base import ui
from .kept_scores import Claim
from .score import FEW, RATES, RETURN_RATE, Score

ROUNDED = 1e-4          # by which a perf may be outside [0, 1]: sums of floats
ZERO_SUM = "zero-sum rewards: a policy cannot be judged by playing against itself"


def measure(mean: float | None, half: float | None) -> str:
    """'0.973 ± 0.010'"""
    if mean is None:
        return "-"
    digits = 3 if abs(mean) < 100 else 1
    return f"{mean:,.{digits}f}" + (f" ± {half:,.{digits}f}" if half is not None else "")


def cell(score: Score, name: str) -> str:
    """A mean with its interval; where there are too few entries for one, how few."""
    mean, half = score.mean.get(name), interval(score, name)
    few = mean is not None and half is None and score.interval.get(name) is not None
    return measure(mean, half) + (f" ({score.count} only)" if few else "")


def interval(score: Score, name: str) -> float | None:
    """The half width of a mean's interval; None where there are too few entries for one."""
    rate = name in RATES
    return score.interval.get(name) if rate or score.count >= FEW else None


def headline(claim: Claim) -> str:
    """The measure that a claim is about: its metric, or the return of 1000 ticks where episodes do
    not all end."""
    trained = Score(**claim["trained"])
    episodes = trained.settled and claim["metric"] in trained.mean and not claim.get("rated")
    return claim["metric"] if episodes or RETURN_RATE not in trained.mean else RETURN_RATE


def claimed(claim: Claim) -> str:
    """'perf 0.983 ± 0.007, random play 0.112 ± 0.019 (1,000 fresh episodes)'"""
    trained, random = Score(**claim["trained"]), Score(**claim["random"])
    name = headline(claim)
    ours, theirs = trained.mean.get(name), random.mean.get(name)
    sign = -1 if claim["least"] and name == claim["metric"] else 1
    no_better = ours is not None and theirs is not None and sign * ours <= sign * theirs
    return (f"{name.replace('_', ' ')} {measure(ours, interval(trained, name))}, "
            f"{'no better than ' * no_better}random play "
            f"{measure(theirs, interval(random, name))} ({played(trained)}"
            + f" in {trained.span:,} ticks" * (name == RETURN_RATE and trained.settled) + ")")


def played(score: Score) -> str:
    """'1,000 fresh episodes'; how few, where an interval would say nothing; what did not end."""
    ticks = f"{score.span or score.ticks:,} fresh ticks"    # that rates are of, where there are any
    if score.count == 0:
        return f"no episode ended in {ticks}"
    if score.unfinished:
        return f"{ui.plural(score.unfinished, 'agent')} did not end every episode in {ticks}"
    what = "fresh episode" if score.whole else "fresh log entr"
    text = ui.plural(score.count, what) if score.whole else \
        f"{score.count:,} {what}{'y' if score.count == 1 else 'ies'}"
    return text if score.count >= FEW else f"only {text}"


def warn_of_perf(means: Mapping[str, Mapping[str, float | None]]) -> None:
    """A warning where the mean perf of a player is outside [0, 1]: of the one furthest out.

    means   player -> what was measured of it, by name
    """
    found = [(abs(perf - 0.5), name, perf) for name, mean in means.items()
             if (perf := mean.get("perf")) is not None]
    far, name, perf = max(found, default=(0.0, "", 0.0))
    if far > 0.5 + ROUNDED:
        ui.warn(f"Log.perf is {perf:.6g} on average in {name} play, outside [0, 1]: it is meant to "
                "be the share of success", hint="puffer-sdk check finds the line")


def notes(claim: Claim, step: int) -> list[str]:
    """Caveats of a claim.

    step    where the run ended
    """
    found = []
    metric = claim["metric"]
    if claim["unmoved"]:
        found.append(f"{' and '.join(claim['unmoved'])} never moved in this run: policies are "
                     f"compared by {metric}")
    if claim["step"] != step:
        found.append(f"the best weights are of step {claim['step']:,}; the last ones, of step "
                     f"{step:,}, did worse")
    if Score(**claim["trained"]).zero_sum:
        found.append(ZERO_SUM)
    return found
