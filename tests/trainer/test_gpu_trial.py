"""A GPU never stops a training that nobody asked to run on it: each failure, imitated, ends with a
trained policy and one sentence."""
import os
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.ppo_fixtures import FakeVec
from helpers.shared import once
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk import Trainer
from puffer_sdk.base.errors import BuildError, PufferError, RunError, UsageError
from puffer_sdk.env import build
from puffer_sdk.env.abi import ffi
from puffer_sdk.env.gpu import programs
from puffer_sdk.env.open_env import make as make_envs
from puffer_sdk.projects import gpu_probes
from puffer_sdk.settings import config
from puffer_sdk.toolchain import cuda_finding, gpu, gpu_kept, libraries
from puffer_sdk.training import backends, checkpoint, train_worker
from puffer_sdk.training import train as training
from puffer_sdk.training.native import cuda, gpu_trial, trainer_library
from puffer_sdk.training.native.gpu_readings import choose_gpus
from puffer_sdk.training.native.native_ppo import NativePPO
from puffer_sdk.training.train_job import TrainJob

pytest_plugins = ["helpers.cuda_places"]

SHORT = {"train.total_timesteps": 2048, "vec.total_agents": 64, "train.horizon": 16,
         "train.minibatch_size": 512, "policy.hidden_size": 16, "eval.goal": "",
         "vec.num_threads": 1}
TWO = (("NVIDIA H100", 9, 0, 80), ("NVIDIA GTX 1080", 6, 1, 8))


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """A cache with the CPU trainer; and the trainer on an emulated GPU."""
    def make(folder):
        (folder / "trainer").mkdir()
        for path in (trainer_library.build_trainer(), cuda.build_emulated()):
            shutil.copy(path, folder / "trainer")
            shutil.copy(libraries.mac_file(path), folder / "trainer")
    return once(tmp_path_factory, "gpu-trial", make)


MAKES = """#!/bin/sh
echo called >> {log}
[ -z "{said}" ] || {{ echo "{said}" >&2; exit 1; }}
for word; do [ "$prior" != -o ] || cat {makes} > "$word"; prior=$word; done
"""


