"""What CUDA finds on a machine: drivers, compilers, wheels; and why a GPU is chosen, or not."""
import subprocess
import sys

import pytest
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import UsageError
from puffer_sdk.toolchain import cuda_finding, gpu, gpu_kept, nvrtc

pytest_plugins = ["helpers.cuda_places"]


# ---- the driver -------------------------------------------------------------------------------

def test_a_machine_without_a_driver(no_cuda, capfd):
    assert cuda_finding.find_driver() is None
    assert gpu.choose_device("auto") == ("cpu", "no NVIDIA driver on this machine")
    assert gpu.reason() == "no NVIDIA driver on this machine"
    with pytest.raises(UsageError, match="cannot train on a GPU: no NVIDIA driver") as error:
        gpu.choose_device("cuda")
    assert "--train.device cpu" in error.value.hint
    assert gpu.choose_device("cpu") == ("cpu", "train.device is cpu")
    assert capfd.readouterr() == ("", "")


def test_what_a_driver_says(fake_driver):
    fake_driver(version=12040, gpus=(("NVIDIA A100", 8, 0, 40), ("Tesla \\\"P4\\\"", 6, 1, 8)))
    found = cuda_finding.find_driver()
    assert found.version == (12, 4) and found.problem is None
    assert found.gpus == (cuda_finding.Gpu("NVIDIA A100", (8, 0), 40 << 30),
                          cuda_finding.Gpu('Tesla "P4"', (6, 1), 8 << 30))
    assert [gpu.arch for gpu in found.gpus] == ["80", "61"]


@pytest.mark.parametrize("init, said", [
    ("return 803;", "system has unsupported display driver / cuda driver combination"),
    ("return 77;", "error 77"),
    ("abort();", "asking it ended with SIGABRT"),
    ("exit(3);", "asking it ended with exit status 3"),
])
def test_a_driver_that_fails_ends_nobody(fake_driver, init, said, capfd):
    fake_driver(init=init)
    assert cuda_finding.find_driver().problem == said
    device, why = gpu.choose_device("auto")
    assert device == "cpu" and why == f"the NVIDIA driver finds no GPU that it can use: {said}"
    assert capfd.readouterr() == ("", "")


def test_a_driver_that_never_answers_is_given_up(fake_driver, monkeypatch):
    monkeypatch.setattr(cuda_finding, "SECONDS", 1)
    fake_driver(init="for (;;) { volatile int wait = 1; (void)wait; }")
    monkeypatch.setattr(cuda_finding, "LISTED", ())
    assert cuda_finding.find_driver().problem == "it did not answer within 1 seconds"


@long_only
def test_a_driver_whose_gpus_are_listed_has_more_time(fake_driver, monkeypatch, tmp_path, capsys):
    listed = tmp_path / "gpus" / "0000:01:00.0"
    listed.mkdir(parents=True)
    monkeypatch.setattr(cuda_finding, "LISTED", (f"{tmp_path}/gpus/*",))
    monkeypatch.setattr(cuda_finding, "SECONDS", 0.5)
    fake_driver(init="sleep(2); return 0;")
    assert cuda_finding.find_driver().gpus
    assert "did not respond for 0.5 seconds, and this machine lists a GPU" in \
        capsys.readouterr().err
    monkeypatch.setattr(cuda_finding, "PATIENCE", 1.5)
    fake_driver(init="for (;;) sleep(1);")
    assert cuda_finding.find_driver().problem == "it did not answer within 2 seconds"


@pytest.mark.parametrize("listed, hidden, warned", [
    (True, None, True), (False, None, False), (True, "", False), (True, "-1", False)])
def test_training_on_the_cpu_beside_a_gpu_is_said(no_cuda, monkeypatch, capsys, tmp_path, listed,
                                                  hidden, warned):
    monkeypatch.setattr(cuda_finding, "LISTED", (str(tmp_path),) if listed else ())
    monkeypatch.setattr(gpu_kept, "list_gpus", cuda_finding.list_gpus)
    monkeypatch.setattr(gpu_kept.ui, "_warned", set())
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    gpu_kept.warn_of_unused(gpu.reason())
    said = capsys.readouterr().err
    assert said.startswith("warning: this machine lists a GPU, and the network trains on the CPU: "
                           "no NVIDIA driver on this machine\n  hint: ") == warned
    assert warned or not said


def test_a_driver_without_a_gpu(fake_driver):
    fake_driver(gpus=())
    assert gpu.choose_device("auto") == ("cpu", "the NVIDIA driver finds no GPU")


# ---- the runtime ------------------------------------------------------------------------------

