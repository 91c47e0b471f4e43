"""Interpreters of venvs that hold what excludes what is installed here (benchmarks/peers)."""
from __future__ import annotations

from pathlib import Path

import pytest
from helpers.places import ROOT
from peers import venvs


def python_of(name: str) -> Path:
    """Of a venv with a peer's packages. What cannot be installed is reported as not run."""
    try:
        return venvs.python_of(name, editable=ROOT)
    except venvs.Missing as why:
        pytest.skip(f"{name} cannot be installed: {why}")
