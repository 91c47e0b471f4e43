"""Envs for helpers/small_trainer.py, as a plugin: pytest_plugins = ["helpers.small_fixtures"]"""
from __future__ import annotations

import pytest

import puffer_sdk


@pytest.fixture
def vec(squared):
    """The 32 envs that it is for."""
    with puffer_sdk.make(squared, num_envs=32, seed=1) as made:
        yield made