def test_the_order_of_runtimes(no_cuda, fake_toolkit, fake_wheels, monkeypatch):
    assert cuda_finding.find_runtime() is None
    monkeypatch.setattr(cuda_finding, "SYSTEM", (str(no_cuda.root / "cuda-*"),))
    for version in ("12.1", "12.2"):
        fake_toolkit(version, f"cuda-{version}")
    assert str(cuda_finding.find_runtime()) == f"12.2 ({no_cuda.root / 'cuda-12.2'})"
    fake_wheels("13.0")
    assert cuda_finding.find_runtime().origin == "wheels"
    assert str(cuda_finding.find_runtime()) == "13.0 (NVIDIA's wheels)"
    on_path = fake_toolkit("12.9", "on path")
    (on_path / "bin").mkdir()
    (on_path / "bin" / "nvcc").write_text("#!/bin/sh\n")
    (on_path / "bin" / "nvcc").chmod(0o755)
    (no_cuda.tools / "nvcc").symlink_to(on_path / "bin" / "nvcc")
    assert cuda_finding.find_runtime().home == on_path
    for name, version in ("CUDA_PATH", "12.5"), ("CUDA_HOME", "12.6"):
        monkeypatch.setenv(name, str(fake_toolkit(version, name)))
        assert cuda_finding.shown(cuda_finding.find_runtime().version) == version
    assert [found.origin for found in cuda_finding.find_runtimes()] == [
        "CUDA_HOME", "CUDA_PATH", "PATH", "wheels", "system", "system"]
    monkeypatch.setenv("CUDA_HOME", str(no_cuda.root / "nowhere"))
    assert cuda_finding.find_runtime().origin == "CUDA_PATH"


@pytest.mark.parametrize("include, library", [
    ("include", "lib/x86_64-linux-gnu"),                                # Debian's
    ("targets/x86_64-linux/include", "targets/x86_64-linux/lib"),
    ("include", "lib64"),
    ("include -> targets/x86_64-linux/include", "lib64 -> targets/x86_64-linux/lib")])  # NVIDIA's
def test_where_a_toolkit_has_its_parts(no_cuda, monkeypatch, include, library):
    home = no_cuda.root / "toolkit"
    monkeypatch.setenv("CUDA_HOME", str(home))
    home.mkdir(parents=True)
    (include, *headers), (library, *libraries) = include.split(" -> "), library.split(" -> ")
    for folder, file in ((include, cuda_finding.HEADER), (library, cuda_finding.LIBRARY)):
        assert cuda_finding.find_runtime() is None
        for real in headers if folder == include else libraries:
            (home / real).mkdir(parents=True, exist_ok=True)
            (home / folder).symlink_to(real)
        (home / folder).mkdir(parents=True, exist_ok=True)
        (home / folder / file).write_text("#define CUDART_VERSION  12060\n")
    found = cuda_finding.find_runtime()
    assert found.version == (12, 6) and found.include == home / include
    assert found.library == home / library / cuda_finding.LIBRARY


def test_a_runtime_that_the_driver_can_follow_comes_first(fake_driver, fake_toolkit, monkeypatch):
    for name, version in ("CUDA_HOME", "13.0"), ("CUDA_PATH", "12.8"):
        monkeypatch.setenv(name, str(fake_toolkit(version, name)))
    fake_driver(version=12040)
    assert cuda_finding.find_runtime(cuda_finding.find_driver()).version == (12, 8)
    assert nvrtc.find().version == (12, 8)
    fake_driver(version=13000)
    assert cuda_finding.find_runtime(cuda_finding.find_driver()).version == (13, 0)
    assert nvrtc.find().version == (13, 0)


# ---- the library of products ------------------------------------------------------------------

def test_where_cublaslt_is_looked_for(no_cuda, fake_toolkit, fake_wheels, monkeypatch):
    home, name = fake_toolkit("13.0"), "libcublasLt.so.13"
    monkeypatch.setenv("CUDA_HOME", str(home))
    runtime = cuda_finding.find_runtime()
    assert cuda_finding.find_cublaslt(13, runtime) is None
    loader, own = no_cuda.root / "loader", no_cuda.root / "own"
    wheels = fake_wheels("13.0")
    for folder in (wheels / "lib", home / "targets" / "x86_64-linux" / "lib", home / "lib64",
                   loader, own):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
        if folder == loader:
            monkeypatch.setenv("LD_LIBRARY_PATH", str(loader))
        if folder == own:
            monkeypatch.setenv("PUFFER_CUBLASLT", str(own))
        assert cuda_finding.find_cublaslt(13, runtime) == folder / name
    monkeypatch.setenv("PUFFER_CUBLASLT", str(own / name))
    assert cuda_finding.find_cublaslt(13, runtime) == own / name
    monkeypatch.setenv("PUFFER_CUBLASLT", str(own / "nothing"))
    assert cuda_finding.find_cublaslt(13, runtime) is None
    assert "PUFFER_CUBLASLT names no" in gpu.cublaslt_problem(None, runtime)[0]


# ---- the choice -------------------------------------------------------------------------------

@pytest.fixture
def gpu_machine(fake_driver, fake_toolkit, monkeypatch):
    """gpu_machine(driver=..., cuda=..., ...): all that a GPU needs, as far as it is told."""
    def make(driver=13000, gpu=("NVIDIA H100", 9, 0, 80), cuda="13.0", cublaslt=True, **about):
        fake_driver(version=driver, gpus=(gpu,))
        if cuda:
            home = fake_toolkit(cuda, **about)
            monkeypatch.setenv("CUDA_HOME", str(home))
            if cublaslt:
                (home / "lib" / f"libcublasLt.so.{cuda.split('.')[0]}").touch()
    return make


