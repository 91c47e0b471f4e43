"""The CUDA trainer compiles for GPUs; the host shim sees what it is there to see."""
import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from helpers.cublaslt_header import cublaslt_header
from helpers.cuda_calls import SANITIZERS, Cuda, blank, build_shim, ffi, find_cpp
from helpers.kernel_library import KERNELS
from helpers.places import ROOT
from helpers.short_or_long import LONG, long_only, some_or_all

from puffer_sdk.base.errors import BuildError, RunError
from puffer_sdk.toolchain import cuda_finding, libraries
from puffer_sdk.training.native import cuda as build
from puffer_sdk.training.native import trainer_sources

pytest_plugins = ["helpers.cuda_places"]

SUITES = ("test_cuda_network.py", "test_cuda_updates.py")
CUDAS = (12, 13)                        # whose wheels the development requirements bring
# A C compiler whose output is any file
ANY = """#!/bin/sh
case "$*" in *--version*) echo "any 1.0"; exit ;; esac
for word; do [ "$prior" != -o ] || cat /bin/true > "$word"; prior=$word; done
"""


def runtime_of(cuda):
    """That of the wheels of this CUDA."""
    return next(found for found in cuda_finding.find_runtimes() if found.version[0] == cuda)



@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """What `make cuda` makes, and what it says. Short: for one generation of four, as it is made
    for one GPU."""
    made = tmp_path_factory.mktemp("cuda") / "a" / "puffer_cuda.so"
    some = [] if LONG else ["--arch", "90"]
    done = subprocess.run([sys.executable, "-m", "puffer_sdk.training.native.cuda", made, *some],
                          text=True, capture_output=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr[-3000:]
    return made, done.stderr


@long_only
def test_the_trainer_compiles_for_four_generations_without_a_warning(whole):
    made, said = whole
    assert said.splitlines()[-1].startswith("compiled for sm_75, sm_80, sm_90, sm_120: ")
    assert " -Werror " in said and "warning:" not in said
    assert made.read_bytes().count(b"\x7fELF\x02") >= 1 + len(build.ARCHS)


@pytest.mark.long
def test_the_trainer_needs_nothing_of_cuda_to_load(whole):
    """No driver, no cuBLAS, no CUDA library: they are looked for when a GPU is opened."""
    made, said = whole
    assert " -Werror " in said and "warning:" not in said
    listed = subprocess.run(["readelf", "-d", made], capture_output=True, text=True, check=True)
    needed = re.findall(r"NEEDED.*\[(.+)\]", listed.stdout)
    assert needed and not [name for name in needed if re.search("cuda|cublas|nv", name)]
    code = f"import ctypes, os; ctypes.CDLL({str(made)!r}, mode=os.RTLD_NOW)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    exported = subprocess.run(["nm", "-D", "--defined-only", made], capture_output=True, text=True,
                              check=True).stdout.split()[2::3]
    assert [name for name in exported if not name.startswith("puffer_trainer_")] == []


@pytest.mark.long
@pytest.mark.parametrize("cuda", CUDAS)
def test_the_runtime_alone_is_enough(cuda, tmp_path, monkeypatch):
    """Its headers include one of nvcc's, which is not there: the project's stands in for it. And
    cubins of two generations lie in one library."""
    home = tmp_path / "runtime"
    (home / "lib").mkdir(parents=True)
    shutil.copytree(runtime_of(cuda).include, home / "include",
                    ignore=shutil.ignore_patterns("crt", "cccl", "thrust", "cub"))
    (home / "lib" / cuda_finding.LIBRARY).symlink_to(runtime_of(cuda).library)
    monkeypatch.setenv("CUDA_HOME", str(home))
    monkeypatch.setattr(build.nvrtc, "_majors", lambda: [cuda, 13])
    monkeypatch.setattr(build, "compile_kernels", functools.cache(build.compile_kernels))
    assert cuda_finding.find_runtime().version[0] == cuda
    build.build_with_kernels(tmp_path / "device.so", ("90",), trainer_sources.for_cuda()[:2],
                             "the device layer", strict=True)
    archs = ("80", "90") if LONG or cuda == CUDAS[-1] else ("90",)
    made = build.build_kernels(tmp_path / "cuda.so", archs, strict=True)
    assert made.read_bytes().count(b"\x7fELF\x02") >= 1 + len(archs)      # its own, and the cubins'
    library = Cuda(made)
    assert library.lib.cuda_kind() == library.lib.CUDA_DEVICE and not library.exact
    assert library.lib.cuda_devices() >= 0                  # without a driver: 0, and no crash
    text = (KERNELS / "cuda" / "contract.h").read_text()
    assert list(library.numbers) == re.findall(r"^    X\((\w+), ", text, re.M)
    if not library.lib.cuda_devices():
        assert library.lib.cuda_take(64) == ffi().NULL
        assert library.lib.cuda_run(0, ffi().NULL, 1, 1, 0) == -1


