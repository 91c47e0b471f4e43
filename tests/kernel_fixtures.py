"""Fixtures over kernels/, as a plugin: pytest_plugins = ["kernel_fixtures"]"""
import platform

import pytest
from kernel_calls import open_library
from kernel_library import build

PATHS = {"x86_64": ["generic", "scalar", "avx2", "avx512"]}.get(
    platform.machine(), ["generic", "scalar", "neon"])
TABLES = [*PATHS, "bf16"] if "avx512" in PATHS else PATHS


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """kernels/ and the probes of tests/kernels, compiled once: .tables, .math, .philox"""
    return open_library(build(tmp_path_factory.mktemp("kernels")))


@pytest.fixture(params=TABLES)
def table(request, kernels):
    """The kernels of each instruction set that this CPU has, and those made of single floats."""
    if request.param not in kernels.tables:
        pytest.skip(f"this CPU has no {request.param}")
    return kernels.tables[request.param]


@pytest.fixture(params=PATHS)
def math(request, kernels):
    """The functions of arithmetic.h, likewise."""
    if request.param not in kernels.tables:
        pytest.skip(f"this CPU has no {request.param}")
    return kernels.math[request.param]
