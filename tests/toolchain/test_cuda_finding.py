"""What CUDA finds on a machine: drivers, compilers, wheels; and why a GPU is chosen, or not."""
import subprocess
import sys

import pytest
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.toolchain import cuda_finding, gpu, gpu_kept, nvrtc

pytest_plugins = ["helpers.cuda_places"]

WHEELS = dict.fromkeys(cuda_finding.WHEELS, "13.0.88")


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


# ---- compilers --------------------------------------------------------------------------------

def test_the_order_of_compilers(no_cuda, fake_nvcc, fake_wheels, monkeypatch):
    assert cuda_finding.find_nvcc() is None
    wheels = fake_wheels(WHEELS, nvcc="13.0")
    assert cuda_finding.find_nvcc().origin == "wheels"
    assert str(cuda_finding.find_nvcc()) == "13.0 (NVIDIA's wheels)"
    on_path = fake_nvcc("12.9", "on path")
    monkeypatch.setenv("PATH", f"{no_cuda.tools}:{on_path / 'bin'}")
    assert cuda_finding.find_nvcc().path == str(on_path / "bin" / "nvcc")
    for name, version in ("CUDA_PATH", "12.5"), ("CUDA_HOME", "12.6"):
        monkeypatch.setenv(name, str(fake_nvcc(version, name)))
        assert cuda_finding.shown(cuda_finding.find_nvcc().version) == version
    assert [nvcc.origin for nvcc in cuda_finding.find_nvccs()] == ["CUDA_HOME", "CUDA_PATH",
                                                                  "PATH", "wheels"]
    monkeypatch.setenv("PUFFER_NVCC", str(wheels / "bin" / "nvcc"))
    assert cuda_finding.find_nvcc().origin == "PUFFER_NVCC"
    monkeypatch.setenv("PUFFER_NVCC", str(wheels / "bin" / "no-nvcc"))
    assert cuda_finding.find_nvcc() is None
    assert gpu.nvcc_problem(None)[0] == "PUFFER_NVCC names no nvcc that runs"


def test_a_wrapper_on_path_leads_to_its_toolkit(no_cuda, fake_nvcc):
    home = fake_nvcc("13.0")
    wrapper = no_cuda.tools / "nvcc"
    wrapper.write_text(f'#!/bin/sh\nexec "{home}/bin/nvcc" "$@"\n')
    wrapper.chmod(0o755)
    found = cuda_finding.find_nvcc()
    assert (found.path, found.home, found.version) == (str(wrapper), home, (13, 0))
    assert cuda_finding.list_archs(found) == ["80", "90"]


def test_a_compiler_that_the_driver_can_follow_comes_first(fake_driver, fake_nvcc, monkeypatch):
    for name, version in ("CUDA_HOME", "13.0"), ("CUDA_PATH", "12.8"):
        monkeypatch.setenv(name, str(fake_nvcc(version, name)))
    fake_driver(version=12040)
    assert cuda_finding.find_nvcc(cuda_finding.find_driver()).version == (12, 8)
    fake_driver(version=13000)
    assert cuda_finding.find_nvcc(cuda_finding.find_driver()).version == (13, 0)


@pytest.mark.parametrize("change, problem", [
    ({"nvidia-nvvm": None}, "nvidia-nvvm is not installed"),
    ({"nvidia-nvvm": None, "nvidia-cuda-crt": None},
     "nvidia-nvvm, nvidia-cuda-crt are not installed"),
    ({"nvidia-cuda-crt": "13.1.80"}, "nvidia-cuda-nvcc is 13.0.88, and nvidia-cuda-crt is "
                                     "13.1.80: they must be of one CUDA"),
    ({"nvidia-cuda-runtime": "13.0.96"}, None),
])
def test_wheels_must_be_whole_and_of_one_cuda(fake_wheels, change, problem):
    fake_wheels({name: version for name, version in {**WHEELS, **change}.items() if version})
    assert cuda_finding.wheels_problem() == problem
    assert (cuda_finding.find_nvcc() is None) == (problem is not None)
    if problem:
        assert problem in gpu.nvcc_problem(None)[0]


# ---- the library of products ------------------------------------------------------------------

def test_where_cublaslt_is_looked_for(no_cuda, fake_nvcc, fake_wheels, monkeypatch):
    nvcc_home, name = fake_nvcc("13.0"), "libcublasLt.so.13"
    monkeypatch.setenv("CUDA_HOME", str(nvcc_home))
    nvcc = cuda_finding.find_nvcc()
    assert cuda_finding.find_cublaslt(13, nvcc) is None
    loader, own = no_cuda.root / "loader", no_cuda.root / "own"
    wheels = fake_wheels(WHEELS)
    for folder in (wheels / "lib", nvcc_home / "targets" / "x86_64-linux" / "lib",
                   nvcc_home / "lib64", loader, own):
        folder.mkdir(parents=True)
        (folder / name).touch()
        if folder == loader:
            monkeypatch.setenv("LD_LIBRARY_PATH", str(loader))
        if folder == own:
            monkeypatch.setenv("PUFFER_CUBLASLT", str(own))
        assert cuda_finding.find_cublaslt(13, nvcc) == folder / name
    monkeypatch.setenv("PUFFER_CUBLASLT", str(own / name))
    assert cuda_finding.find_cublaslt(13, nvcc) == own / name
    monkeypatch.setenv("PUFFER_CUBLASLT", str(own / "nothing"))
    assert cuda_finding.find_cublaslt(13, nvcc) is None
    assert "PUFFER_CUBLASLT names no" in gpu.cublaslt_problem(None, nvcc)[0]


