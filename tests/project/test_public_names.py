"""The names of the package: editors and type checkers see those that can be imported."""
from __future__ import annotations

import ast
import inspect
from importlib import import_module

import pytest
from helpers.places import ROOT

import puffer_sdk
from puffer_sdk import vector


@pytest.mark.parametrize("module, names", [
    (puffer_sdk, puffer_sdk._PUBLIC),
    (vector, {name: f"interop.async_vector.{stem}" for name, stem in vector.MODULES.items()})])
def test_editors_see_what_can_be_imported(module, names):
    path = ROOT.joinpath(*module.__name__.split(".")).with_suffix(".py")
    tree = ast.parse((path if path.is_file() else ROOT / "puffer_sdk/__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    shown = {alias.name: node.module for node in block.body for alias in node.names}
    assert shown == names
    for name, place in names.items():
        assert getattr(module, name) is getattr(import_module(f"puffer_sdk.{place}"), name)


@pytest.mark.parametrize("name, module, kind", [
    ("to_gymnasium", "gymnasium_env", "PufferEnv"), ("to_sb3", "sb3_vec_env", "PufferSB3"),
    ("to_vector", "gymnasium_vector", "PufferVector"),
    ("to_parallel", "pettingzoo_env", "PufferParallel")])
def test_a_function_takes_what_its_adapter_takes(name, module, kind):
    adapter = getattr(import_module(f"puffer_sdk.interop.to_learners.{module}"), kind)
    function = inspect.signature(getattr(puffer_sdk, name))
    _, *parameters = inspect.signature(adapter.__init__).parameters.values()
    assert list(function.parameters.values()) == parameters
