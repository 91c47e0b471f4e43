"""Whether PUF401 is found: it explains what other rules see after an ending."""
from ....core.vocabulary import Facts, finds
from .frozen import frozen
from .goes_on import goes_on
from .late_reset import late


def is_not_reset(facts: Facts) -> bool:
    """Whether it is found as an error. A late reset begins a new episode: all but its first
    observation can be measured.
    """
    return not is_reset_late(facts) and (finds(frozen, facts) or finds(goes_on, facts))


def is_reset_late(facts: Facts) -> bool:
    """Whether it is found as a warning: an ending still shows the old episode."""
    return not finds(frozen, facts) and finds(late, facts)
