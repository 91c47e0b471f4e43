"""A pytest plugin for tools/mutants.py: coverage in this process goes by the test that runs."""
from __future__ import annotations

import coverage
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    current = coverage.Coverage.current()
    if current:
        current.switch_context(item.nodeid)


def pytest_sessionfinish():
    """Worker processes of pytest-xdist end without running exit handlers."""
    current = coverage.Coverage.current()
    if current:
        current.stop()
        current.save()
