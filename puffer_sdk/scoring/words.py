"""A Score in words.  a Score, or a run's claim -> "perf 0.983 ± 0.007 (1,000 episodes)"
"""
from __future__ import annotations

from collections.abc import Mapping

from ..base import ui
from .kept_scores import Claim
from .score import FEW, RATES, RETURN_RATE, Score

FAR = 0.2               # of the way from random play to the best: an end that lost more is far off
FELL_HINT = ("eval, play and export take the best weights; a lower train.learning_rate keeps what "
             "is learned")
ROUNDED = 1e-4          # by which a perf may be outside [0, 1]: sums of floats
ZERO_SUM = "zero-sum rewards: a policy cannot be judged by playing against itself; "\
    "declare teams, or eval --opponent random"


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
    against = f" against {trained.opponent} play" if trained.opponent else ""
    name = headline(claim)
    ours, theirs = trained.mean.get(name), random.mean.get(name)
    sign = -1 if claim["least"] and name == claim["metric"] else 1
    no_better = ours is not None and theirs is not None and sign * ours <= sign * theirs
    return (f"{name.replace('_', ' ')} {measure(ours, interval(trained, name))}{against}, "
            f"{'no better than ' * no_better}random play "
            f"{measure(theirs, interval(random, name))} ({played(trained)}"
            + f" in {trained.span:,} ticks" * (name == RETURN_RATE and trained.settled) + ")")


def best_at(claim: Claim) -> str:
    """'9.890 at 53,248 steps; the last weights, of 198,656 steps: -2.000'"""
    name, best, last = ends_of(claim)
    text = f"{measure(best, None)} at {claim['step']:,} steps"
    if "last_step" not in claim:
        return f"{text}, the last weights"
    return f"{text}; the last weights, of {claim['last_step']:,} steps: {measure(last, None)}"


def fell(claim: Claim) -> str:
    """What the end lost, where the last weights are far below the best ones; else "". That they are
    worse by more than chance has been found already: of a run with such a `last`. Far is a share of
    what was learned, from random play to the best."""
    name, best, last = ends_of(claim)
    if best is None or last is None:
        return ""
    random = claim["random"]["mean"].get(name)
    sign = -1 if claim.get("least") and name == claim["metric"] else 1
    if sign * (best - last) <= FAR * abs(best - (last if random is None else random)):
        return ""
    return (f"the end is far below the best: {name.replace('_', ' ')} {measure(last, None)} after "
            f"{claim['last_step']:,} steps, {measure(best, None)} at {claim['step']:,}")


def ends_of(claim: Claim) -> tuple[str, float | None, float | None]:
    """(the measure, of the best weights, of the last ones): None where one is unknown."""
    name, trained = headline(claim), claim["trained"]["mean"]
    last = claim["last"]["mean"] if "last" in claim else {}
    names = [name, RETURN_RATE, claim["metric"]] if last else [name]
    name = next((each for each in names if trained.get(each) is not None
                 and (not last or last.get(each) is not None)), name)
    return name, trained.get(name), last.get(name)


def played(score: Score) -> str:
    """'1,000 fresh episodes'; how few, where an interval would say nothing; what did not end."""
    ticks = f"{score.span or score.ticks:,} fresh ticks"    # that rates are of, where there are any
    if score.count == 0:
        return f"no episode ended in {ticks}"
    if score.unfinished:
        return f"{ui.plural(score.unfinished, 'agent')} did not end every episode in {ticks}"
    if score.opponent:
        text = ui.plural(score.count, "fresh game")
        return text if score.count >= FEW else f"only {text}"
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


def notes(claim: Claim) -> list[str]:
    """Caveats of a claim."""
    trained = Score(**claim["trained"])
    return [ZERO_SUM] if trained.zero_sum and not trained.opponent else []
