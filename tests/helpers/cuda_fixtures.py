"""Fixtures over the CUDA kernels, as a plugin: pytest_plugins = ["helpers.cuda_fixtures"]

PUFFER_CUDA_LIBRARY names a library that was made elsewhere: with sanitizers, say.
"""
import os
from pathlib import Path

import pytest
from helpers.cuda_calls import HAS_DRIVER, Cuda, build_oracle, build_shim, open_oracle

from puffer_sdk.base.errors import BuildError
from puffer_sdk.training.native import cuda as build


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    made = os.environ.get("PUFFER_CUDA_LIBRARY")
    return Cuda(Path(made) if made else build_shim(tmp_path_factory.mktemp("cuda")))


@pytest.fixture(scope="session")
def gpu(tmp_path_factory):
    """The same kernels on a GPU."""
    try:
        library = build.build_kernels(tmp_path_factory.mktemp("gpu") / "cuda.so")
    except BuildError as error:
        pytest.skip(error.message)
    found = Cuda(library)
    return found if found.lib.cuda_devices() else pytest.skip("no GPU that CUDA can use")


@pytest.fixture(params=["shim", *["gpu"] * HAS_DRIVER])
def cuda(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def generic(tmp_path_factory):
    """The CPU's generic kernels, which other tests hold against float64."""
    return open_oracle(build_oracle(tmp_path_factory.mktemp("generic")))
