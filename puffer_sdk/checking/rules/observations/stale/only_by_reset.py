"""PUF302: what only c_reset shows."""
from ....core.vocabulary import Facts, Finding, Findings, detector, ranges, span
from .writes import BEFORE, kept


@detector("PUF302", "only-by-reset", unless=(*BEFORE, "silent-rows"))
def only_by_reset(facts: Facts) -> Findings:
    """c_step changes what only c_reset writes into the observation."""
    cells = kept(facts)
    for file, line, index, name, fixed in facts.source.reset_only_stores() if cells.never else ():
        # Of a board that c_reset fills, a step writes the cells that change by other names
        if cells.most_are_written or fixed:
            yield Finding("PUF302", f"only c_reset writes observations[{index}], but c_step "
                                    f"changes '{name}'", file=file, line=line, seed=facts.seed,
                          seen_in="rewrite",
                          element=span(*next(ranges(c.element for c in cells.never))),
                          expected="written after each step", actual="written on reset",
                          hint="write it where c_step writes the rest")
