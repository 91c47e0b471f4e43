"""PUF408: openings that are over after one step, whatever is done."""
from ....core.fact_kinds import OpeningsFact
from ....core.vocabulary import Facts, Finding, Findings, NotTested, detector, enough, needed
from ..no_reset.known import is_not_reset
from .over_at_once import have_one_step

SHARE = 0.1         # of openings that are drawn, and may be lost by bad luck


@detector("PUF408", "lost-openings")
def lost_openings(facts: Facts) -> Findings:
    """Some openings end after one step with the same rewards, whatever the action."""
    fact = needed(facts, "openings", OpeningsFact)
    if fact.lost == fact.tests or have_one_step(facts):
        return                                  # every episode has one step: that is one-step's
    if not enough(fact.fixed) and not (enough(fact.lost) and fact.lost >= SHARE * fact.tests):
        return
    if is_not_reset(facts):
        raise NotTested("episodes do not begin anew", "PUF401")
    yield Finding("PUF408", f"{fact.lost} of {fact.tests} openings are over after one step, "
                            "whatever is done", **facts.at("c_reset"), env=fact.env,
                  expected="openings in which some action goes on, or earns something else",
                  actual=f"each of {fact.tries} plays ended at once with the same rewards",
                  seed=facts.seed, severity="warning",
                  hint="draw another opening until it can be played")
