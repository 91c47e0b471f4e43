"""Short and long forms of a test: `make test` runs the short ones, `make test-long` the long ones.

    @pytest.mark.parametrize("seed", short_or_long([1], range(1, 6)))
    @pytest.mark.parametrize("size", some_or_all([1, 2, 64, 1000], 0, 3))

    @long_only
    def test_what_another_test_has_the_short_form_of(): ...

    @pytest.mark.long
    def test_itself(): ... (3 if LONG else 1) ...
"""
from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

LONG = os.environ.get("PUFFER_LONG") == "1"
# A test, or a case (pytest.param(..., marks=long_only)), that `make test` leaves out
long_only = pytest.mark.long(only=True)


class Forms(list):
    """Cases of a test: it has a long form, and needs no mark that says so."""


def short_or_long(short: Iterable, long: Iterable) -> Forms:
    """What a test goes through: `short`, or `long` under PUFFER_LONG=1."""
    return Forms(long if LONG else short)


def some_or_all(cases: Iterable, *numbers: int) -> Forms:
    """The cases of these numbers, or all under PUFFER_LONG=1."""
    cases = list(cases)
    return Forms(cases if LONG else [cases[number] for number in numbers])


def has_forms(item: pytest.Item) -> bool:
    """Whether some of its cases are of the long form alone."""
    return any(isinstance(mark.args[1], Forms) for mark in item.iter_markers("parametrize")
               if len(mark.args) > 1)


def is_left_out(item: pytest.Item) -> bool:
    """Whether only `make test-long` runs it."""
    return not LONG and any(mark.kwargs.get("only") for mark in item.iter_markers("long"))