# ---- the choice -------------------------------------------------------------------------------

@pytest.fixture
def gpu_machine(fake_driver, fake_nvcc, monkeypatch):
    """gpu_machine(driver=..., nvcc=..., ...): all that a GPU needs, as far as it is told."""
    def make(driver=13000, gpu=("NVIDIA H100", 9, 0, 80), nvcc="13.0", cublaslt=True, **about):
        fake_driver(version=driver, gpus=(gpu,))
        if nvcc:
            home = fake_nvcc(nvcc, **about)
            monkeypatch.setenv("CUDA_HOME", str(home))
            if cublaslt:
                (home / "lib").mkdir()
                (home / "lib" / f"libcublasLt.so.{nvcc.split('.')[0]}").touch()
    return make


CHOICES = [
    ({}, "cuda", "an NVIDIA H100 (sm_90), driver for CUDA 13.0"),
    ({"driver": 13020, "nvcc": "12.8"}, "cuda", "an NVIDIA H100 (sm_90), driver for CUDA 13.2"),
    ({"driver": 13000, "nvcc": "13.2"}, "cuda", "an NVIDIA H100 (sm_90), driver for CUDA 13.0"),
    ({"gpu": ("Tesla T4", 7, 5, 15), "archs": "sm_75\\nsm_80\\n"}, "cuda",
     "a Tesla T4 (sm_75), driver for CUDA 13.0"),
    ({"gpu": ("NVIDIA GTX 1080", 6, 1, 8)}, "cpu",
     "the NVIDIA GTX 1080's compute capability 6.1 is below 7.5"),
    ({"driver": 11040, "nvcc": None}, "cpu",
     "the driver is for CUDA 11.4, and 12.0 or newer is needed"),
    ({"driver": 12040}, "cpu",
     "the driver is for CUDA 12.4, nvcc is 13.0: it would not run"),
    ({"nvcc": None}, "cpu", "no nvcc"),
    ({"nvcc": "11.8"}, "cpu", "nvcc is 11.8, and 12.0 or newer is needed"),
    ({"gpu": ("NVIDIA RTX 5090", 12, 0, 32)}, "cpu",
     "nvcc 13.0 does not know this GPU (sm_120)"),
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


@pytest.mark.parametrize("driver, nvcc, names", [
    (13000, None, ["pip install 'puffer-sdk[cuda]', or install NVIDIA's CUDA toolkit"]),
    (12040, None, ["NVIDIA's newest CUDA toolkit 12", "needs a newer driver"]),
    (12040, "11.8", ["NVIDIA's newest CUDA toolkit 12", "needs a newer driver"]),
    (12040, "13.0", ["update the driver, or install NVIDIA's CUDA toolkit 12"]),
    (12040, "12.4", ["pip install nvidia-cublas-cu12"]),
    (13000, "12.4", ["pip install nvidia-cublas-cu12"]),
    (11080, None, ["update the driver"])])
def test_a_hint_names_what_runs_with_the_driver(gpu_machine, driver, nvcc, names):
    """The extra brings CUDA 13, 1.1 GB that a driver for CUDA 12 runs nothing of."""
    gpu_machine(driver=driver, nvcc=nvcc, cublaslt=False)
    hint = gpu.examine().hint
    assert all(name in hint for name in names)
    assert ("pip install 'puffer-sdk[cuda]'" in hint) <= (driver >= 13000 or "newer driver" in hint)
    with pytest.raises(BuildError, match="no NVRTC") as error:
        nvrtc.find()
    major = 12 if nvcc == "12.4" or (12000 <= driver < 13000 and nvcc != "13.0") else 13
    assert f"libnvrtc.so.{major}" in error.value.message
    assert ("nvidia-cuda-nvrtc-cu12" in error.value.hint) == (major == 12)


def test_libraries_lie_in_the_wheels_of_cuda_12_too(fake_wheels):
    home = fake_wheels({})
    for package, name in (("cublas", "libcublasLt.so.12"), ("cuda_nvrtc", "libnvrtc.so.12")):
        folder = home.parent / package / "lib"
        folder.mkdir(parents=True)
        (folder / name).touch()
    assert cuda_finding.find_cublaslt(12) == home.parent / "cublas" / "lib" / "libcublasLt.so.12"
    assert nvrtc.find_file() == home.parent / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"


def test_nvcc_without_its_host_compiler(gpu_machine, no_cuda):
    gpu_machine()
    (no_cuda.tools / "g++").unlink()
    assert gpu.choose_device("auto") == ("cpu", "nvcc needs g++, which is not there")


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
