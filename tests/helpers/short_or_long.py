"""Short and long forms of a test: `make test` runs the short ones, `make test-long` the long ones.

    @pytest.mark.long
    @pytest.mark.parametrize("seed", short_or_long([1], range(1, 6)))
"""
from __future__ import annotations

import os
from collections.abc import Iterable

LONG = os.environ.get("PUFFER_LONG") == "1"


def short_or_long(short: Iterable, long: Iterable) -> list:
    """What a test goes through: `short`, or `long` under PUFFER_LONG=1."""
    return list(long if LONG else short)