@pytest.fixture
def machine(no_cuda, fake_driver, fake_toolkit, compiled, monkeypatch, tmp_path):
    """machine(**of the driver): a GPU whose compilers make the trainer on an emulated one."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PUFFER_CACHE", str(shutil.copytree(compiled, tmp_path / "cache")))
    monkeypatch.setattr("puffer_sdk.base.ui._warned", set())
    emulated = next((tmp_path / "cache" / "trainer").glob(f"{cuda.EMULATED}-*.so"))
    script = tmp_path / "compiler"
    monkeypatch.setattr(cuda, "trainer_command", lambda *given, **more: [str(script)])

    def make(version="13.0", makes=emulated, said="", archs="80, 90", **driver):
        fake_driver(**{"version" if name == "driver" else name: value
                       for name, value in driver.items()})
        home = fake_toolkit(version, archs=archs)
        (home / "lib" / f"libcublasLt.so.{version.split('.')[0]}").touch()
        monkeypatch.setenv("CUDA_HOME", str(home))
        script.write_text(MAKES.format(makes=makes, said=said, log=tmp_path / "called"))
        script.chmod(0o755)
        return home
    return make


def compile_fake(tmp_path, text):
    """A library that a compiler could have made."""
    source, made = tmp_path / "fake.c", tmp_path / "fake.so"
    source.write_text(text)
    subprocess.run(["/usr/bin/cc", "-shared", "-fPIC", "-w", "-o", made, source], check=True,
                   timeout=60)
    return made


def train(folder, tmp_path, capfd, **settings):
    """(the result, its settings, what was said)"""
    done = training.train(folder, {**SHORT, **settings}, runs_dir=tmp_path / "runs")
    assert done.checkpoint.is_file() and done.steps == 2048
    return done, (done.folder / "config.ini").read_text(), capfd.readouterr().err


@long_only
def test_a_gpu_that_works_is_tried_once(machine, squared, tmp_path, capfd):
    """And only the card that trains is compiled for: the old one is not known to NVRTC."""
    machine(gpus=TWO)
    _, ini, said = train(squared, tmp_path, capfd)
    assert "# auto: an NVIDIA H100 (sm_90), driver for CUDA 13.0\ndevice = cuda" in ini
    assert said.count("testing the GPU, once for this machine ...") == 1
    assert "compiling the trainer for sm_90, once" in said and "warning" not in said
    _, ini, said = train(squared, tmp_path, capfd)
    assert "device = cuda" in ini and "trying" not in said and "compiling" not in said


@long_only
def test_an_old_first_card_leaves_the_second_to_train(machine, squared, tmp_path, capfd,
                                                      monkeypatch):
    machine(gpus=TWO[::-1])
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_GPUS", "2")
    assert gpu.list_usable() == [(1, cuda_finding.Gpu("NVIDIA H100", (9, 0), 80 << 30))]
    assert choose_gpus("cuda", 1) == [1] and choose_gpus("cuda", 2) == [0, 1]
    assert choose_gpus("cpu", 1) == [0] and programs.default_arch() == "90"
    _, ini, said = train(squared, tmp_path, capfd)
    assert "device = cuda" in ini and "compiling the trainer for sm_90, once" in said
    assert gpu_probes.probe_gpu().found.startswith("2 GPUs, of which 1 can train: NVIDIA H100")
    with pytest.raises(UsageError, match="train.gpus requires 2 GPUs, and there is 1"):
        gpu.require_gpus(2)


# ---- failures that last --------------------------------------------------------------------------

CRASH = "__attribute__((constructor)) static void crash(void) { abort(); }"
HANG = "int sleep(int); __attribute__((constructor)) static void hang(void) { sleep(600); }"


@pytest.mark.parametrize("fault, reason", some_or_all([
    ("refuse", "the trainer for GPUs does not compile: identifier rsqrt is undefined"),
    ("crash", "trying the GPU ended with SIGABRT"),
    ("hang", "the GPU did not train a first step within 1 seconds"),
    ("driver", "PUFFER_CUDA_EMULATED is late, early or shuffled, not 'gone'"),
], 0))
def test_a_gpu_that_fails_leaves_the_run_to_the_cpu(machine, squared, tmp_path, capfd, monkeypatch,
                                                    fault, reason):
    crash = {"crash": CRASH, "hang": HANG}.get(fault)
    machine(**({"makes": compile_fake(tmp_path, crash)} if crash else {}),
            said="math.h:3:1: error: identifier rsqrt is undefined" if fault == "refuse" else "")
    if fault == "driver":
        monkeypatch.setenv("PUFFER_CUDA_EMULATED", "gone")
    if fault == "hang":
        monkeypatch.setattr(gpu_trial, "SECONDS", 1)
    _, ini, said = train(squared, tmp_path, capfd)
    assert f"# auto: {reason}\ndevice = cpu" in ini
    sentence = (f"warning: the GPU cannot be used, and the network trains on the CPU: {reason}; "
                "puffer-sdk doctor says more\n")
    assert said.count(sentence) == 1 == said.count("warning") and "Traceback" not in said
    if fault != "refuse":
        return
    # Kept: nothing is compiled again; and told, each time
    (tmp_path / "called").unlink()
    gpu_kept.ui._warned.clear()
    assert config.resolve(squared, SHORT).train.device == "cpu"
    _, ini, said = train(squared, tmp_path, capfd)
    assert f"# auto: {reason}" in ini and said.count(sentence) == 1
    assert not (tmp_path / "called").exists()
    # A GPU that is asked for ends with the error
    with pytest.raises(BuildError, match="the compiler refused the trainer for GPUs") as error:
        training.train(squared, {**SHORT, "train.device": "cuda"}, runs_dir=tmp_path / "asked")
    assert "identifier rsqrt" in error.value.detail and "CUDA's headers" in error.value.hint
    # doctor tries it again, and says more
    (tmp_path / "called").unlink()
    row = gpu_probes.probe_cuda_trainer()
    assert (row.status, row.found) == ("optional", f"training runs on the CPU: {reason}")
    assert "math.h:3:1: error" in row.detail and "CUDA's headers" in row.get
    assert (tmp_path / "called").exists()
    machine()
    assert gpu_probes.probe_cuda_trainer().found == \
        "trains on an NVIDIA H100 (sm_90), driver for CUDA 13.0"


def test_a_driver_of_another_cuda_trains_on_the_cpu(machine, squared, tmp_path, capfd, monkeypatch):
    machine(driver=12040)
    monkeypatch.setattr(cuda_finding, "LISTED", (str(tmp_path),))
    _, ini, said = train(squared, tmp_path, capfd)
    reason = "the driver is for CUDA 12.4, CUDA's runtime is 13.0: it would not run"
    assert f"# auto: {reason}\ndevice = cpu" in ini
    assert said.count(f"the network trains on the CPU: {reason}\n") == 1 == said.count("warning")
    assert "pip install 'puffer-sdk[cuda12]'" in said


def test_what_was_found_is_kept_until_something_changes(machine, fake_driver, monkeypatch,
                                                        tmp_path):
    home = machine()

    def look():
        return gpu_kept.read(gpu.examine())

    assert look() is None
    failed = gpu_kept.Outcome("no", "in 3 lines", "try", gpu_kept.this_boot())
    gpu_kept.write(gpu.examine(), failed)
    assert look() == failed and gpu_kept.choose_device("fp32") == ("cpu", "no")
    assert gpu.choose_device("cuda")[0] == "cuda"           # asked for: it is tried
    for change in (
            lambda: monkeypatch.setenv("CPATH", "/opt/include"),
            lambda: monkeypatch.setattr(gpu_kept, "__version__", "99"),
            lambda: monkeypatch.setattr(gpu_kept.platform, "libc_ver", lambda: ("glibc", "9.9")),
            lambda: monkeypatch.setenv("CC", "/usr/bin/cc -O1"),
            lambda: os.utime(home / "lib" / "libnvrtc.so.13", (1, 1)),
            lambda: os.utime(home / "lib" / "libcublasLt.so.13", (1, 1)),
            lambda: fake_driver(version=13010), lambda: fake_driver(),
            lambda: machine("13.1")):
        change()
        assert look() is None
        gpu_kept.write(gpu.examine(), failed)
        assert look() == failed
    monkeypatch.setattr(gpu_kept, "this_boot", lambda: "another")
    assert look() is None
    assert len(list((tmp_path / "cache" / "trainer").glob("gpu_trial-*"))) == gpu_kept.KEEP
    for broken in ("", "[]", '{"problem": 1}'):
        for file in (tmp_path / "cache" / "trainer").glob("gpu_trial-*"):
            file.write_text(broken)
        assert look() is None


# ---- failures that pass --------------------------------------------------------------------------

@long_only
def test_a_full_gpu_is_tried_again(machine, squared, tmp_path, capfd, monkeypatch):
    """By the next run; and a run that needs more than the trial did goes on on the CPU."""
    machine()
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", "1000")
    _, ini, said = train(squared, tmp_path, capfd)
    assert "MiB of the GPU's are not in use\ndevice = cpu" in ini
    assert said.count("warning") == 1 and "puffer-sdk doctor says more" in said
    gpu_kept.ui._warned.clear()
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(4 << 20))     # enough for the trial
    first, ini, said = train(squared, tmp_path, capfd, **{"policy.hidden_size": 256})
    assert "this takes" in ini and "device = cpu" in ini
    assert said.count("warning: the GPU cannot be used, and the network trains on the CPU: this "
                      "takes") == 1 == said.count("warning")
    assert "on the CPU (this takes" in said
    facts = checkpoint.load(first.checkpoint).facts
    assert facts["config"]["train"]["device"] == "cpu"
    _, ini, said = train(squared, tmp_path, capfd)
    assert "device = cuda" in ini and "trying" not in said


@long_only
def test_a_run_that_was_on_a_gpu_goes_on_on_the_cpu(machine, squared, tmp_path, capfd,
                                                    monkeypatch):
    machine()
    train(squared, tmp_path, capfd)
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", "4000")
    done = training.train(squared, {"train.total_timesteps": 4096}, resume="latest",
                          runs_dir=tmp_path / "runs")
    assert done.steps == 4096 and "device = cpu" in (done.folder / "config.ini").read_text()
    assert capfd.readouterr().err.count("the network trains on the CPU: this takes") == 1
    with pytest.raises(PufferError, match="GPU's are not in use"):
        training.train(squared, {"train.total_timesteps": 8192, "train.device": "cuda"},
                       resume="latest", runs_dir=tmp_path / "runs")


class FakeLink:
    """What a child says, kept; in this process."""

    stop = False

    def __init__(self):
        self.said, self.room = [], ffi().new("PufferWatch[]", 64)
        self.page = SimpleNamespace(watches=np.zeros(64))

    def emit(self, kind, **payload):
        self.said.append((kind, payload))

    def watches(self, arm=True):
        return self.room

    def wait_for_parent(self, behind=0):
        pass

    def restore_descriptors(self):
        pass


def test_a_gpu_that_fails_in_the_first_epoch(squared, tmp_path, monkeypatch):
    """Then it begins again on the CPU, with the same weights; later, or asked for, it is an error.
    """
    monkeypatch.setenv("PUFFER_CUDA", "emulated")
    asked = config.resolve(squared, {**SHORT, "train.device": "cuda"})
    auto = asked.with_auto("train.device", "cuda", "a GPU")
    real = NativePPO.update

    def fail_at(epoch):
        def update(self, *given):
            if self.device == "cuda" and self.epoch == epoch:
                error = RunError("the GPU stopped")
                error.of_gpu = "GPU_STOPPED"
                raise error
            return real(self, *given)
        monkeypatch.setattr(NativePPO, "update", update)

    def work(chosen, name):
        folder, link = tmp_path / name, FakeLink()
        folder.mkdir()
        job = TrainJob.of(build.build(squared), chosen, spec_hash="", resume=None, model=None,
                          checkpoints=folder / "checkpoints", best=folder / "best.safetensors")
        done = train_worker.work(job, link)
        assert done["step"] == 2048
        last = sorted((folder / "checkpoints").iterdir())[-1]
        return [payload for kind, payload in link.said if kind == "device"], checkpoint.load(last)

    told, plain = work(backends.on_cpu(auto, "a CPU"), "cpu")
    assert told == []
    fail_at(0)
    told, got = work(auto, "auto")
    assert told == [{"reason": "the GPU stopped"}]
    assert got.facts["config"]["train"]["device"] == "cpu"
    assert {name: tensor.tobytes() for name, tensor in got.tensors.items()} == \
        {name: tensor.tobytes() for name, tensor in plain.tensors.items()}
    for chosen, epoch in ((asked, 0), (auto, 1)):
        fail_at(epoch)
        with pytest.raises(RunError, match="the GPU stopped"):
            work(chosen, f"at {epoch}")


def test_what_needs_a_gpu_is_no_choice(squared):
    auto = config.resolve(squared).with_auto("train.device", "cuda", "a GPU")
    assert backends.may_leave_gpu(auto)
    for section, name, value in (("vec", "device", "cuda"), ("train", "gpus", 2),
                                 ("train", "async_", True), ("train", "device", "cpu")):
        part = replace(getattr(auto, section), **{name: value})
        assert not backends.may_leave_gpu(replace(auto, **{section: part}))
    assert not backends.may_leave_gpu(config.resolve(squared, {"train.device": "cuda"}))


@pytest.mark.parametrize("said, falls", [("CUDA error: no kernel image is available", True),
                                         ("mat1 and mat2 shapes cannot be multiplied", False)])
def test_pytorchs_gpu_stops_nothing_either(squared, monkeypatch, said, falls):
    """Where PyTorch has no GPU, or one that refuses its work."""
    auto = config.resolve(squared, {"train.backend": "torch", "train.minibatch_size": 64,
                                    "train.horizon": 8, "train.device": "cuda"}
                          ).with_auto("train.device", "cuda", "PyTorch finds a GPU")
    made = backends.make_trainer(FakeVec(), auto)
    assert made.device.type == "cpu"
    assert backends.reason_of(made.config) == "torch cannot use the device 'cuda'"
    there = backends.leave_gpu(auto, RuntimeError(f"{said}\nand more"))
    assert (there is not None) == falls and (not falls or backends.reason_of(there) == said)


def test_your_own_loop_goes_on_on_the_cpu(machine, squared, capfd, monkeypatch):
    machine()
    monkeypatch.setenv("PUFFER_CUDA_EMULATED_MEMORY", str(4 << 20))
    sizes = {name: value for name, value in SHORT.items() if name.startswith("train.")}
    with make_envs(squared, total_agents=64) as vec, Trainer(
            vec, {**sizes, "policy.hidden_size": 256}) as trainer:
        trainer.rollout()
        assert trainer.update() and trainer.config.train.device == "cpu"
    assert capfd.readouterr().err.count("the network trains on the CPU: this takes") == 1


# ---- a card without bf16 -------------------------------------------------------------------------

def test_a_t4_trains_in_fp32(machine, squared, tmp_path, capfd):
    machine("12.5", driver=12040, gpus=(("Tesla T4", 7, 5, 15),), archs="75, 80")
    _, ini, said = train(squared, tmp_path, capfd)
    assert "# auto: a Tesla T4 (sm_75), driver for CUDA 12.4\ndevice = cuda" in ini
    assert "compiling the trainer for sm_75" in said
    reason = "the Tesla T4 (compute capability 7.5) has no bf16, which 8.0 brought"
    with pytest.raises(UsageError, match="cannot train on a GPU: the Tesla T4") as error:
        backends.require(config.resolve(squared, {**SHORT, "train.device": "cuda",
                                                  "train.precision": "bf16"}))
    assert "--train.precision fp32" in error.value.hint and reason in error.value.message
    resolved = config.resolve(squared, {**SHORT, "train.precision": "bf16"})
    assert (resolved.train.device, backends.reason_of(resolved)) == ("cpu", reason)
