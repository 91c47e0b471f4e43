"""Elements of the observation that ever get a value other than 0, by play/stores.c, for PUF305.

Facts -> Stores
"""
import numpy as np

from ...core.vocabulary import Facts, StoredFact, StoreFact


class Stores:
    """Elements that are stored to by instructions which ever store something other than 0."""

    def __init__(self, facts: Facts):
        self.known = facts.fact("trace-debug", StoredFact) is not None
        size = facts.shape.obs_size
        self.own = np.zeros(size, bool)         # to these and no others, on each of their steps
        self.some = np.zeros(size, bool)        # to others on other steps
        for fact in facts.all("trace-debug", StoreFact):
            for first, last in fact.elements:
                if fact.valued:
                    (self.some if fact.varies else self.own)[first:last + 1] = True

    def has_no_value(self, element: int) -> bool:
        """Whether nothing but 0 was ever stored to an element, and nothing could have been: those
        beside it have values of their own, and none of them is set where something happens to be,
        as a cell of a board is."""
        if not self.known or self.own[element] or self.some[element]:
            return False
        written = np.flatnonzero(self.own | self.some)
        at = int(np.searchsorted(written, element))
        beside = written[max(at - 1, 0):at + 1]
        return len(beside) > 0 and not self.some[beside].any()
