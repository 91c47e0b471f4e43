"""Fixtures over a stranger's project: pytest_plugins = ["helpers.strangers_fixtures"]"""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers.shared import once
from helpers.strangers import SETTINGS, make_sweep


def _make(folder: Path) -> None:
    from puffer_sdk.projects import scaffold
    from puffer_sdk.training import train

    made = scaffold.new("squared", output_dir=folder).folder
    train.train(made, SETTINGS)
    make_sweep(made / "runs" / "squared" / "sweeps" / "0001")


@pytest.fixture(scope="session")
def given(tmp_path_factory) -> Path:
    """Squared, trained and swept. Only read."""
    return once(tmp_path_factory, "given", _make) / "squared"


@pytest.fixture
def project(given, tmp_path, monkeypatch) -> Path:
    """A copy, with another user's things beside it; the current folder is its own."""
    (tmp_path / "outside" / "folder").mkdir(parents=True)
    for name in ("precious", "folder/inner", "run.json"):
        (tmp_path / "outside" / name).write_text("precious")
    folder = shutil.copytree(given, tmp_path / "squared", symlinks=True)
    monkeypatch.chdir(folder)
    return folder


