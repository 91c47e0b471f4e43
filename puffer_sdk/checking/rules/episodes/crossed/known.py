"""Whether PUF409 is found for rewards, for rules that add them up."""
from __future__ import annotations

from ....core.facts import Facts
from ....core.registry import finds
from .nobody import nobody
from .rewards import rewards


def is_paid_elsewhere(facts: Facts) -> bool:
    """Whether rewards are paid to another agent's row, or to nobody's."""
    return any(finds(detector, facts) for detector in (nobody, rewards))
