"""PUF423: values of the log that are not finite."""
from ....core.vocabulary import Facts, Finding, Findings, LogNotFiniteFact, detector, need
from ...memory.origins import origin
from .columns import elements


@detector("PUF423", "not-finite")
def not_finite(facts: Facts) -> Findings:
    """A field of Log became NaN or infinite in an entry."""
    need(facts, "run")
    odd = facts.fact("run", LogNotFiniteFact)
    if odd:
        names = [name for name, _ in elements(facts)]
        name = names[odd.element] if odd.element < len(names) else f"[{odd.element}]"
        yield Finding("PUF423", f"Log.{name} became {odd.value} in an entry", env=odd.env,
                      **origin(facts, odd.value, facts.at("c_step")), step=odd.step, element=name,
                      expected="a finite number", actual=odd.value, seed=facts.seed,
                      severity="error")
