"""PUF302: elements that are set and never cleared."""
from ....core.vocabulary import CellFact, Facts, Findings, LeftFact, NotTested, detector
from ...episodes.no_reset.known import is_not_reset, is_reset_late
from .writes import BEFORE, follow_from_state, kept, stale

FEW = 32            # elements of an agent that are a one-hot rather than a board


@detector("PUF302", "never-cleared", unless=(*BEFORE, "silent-rows"))
def never_cleared(facts: Facts) -> Findings:
    """Elements keep what was once set until the episode ends, as a one-hot that is not cleared."""
    cells = kept(facts)
    one_way = [c for c in cells.one_way if not _is_only_cleared(c)]
    changed = [c for c in cells.some if c.changed and not _is_only_cleared(c)]
    if len(one_way) <= 1 or len(one_way) < len(changed) or \
            any(c.reverted for c in cells.some) or follow_from_state(one_way) or \
            facts.source.shows_what_stays():
        return
    if is_not_reset(facts) or is_reset_late(facts):
        raise NotTested("episodes do not begin anew where they end", "PUF401")
    few = cells.most_are_written or len(one_way) <= FEW * facts.told_agents
    severity = "error" if few and not facts.source.clears_observations() else "warning"
    old = [c for c in one_way if c.held > c.retold] or one_way
    left = {(c.agent, c.element) for c in facts.all("poison", LeftFact)}
    yield from stale(facts, [c for c in old if (c.agent, c.element) not in left],
                     "{} keep what was once set, within an episode", severity, "let-go")


def _is_only_cleared(cell: CellFact) -> bool:
    """Whether c_reset sets it and steps only clear it: a list of what remains."""
    return cell.emptied > 0 and cell.filled == 0
