"""Whether PUF401 is found, for rules of which what follows an ending is an echo."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.registry import NotTested
from .frozen import frozen
from .goes_on import goes_on
from .late_reset import late


def is_not_reset(facts: Facts) -> bool:
    """Whether it is found as an error. A late reset begins a new episode: all but its first
    observation can be measured.
    """
    return not is_reset_late(facts) and (_finds(frozen, facts) or _finds(goes_on, facts))


def is_reset_late(facts: Facts) -> bool:
    """Whether it is found as a warning: an ending still shows the old episode."""
    return not _finds(frozen, facts) and _finds(late, facts)


def _finds(detector, facts: Facts) -> bool:
    try:
        return any(True for _ in detector(facts))
    except NotTested:
        return False