@pytest.mark.parametrize("old, new", [
    ("", ""), ("CUBLASLT_MATMUL_DESC_TRANSB = 4", "CUBLASLT_MATMUL_DESC_TRANSB = 5"),
    ("uint64_t data[8]", "uint64_t data[9]"),
    ("uint64_t rows, uint64_t cols", "uint64_t rows, int cols")])
def test_cublaslt_is_declared_as_nvidia_declares_it(old, new, tmp_path):
    """Its numbers, structs and signatures; and what differs does not compile."""
    text = cublaslt_header()
    assert old in text
    (tmp_path / "nv").mkdir()
    (tmp_path / "nv" / "target").touch()
    (tmp_path / "cublasLt.h").write_text(text.replace(old, new) if old else text)
    (tmp_path / "same.cc").write_text('#include "trainer/device/cuda/cublaslt.h"\n')
    done = subprocess.run(
        [find_cpp(), "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", "-DPUFFER_STRICT",
         f"-I{tmp_path}", f"-I{ROOT}", "-isystem", runtime_of(13).include, "-isystem",
         trainer_sources.runtime_headers(), tmp_path / "same.cc"],
        capture_output=True, text=True, timeout=60)
    assert (done.returncode != 0) == bool(old), done.stderr[-2000:]
    assert not old or "static assertion failed" in done.stderr


# ---- the command, by compilers that make any file -----------------------------------------------


@pytest.fixture
def gpu(no_cuda, fake_driver, fake_toolkit, monkeypatch):
    """A machine with a GPU, and the toolkit's folder."""
    fake_driver(gpus=(("NVIDIA H100", 9, 0, 80), ("NVIDIA A100", 8, 0, 40)))
    home = fake_toolkit("13.0", archs="80, 90, 120")
    monkeypatch.setenv("CUDA_HOME", str(home))
    compiler = no_cuda.tools / "any"
    compiler.write_text(ANY)
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("PATH", f"{no_cuda.tools}:/usr/bin:/bin")
    return home


def test_one_command_once_for_the_gpus_that_are_there(gpu, capsys):
    made = build.build_cuda_trainer(verbose=True)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "compiling the trainer for sm_80, sm_90, once for this machine ..."
    assert len(said) == 2 and "launch.cc" in said[1] and "cubins.cc -x c" in said[1]
    assert f"{gpu / 'lib' / cuda_finding.LIBRARY} -lstdc++" in said[1] and "Werror" not in said[1]
    assert made.parent == gpu.parent / "cache" / "trainer" and libraries.is_intact(made)
    assert build.build_cuda_trainer() == made
    assert capsys.readouterr().err == ""
    assert build.build_cuda_trainer(["120"]) != made


def test_the_key_covers_what_the_library_depends_on(gpu, fake_toolkit, monkeypatch, tmp_path):
    sources = shutil.copytree(KERNELS, tmp_path / "kernels")
    trainer = shutil.copytree(ROOT / "trainer", tmp_path / "trainer")
    real = build.paths.data_dir
    monkeypatch.setattr(build.paths, "data_dir", lambda name: {
        "kernels": sources, "trainer": trainer}.get(name) or real(name))
    names = [build.build_cuda_trainer().name]

    def changed() -> None:
        names.append(build.build_cuda_trainer().name)

    for path in (sources / "cuda" / "layers.cuh", sources / "cuda" / "kernels.cu",
                 trainer / "device" / "device.h", trainer / "common" / "arena.c"):
        path.write_text(path.read_text() + "\n")
        changed()
    (trainer / "cuda" / "more.c").write_text("int more;\n")
    changed()
    monkeypatch.setattr(build, "TRAINER_FLAGS", (*build.TRAINER_FLAGS, "-DX"))
    changed()
    monkeypatch.setattr(build, "NVRTC_FLAGS", (*build.NVRTC_FLAGS, "-DX"))
    changed()
    (gpu / "lib" / "libcublasLt.so.13").touch()
    changed()
    fake_toolkit("13.1")
    changed()
    assert len(set(names)) == len(names) == 10
    (trainer / "device" / "emulated" / "device.cc").write_text("// not of this library\n")
    assert build.build_cuda_trainer().name == names[-1]


