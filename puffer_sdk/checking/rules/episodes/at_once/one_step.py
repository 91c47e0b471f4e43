"""PUF408: episodes that all have one step."""
from ....collect.c.source.beginnings import are_tested
from ....core.vocabulary import BANDIT, Facts, Finding, Findings, NotTested, detector, enough, need
from ..no_reset.known import is_not_reset
from .over_at_once import episodes_seen, have_one_step


@detector("PUF408", "one-step")
def one_step(facts: Facts) -> Findings:
    """Every episode has one step, and a test decides about the terminal, or about c_reset."""
    need(facts, "run")
    lengths = episodes_seen(facts)
    if lengths is None or not enough(lengths.seen):
        raise NotTested("fewer than 3 episodes ended")
    if not have_one_step(facts) or (
            facts.source.always_sets("terminals") and not are_tested(facts.source)):
        return
    if is_not_reset(facts):
        raise NotTested("episodes do not begin anew", "PUF401")
    step = facts.spec.functions.get("c_step") if facts.spec else None
    file, line = next(((function.file, target.line) for function in facts.source.stepping()
                       for target, value in facts.source.stores(function, "terminals")
                       if value.bare().value != 0), step or (None, None))
    yield Finding("PUF408", f"each of {lengths.seen:,} episodes has one step",
                  file=file, line=line, expected="episodes of several steps",
                  actual="an ending on every step", seed=facts.seed, word=BANDIT,
                  beside=(step,) if step else (),
                  hint="look at the test before the terminal, and before c_reset")
