"""Whether PUF409 is found for rewards, for rules that add them up."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.registry import NotTested
from .nobody import nobody
from .rewards import rewards


def is_paid_elsewhere(facts: Facts) -> bool:
    """Whether rewards are paid to another agent's row, or to nobody's."""
    return any(_finds(detector, facts) for detector in (nobody, rewards))


def _finds(detector, facts: Facts) -> bool:
    try:
        return any(True for _ in detector(facts))
    except NotTested:
        return False
