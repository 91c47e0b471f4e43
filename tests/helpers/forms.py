"""Short and long forms of a proof: `make test` runs the short ones, `make proof` the long ones.

    @pytest.mark.proof
    @pytest.mark.parametrize("seed", forms([1], range(1, 6)))
"""
from __future__ import annotations

import os
from collections.abc import Iterable

LONG = os.environ.get("PUFFER_PROOF") == "1"


def forms(short: Iterable, long: Iterable) -> list:
    """What a test goes through: `short`, or `long` under PUFFER_PROOF=1."""
    return list(long if LONG else short)