CHOICES = [
    ({}, "cuda", "an NVIDIA H100 (sm_90), driver for CUDA 13.0"),
    ({"driver": 13020, "cuda": "12.8"}, "cuda", "an NVIDIA H100 (sm_90), driver for CUDA 13.2"),
    ({"driver": 13000, "cuda": "13.2"}, "cuda", "an NVIDIA H100 (sm_90), driver for CUDA 13.0"),
    ({"gpu": ("Tesla T4", 7, 5, 15), "archs": "75, 80"}, "cuda",
     "a Tesla T4 (sm_75), driver for CUDA 13.0"),
    ({"gpu": ("NVIDIA GTX 1080", 6, 1, 8)}, "cpu",
     "the NVIDIA GTX 1080's compute capability 6.1 is below 7.5"),
    ({"driver": 11040, "cuda": None}, "cpu",
     "the driver is for CUDA 11.4, and 12.0 or newer is needed"),
    ({"driver": 12040}, "cpu",
     "the driver is for CUDA 12.4, CUDA's runtime is 13.0: it would not run"),
    ({"cuda": None}, "cpu", "no CUDA runtime to compile with"),
    ({"cuda": "11.8"}, "cpu", "CUDA's runtime is 11.8, and 12.0 or newer is needed"),
    ({"gpu": ("NVIDIA RTX 5090", 12, 0, 32)}, "cpu",
     "NVRTC 13.0 does not know this GPU (sm_120)"),
    ({"nvrtc": ""}, "cpu", "no NVRTC (libnvrtc.so.13), which compiles for GPUs"),
    ({"driver": 12040, "cuda": "12.4", "nvrtc": "13.0"}, "cpu",
     "the driver is for CUDA 12.4, NVRTC is 13.0: it would not run"),
    ({"cublaslt": False}, "cpu", "no cuBLASLt (libcublasLt.so.13)"),
]


@pytest.mark.parametrize("machine, device, why", CHOICES)
def test_each_choice_has_its_reason(gpu_machine, machine, device, why):
    gpu_machine(**machine)
    assert gpu.choose_device("auto") == (device, why)
    assert gpu.reason() == why
    if device == "cuda":
        assert gpu.choose_device("cuda") == ("cuda", why)
    else:
        with pytest.raises(UsageError) as error:
            gpu.choose_device("cuda")
        assert why in error.value.message and error.value.hint


@pytest.mark.parametrize("driver, cuda, hint", [
    (13000, None, "pip install 'puffer-sdk[cuda]'"),
    (13000, "11.8", "pip install 'puffer-sdk[cuda]'"),
    (14000, None, "pip install 'puffer-sdk[cuda]'"),
    (12040, None, "pip install 'puffer-sdk[cuda12]'"),
    (12040, "11.8", "pip install 'puffer-sdk[cuda12]'"),
    (12040, "13.0", "pip install 'puffer-sdk[cuda12]', or update the driver"),
    (13000, "12.4", "pip install 'puffer-sdk[cuda12]'"),        # the runtime's, for cuBLASLt
    (11080, None, "update the driver, or train on the CPU: --train.device cpu")])
def test_a_hint_names_what_runs_with_the_driver(gpu_machine, driver, cuda, hint):
    gpu_machine(driver=driver, cuda=cuda, cublaslt=False)
    assert gpu.examine().hint == hint


def test_libraries_lie_in_the_wheels_of_cuda_12_too(fake_wheels):
    """One folder for each."""
    home = fake_wheels("12.6")
    assert home.name == "cuda_runtime" and cuda_finding.find_runtime().home == home
    for package, name in (("cublas", "libcublasLt.so.12"), ("cuda_nvrtc", "libnvrtc.so.12")):
        folder = home.parent / package / "lib"
        folder.mkdir(parents=True)
        (folder / name).touch()
    (home / "lib" / "libnvrtc.so.12").unlink()
    assert cuda_finding.find_cublaslt(12) == home.parent / "cublas" / "lib" / "libcublasLt.so.12"
    assert nvrtc.find_file() == home.parent / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"


def test_an_imitated_gpu_is_asked_for(no_cuda, monkeypatch):
    monkeypatch.setenv("PUFFER_CUDA", "emulated")
    assert gpu.choose_device("cuda") == ("cuda", "PUFFER_CUDA=emulated")
    assert gpu.choose_device("auto") == ("cpu", "no NVIDIA driver on this machine")
    assert gpu.choose_device("cpu")[0] == "cpu"
    monkeypatch.setenv("PUFFER_CUDA", "yes")
    with pytest.raises(UsageError, match="PUFFER_CUDA has an invalid value"):
        gpu.choose_device("cuda")


def test_looking_does_not_load_a_driver_into_this_process(fake_driver):
    folder = fake_driver()
    program = ("from puffer_sdk.toolchain import cuda_finding\n"
               "assert cuda_finding.find_driver().gpus\n"
               "print('libcuda' in open('/proc/self/maps').read())")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=60, check=True)
    assert done.stdout.strip() == "False" and folder.exists()
