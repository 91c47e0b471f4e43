"""Fixtures over kernels/, as a plugin: pytest_plugins = ["helpers.kernel_fixtures"]"""
import platform
from pathlib import Path

import pytest
from helpers.kernel_calls import open_library
from helpers.kernel_library import build

try:
    FLAGS = set(Path("/proc/cpuinfo").read_text().split())
except OSError:                     # not Linux: the paths that need no flag
    FLAGS = set()
IS_ARM = platform.machine() in ("aarch64", "arm64")
PATHS = ["generic", "scalar", *["neon"] * IS_ARM, *["avx2"] * ({"avx2", "fma"} <= FLAGS),
         *["avx512"] * ({"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= FLAGS)]
TABLES = [*PATHS, *["bf16"] * ("avx512_bf16" in FLAGS)]


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