def test_cublaslt_beside_the_runtime_is_where_the_library_looks(gpu, monkeypatch, tmp_path):
    def command():
        words = build.trainer_command(cuda_finding.find_runtime(), tmp_path / "cubins.cc")
        return " ".join(map(str, words))

    assert "-rpath" not in command()
    (gpu / "lib" / "libcublasLt.so.13").touch()
    assert f"-Xlinker -rpath={gpu / 'lib'}" in command()
    monkeypatch.setenv("PUFFER_CUBLASLT", str(gpu / "lib"))
    assert "-rpath" not in command()


@pytest.mark.parametrize("by, text, hint", [
    ("cc", f"{ROOT}/trainer/cuda/two.c:3:1: error: no", "please report"),
    ("cc", "/opt/cuda/include/driver_types.h:3:1: error: no", "does not work with CUDA's headers"),
    ("nvrtc", "kernels/cuda/layers.cuh(3): error: no", "please report")])
def test_what_a_compiler_says_comes_with_a_hint(gpu, fake_toolkit, no_cuda, by, text, hint):
    if by == "nvrtc":
        fake_toolkit("13.0", said=text)
    else:
        (no_cuda.tools / "any").write_text(ANY.replace("for", f"echo '{text}'; exit 1; for"))
    with pytest.raises(BuildError, match="refused the trainer") as error:
        build.build_cuda_trainer()
    assert hint in error.value.hint and "--train.device cpu" in error.value.hint
    assert "error: no" in error.value.detail


def test_a_library_that_does_not_load_is_compiled_once_more(gpu, capsys):
    with pytest.raises(RunError, match="cannot load the GPU trainer") as error:
        build.library()
    assert "--train.device cpu" in error.value.hint and error.value.of_gpu == "FAILED"
    assert capsys.readouterr().err.count("compiling the trainer") == 2


def test_a_machine_without_a_gpu_names_one(no_cuda, gpu, fake_driver, monkeypatch, capsys):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    with pytest.raises(BuildError, match="there is no GPU") as error:
        build.build_cuda_trainer()
    assert "--arch 90" in error.value.hint
    monkeypatch.setattr(build.paths, "shown", str)
    made = no_cuda.root / "made" / "cuda.so"
    assert build.main([str(made), "--arch", "90", "--arch", "100"]) == 0
    assert f"compiled for sm_90, sm_100: {made}" in capsys.readouterr().err and made.exists()


def test_a_machine_without_cuda_gets_a_sentence(no_cuda, capsys):
    assert build.main([str(no_cuda.root / "cuda.so")]) == 3
    said = capsys.readouterr().err
    assert "cannot compile the GPU trainer: no CUDA runtime to compile with" in said
    assert "pip install 'puffer-sdk[cuda]'" in said


def test_the_emulated_library_is_the_same_but_for_its_device(tmp_path, monkeypatch, capsys):
    """C and C++ in one command of the host's compiler; nothing is missing in it."""
    texts = {"kernels/cuda/kernels.cu": '#include "trainer/cuda/two.h"\n'
                                    'int one() { return ONE; }\n',
             "trainer/device/emulated/device.cc": "int one();\n"
             'extern "C" int two(void) { return 1 + one(); }\n',
             "trainer/cuda/two.h": "#define ONE 1\n",
             "trainer/common/arena.c": "int two(void);\n"
             '__attribute__((visibility("default"))) int three(void) { return 1 + two(); }\n',
             "trainer/common/pool.c": "int pool;\n"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build.paths, "data_dir", lambda name: tmp_path / name)
    made = build.build_emulated(verbose=True)
    assert ctypes.CDLL(str(made)).three() == 3
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert build.build_emulated() == made
    (tmp_path / "trainer/cuda/two.h").write_text("#define ONE 11\n")
    assert ctypes.CDLL(str(build.build_emulated())).three() == 13
    (tmp_path / "trainer/cuda/more.c").write_text("void nobody(void);\n"
                                                  "void f(void) { nobody(); }\n")
    with pytest.raises(BuildError, match="the compiler refused the emulated trainer"):
        build.build_emulated()


