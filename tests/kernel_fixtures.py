"""Fixtures over kernels/, as a plugin: pytest_plugins = ["kernel_fixtures"]"""
import platform

import pytest
from kernel_calls import open_library
from kernel_library import build

PATHS = {"x86_64": ["generic", "scalar", "avx2", "avx512"]}.get(
    platform.machine(), ["generic", "scalar", "neon"])


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """kernels/ and the probes of tests/kernels, compiled once: .tables, .math, .philox"""
    return open_library(build(tmp_path_factory.mktemp("kernels")))


@pytest.fixture(params=PATHS)
def path(request, kernels):
    """The name of each instruction set that this CPU has, and "scalar"."""
    if request.param not in kernels.tables:
        pytest.skip(f"this CPU has no {request.param}")
    return request.param


@pytest.fixture
def table(kernels, path):
    """The kernels of each instruction set that this CPU has."""
    return kernels.tables[path]


@pytest.fixture
def math(kernels, path):
    """The functions of arithmetic.h, of each instruction set that this CPU has."""
    return kernels.math[path]
