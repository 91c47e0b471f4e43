"""Environments that many tests need, made once a session. Copy before you change one."""
from __future__ import annotations

from pathlib import Path

import pytest

from puffer_sdk import scaffold


@pytest.fixture(scope="session")
def templates(tmp_path_factory) -> dict[str, Path]:
    """Both templates, scaffolded: {"squared": folder, "target": folder}."""
    root = tmp_path_factory.mktemp("templates")
    return {name: scaffold.new(name, template=name, output_dir=root).folder
            for name in ("squared", "target")}


@pytest.fixture(scope="session")
def squared(templates) -> Path:
    return templates["squared"]


@pytest.fixture(scope="session")
def target(templates) -> Path:
    return templates["target"]
