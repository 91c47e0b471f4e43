"""trainer/device/cuda, compiled against a CUDA runtime and a cuBLASLt that are not there.

Those in tests/cuda_device are as strict as NVIDIA's manual says. So what is asked of CUDA, in what
order and with which arguments, is tested here; what a GPU makes of it is not.
"""
import os
import subprocess

import pytest
from helpers.places import TESTS

from puffer_sdk.toolchain import compilers, cuda_finding
from puffer_sdk.training.native import cuda, trainer_sources

HERE = TESTS / "trainer" / "cuda_device"
CHECKS = ("opening", "memory", "pinning", "products", "a_sum_in_other_memory",
          "shapes_that_are_none", "graphs",
          "graphs_that_are_none", "failures", "meeting", "timing", "programs",
          "programs_that_are_none")


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """run(name) -> what one check says"""
    runtime = cuda_finding.find_runtime()
    folder = tmp_path_factory.mktemp("runtime")
    products, program = folder / "libcublasLt.so.13", folder / "check"
    compilers.compile_to(products, [*compilers.find_compiler().command, "-shared", "-fPIC", "-O1",
                                    HERE / "fake_cublaslt.c"],
                         source=HERE / "fake_cublaslt.c", what="a cuBLASLt")
    source = trainer_sources.for_cuda()[1]
    compilers.compile_to(
        program, [*compilers.find_compiler().command, "-O1", "-Wall", "-Wextra", "-rdynamic",
                  f"-I{HERE}", *(f"-I{place}" for place in trainer_sources.include_dirs()),
                  "-isystem", runtime.include, "-isystem", trainer_sources.runtime_headers(),
                  "-x", "c++", *trainer_sources.for_cuda()[:2], HERE / "fake_cuda.cc",
                  HERE / "check_device.cc", "-lstdc++", "-lm", "-ldl", "-lpthread"],
        source=source, what="the device layer", timeout=cuda.TIMEOUT)

    def run(*words):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PUFFER_CUBLASLT": str(products)})
        assert done.returncode == 0, done.stderr or done.returncode
        return done.stdout
    return run


@pytest.mark.parametrize("name", CHECKS)
def test_the_device_layer_asks_cuda_for_what_it_should(run, name):
    assert int(run(name).split()[0]) > 3


def test_no_check_is_left_out(run):
    assert tuple(run().split()) == CHECKS
