"""The CUDA kernels compile for GPUs; the host shim sees what it is there to see."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cuda_calls import SANITIZERS, Cuda, blank, build_shim, ffi, find_cpp
from kernel_library import KERNELS

from puffer_sdk.errors import BuildError
from puffer_sdk.native import cuda as build

ROOT = Path(__file__).resolve().parent.parent
SUITES = ("test_cuda_network.py", "test_cuda_updates.py")


@pytest.fixture
def nvcc():
    try:
        build.find_nvcc()
    except BuildError as error:
        pytest.skip(error.message)


@pytest.mark.usefixtures("nvcc")
def test_every_kernel_compiles_for_three_generations_without_a_warning(tmp_path):
    made = build.build_kernels(tmp_path / "cuda.so", strict=True)
    library = Cuda(made)
    assert library.lib.cuda_kind() == library.lib.CUDA_DEVICE and not library.exact
    assert library.lib.cuda_devices() >= 0                  # without a driver: 0, and no crash
    text = (KERNELS / "cuda_kernels.h").read_text()
    assert list(library.numbers) == re.findall(r"^    X\((\w+), ", text, re.M)
    for arch in build.ARCHS:
        assert f"sm_{arch}".encode() in made.read_bytes()
    if not library.lib.cuda_devices():
        assert library.lib.cuda_take(64) == ffi().NULL
        assert library.lib.cuda_run(0, ffi().NULL, 0, 0, 0) == -1


@pytest.mark.usefixtures("nvcc")
def test_make_cuda_says_what_it_does(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build, "ARCHS", ("90",))
    monkeypatch.setattr(build, "FLAGS", ("-std=c++17", "-O0", "-Xcompiler", "-fPIC", "-shared"))
    monkeypatch.setattr(build.paths, "data_dir", lambda name: tmp_path)
    (tmp_path / "cuda_kernels.cu").write_text("__global__ void kernel(float* x) { *x = 1; }\n")
    assert build.main([str(tmp_path / "a" / "cuda.so")]) == 0
    said = capsys.readouterr().err
    assert "nvcc" in said and "cuda.so" in said and (tmp_path / "a" / "cuda.so").stat().st_size
    (tmp_path / "cuda_kernels.cu").write_text("__global__ void kernel() { int unused; }\n")
    assert build.main([str(tmp_path / "a" / "cuda.so")]) == 3
    assert "unused" in capsys.readouterr().err


def test_a_machine_without_nvcc_gets_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in "CUDA_HOME", "CUDA_PATH":
        monkeypatch.delenv(name, raising=False)
    assert build.main([str(tmp_path / "cuda.so")]) == 3
    assert "there is no nvcc on this machine" in capsys.readouterr().err
    assert build.main([]) == 2
    (tmp_path / "home" / "bin").mkdir(parents=True)
    nvcc = tmp_path / "home" / "bin" / "nvcc"
    nvcc.write_text("#!/bin/sh\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert build.find_nvcc() == str(nvcc)


def test_the_page_lists_every_kernel_in_order():
    header = (KERNELS / "cuda_kernels.h").read_text()
    page = (ROOT / "docs" / "cuda-kernels.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.M) == re.findall(r"^    X\((\w+), ", header, re.M)


# ---- the shim ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """A library with sanitizers, and the environment of a Python that opens it."""
    made = build_shim(tmp_path_factory.mktemp("sanitized"), *SANITIZERS)
    runtime = subprocess.run([find_cpp(), "-print-file-name=libasan.so"], capture_output=True,
                             text=True, check=True).stdout.strip()
    if not os.path.isabs(runtime):
        pytest.skip("this compiler's sanitizer cannot be loaded ahead of Python")
    return {**os.environ, "PUFFER_CUDA_LIBRARY": str(made), "LD_PRELOAD": runtime,
            "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}


def test_no_kernel_steps_beyond_its_arrays(sanitized):
    """All tests of kernels once more, every array in a block of exactly its size."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
         *(str(ROOT / "tests" / name) for name in SUITES)],
        env=sanitized, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"[1-9]\d+ passed", done.stdout)


@pytest.mark.parametrize("short, name", [
    ("x", "heap-buffer-overflow"), ("narrow", "heap-buffer-overflow"), (None, None)])
def test_a_step_beyond_is_seen(sanitized, short, name):
    program = f"""
import numpy as np, os
from pathlib import Path
from cuda_calls import Cuda, blank
sizes = dict.fromkeys(("x", "narrow"), 9)
if {short!r}: sizes[{short!r}] -= 1
cuda = Cuda(Path(os.environ["PUFFER_CUDA_LIBRARY"]))
cuda.floats_narrow(count=9, x=np.ones(sizes["x"], np.float32),
                   narrow=blank(sizes["narrow"], dtype=np.uint16))
"""
    done = subprocess.run([sys.executable, "-c", program], env=sanitized, capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode == 0) == (short is None), done.stderr
    assert short is None or name in done.stderr


def test_a_race_between_threads_is_seen(tmp_path):
    """Without the barriers of a sum over lanes, the order of threads decides what comes out."""
    shutil.copytree(KERNELS, tmp_path / "kernels")
    file = tmp_path / "kernels" / "cuda_common.cuh"
    loop, phase = "for (int half_ = CUDA_LANES / 2; half_; half_ /= 2)", "CUDA_PHASE(thread) "
    text = file.read_text()
    assert loop in text and text.count(phase) == 1
    file.write_text(text.replace(phase, "").replace(loop, phase + loop))
    made = tmp_path / "race.so"
    subprocess.run([find_cpp(), "-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-x", "c++",
                    tmp_path / "kernels" / "cuda_kernels.cu", "-o", made], check=True, timeout=120)
    arguments = {"parts_count": 300, "columns": 2, "parts": np.arange(600.0).reshape(300, 2) ** 2,
                 "sums": blank(2, dtype=np.float64), "floats": None}
    with pytest.raises(AssertionError, match="columns_sum"):
        Cuda(made).columns_sum(**arguments)


def test_shared_memory_that_nobody_wrote_is_not_zero(tmp_path):
    program = tmp_path / "shared.cu"
    program.write_text("""
#include "cuda_common.cuh"
typedef struct { float* x; } Args;
CUDA_KERNEL(read_shared, Args) {
    CUDA_SHARED(float, tile, [4]);
    CUDA_PHASE(thread) a.x[thread] = tile[thread];
}
int main(void) {
    int order[4] = {0, 1, 2, 3}, nan = 0;
    float x[4] = {0};
    ShimBlock block = {0, 1, 4, order};
    Args args = {x};
    read_shared(block, args);
    for (int i = 0; i < 4; i++) nan += x[i] != x[i];
    return nan == 4 ? 0 : 1;
}
""")
    subprocess.run([find_cpp(), "-std=c++17", "-w", "-x", "c++", f"-I{KERNELS}", program, "-o",
                    tmp_path / "shared"], check=True, timeout=60)
    assert subprocess.run([tmp_path / "shared"]).returncode == 0


def test_what_cannot_be_launched_is_refused(tmp_path):
    cuda = Cuda(build_shim(tmp_path))
    for number, blocks, threads in ((-1, 1, 32), (len(cuda.numbers), 1, 32), (0, 0, 32), (0, 1, 0),
                                    (0, 1, 257)):
        assert cuda.lib.cuda_run(number, ffi().NULL, blocks, threads, 0) == -1
    assert cuda.lib.cuda_kernel_name(-1) == ffi().NULL
