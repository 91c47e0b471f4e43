"""Fixtures over kernels/, as a plugin: pytest_plugins = ["helpers.kernel_fixtures"]"""
import pytest
from helpers.kernel_calls import open_library
from helpers.kernel_library import PATHS, TABLES, build


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """kernels/ and the probes of tests/kernels, compiled once: .tables, .math, .philox"""
    return open_library(build(tmp_path_factory.mktemp("kernels")))


@pytest.fixture(params=TABLES)
def table(request, kernels):
    """The kernels of each instruction set that this CPU has, and those made of single floats."""
    return kernels.tables[request.param]


@pytest.fixture(params=PATHS)
def math(request, kernels):
    """The functions of arithmetic.h, likewise."""
    return kernels.math[request.param]