@pytest.mark.parametrize("extra, wheels", [
    ("cuda", {"nvidia-cuda-runtime", "nvidia-cublas", "nvidia-cuda-nvrtc"}),
    ("cuda12", {"nvidia-cuda-runtime-cu12", "nvidia-cublas-cu12", "nvidia-cuda-nvrtc-cu12"})])
def test_an_extra_brings_one_cuda(extra, wheels):
    """Each within one major version: they must fit each other, and one driver must run them."""
    text = (ROOT / "pyproject.toml").read_text()
    listed = re.search(rf"^{extra} = \[\n(.*?)^\]", text, re.M | re.S)[1]
    found = re.findall(r'"(nvidia-[\w-]+)>=(\d+)[.\d]*,<(\d+)', listed)
    assert {name for name, _, _ in found} == wheels
    assert {(int(low), int(high)) for _, low, high in found} == \
        {(int(extra[4:] or 13), int(extra[4:] or 13) + 1)}
    assert cuda_finding.EXTRAS[int(extra[4:] or 13)] == extra


def test_the_page_lists_every_kernel_in_order():
    header = (KERNELS / "cuda" / "contract.h").read_text()
    page = (ROOT / "docs" / "trainer" / "cuda-kernels.md").read_text()
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


@long_only
def test_no_kernel_steps_beyond_its_arrays(sanitized):
    """All tests of kernels once more, every array in a block of exactly its size."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
         *(str(ROOT / "tests" / "kernels" / name) for name in SUITES)],
        env=sanitized, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"[1-9]\d+ passed", done.stdout)


@pytest.mark.parametrize("short, name", some_or_all([
    ("x", "heap-buffer-overflow"), ("narrow", "heap-buffer-overflow"), (None, None)], 0))
def test_a_step_beyond_is_seen(sanitized, short, name):
    program = f"""
import numpy as np, os
from pathlib import Path
from helpers.cublaslt_header import cublaslt_header
from helpers.cuda_calls import Cuda, blank
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
    file = tmp_path / "kernels" / "cuda" / "common.cuh"
    loop, phase = "for (int half_ = CUDA_LANES / 2; half_; half_ /= 2)", "CUDA_PHASE(thread) "
    text = file.read_text()
    assert loop in text and text.count(phase) == 1
    file.write_text(text.replace(phase, "").replace(loop, phase + loop))
    made = tmp_path / "race.so"
    subprocess.run([find_cpp(), "-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-x", "c++",
                    f"-I{tmp_path}", tmp_path / "kernels" / "cuda" / "kernels.cu", "-o", made],
                   check=True, timeout=120)
    arguments = {"parts_count": 300, "columns": 2, "parts": np.arange(600.0).reshape(300, 2) ** 2,
                 "sums": blank(2, dtype=np.float64), "floats": None}
    with pytest.raises(AssertionError, match="columns_sum"):
        Cuda(made).columns_sum(**arguments)


def test_shared_memory_that_nobody_wrote_is_not_zero(tmp_path):
    program = tmp_path / "shared.cu"
    program.write_text("""
#include "kernels/cuda/common.cuh"
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
    subprocess.run([find_cpp(), "-std=c++17", "-w", "-x", "c++", f"-I{KERNELS.parent}", program,
                    "-o", tmp_path / "shared"], check=True, timeout=60)
    assert subprocess.run([tmp_path / "shared"]).returncode == 0


def test_what_cannot_be_launched_is_refused(tmp_path):
    cuda = Cuda(build_shim(tmp_path))
    for number, blocks, threads in ((-1, 1, 32), (len(cuda.numbers), 1, 32), (0, 0, 32), (0, 1, 0),
                                    (0, 1, 257)):
        assert cuda.lib.cuda_run(number, ffi().NULL, blocks, threads, 0) == -1
    assert cuda.lib.cuda_kernel_name(-1) == ffi().NULL
