"""doctor: answers on machines that lack everything, and says how to get it."""
import json
import os
import subprocess
import sys
import time
from importlib import metadata

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk.base import extras
from puffer_sdk.base.errors import BuildError
from puffer_sdk.projects import doctor, gpu_probes, probe_program, probes, raylib_probes
from puffer_sdk.projects.probe_program import Finding
from puffer_sdk.raylib import fetch, headers, recipes
from puffer_sdk.training.native import trainer_library

pytest_plugins = ["helpers.cuda_places"]


def run_doctor(*args, drop=(), **env):
    """The command in a process of its own: (exit status, stdout, stderr)."""
    surroundings = {name: value for name, value in os.environ.items() if name not in drop}
    done = subprocess.run([sys.executable, "-m", "puffer_sdk", "doctor", *args], text=True,
                          capture_output=True, cwd=ROOT, check=False, timeout=60,
                          env={**surroundings, "PYTHONPATH": str(ROOT), **env})
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def by_name(stdout):
    report = json.loads(stdout)
    return report, {item["name"]: item for item in report["findings"]}


def test_a_machine_with_everything(tmp_path):
    status, out, err = run_doctor("--format", "json", drop=("CC",), PUFFER_CACHE=str(tmp_path))
    report, found = by_name(out)
    assert (status, report["ok"], err) == (0, True, "")
    for name in ("python", "compiler", "raylib", "libclang", "cache"):
        assert found[name]["status"] == "ok", found[name]
    assert "headers compile" in found["raylib"]["found"]
    assert found["cache"]["found"] == str(tmp_path)
    assert found["trainer"]["found"] == "not compiled yet; the first training does it"
    assert list(tmp_path.iterdir()) == []                   # looking leaves no trace
    assert [item["name"] for item in report["findings"]] == \
        [probe.__name__.removeprefix("probe_") for probe in doctor.PROBES]


@long_only
def test_the_text_is_aligned_and_has_no_escape_codes(tmp_path):
    status, out, _ = run_doctor(drop=("CC",), PUFFER_CACHE=str(tmp_path))
    assert status == 0
    assert "\x1b" not in out
    rows = [line for line in out.splitlines() if line.startswith("  ok ")]
    assert len(rows) >= 5
    starts = {line.index(line.split()[2], 14) for line in rows}
    assert len(starts) == 1
    assert out.splitlines()[0].startswith("puffer-sdk ")
    assert out.rstrip().endswith("all required dependencies are installed")


@long_only
def test_an_empty_path(tmp_path):
    status, out, _ = run_doctor("--format", "json", drop=("CC",), PATH="",
                                PUFFER_CACHE=str(tmp_path))
    report, found = by_name(out)
    assert (status, report["ok"]) == (1, False)
    assert found["compiler"]["status"] == "missing"
    assert "gcc" in found["compiler"]["get"]
    assert found["raylib"]["status"] == "ok"                # one cause, one finding
    for name in ("make", "git", "cuda", "emscripten", "clang", "valgrind"):
        assert found[name]["status"] == "optional"
        assert found[name]["get"]


@long_only
def test_a_cc_that_is_not_there(tmp_path):
    status, out, _ = run_doctor(CC="no-such-cc", PUFFER_CACHE=str(tmp_path))
    assert status == 1
    assert "missing   compiler" in out
    assert "no-such-cc" in out and "get it: unset CC" in out
    assert out.rstrip().endswith("fix first: compiler")


def test_a_compiler_without_a_c_library(tmp_path, monkeypatch):
    broken = tmp_path / "cc"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "cc (GCC) 12.2.0" && exit 0\n'
                      'echo "hello.c:1:10: fatal error: math.h: No such file" >&2; exit 1\n')
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    found = probes.probe_compiler()
    assert found.status == "missing"
    assert "math.h" in found.found and "gcc" in found.get


def test_a_home_that_cannot_be_written(monkeypatch, capsys):
    monkeypatch.delenv("PUFFER_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    found = probes.probe_cache()
    assert found.status == "optional" and doctor.is_healthy([found])
    assert "/dev/null/.cache/puffer-sdk cannot be written" in found.found
    assert "PUFFER_CACHE" in found.get
    assert capsys.readouterr() == ("", "")


def test_no_place_to_write_at_all(monkeypatch, tmp_path):
    monkeypatch.setattr(probes, "_cannot_write", lambda folder: "Read-only file system")
    found = probes.probe_cache()
    assert found.status == "missing"
    assert not doctor.is_healthy([found])


def test_a_missing_wheel(monkeypatch):
    monkeypatch.setattr(headers, "VARIANTS", ("a_wheel_that_nobody_made",))
    found = raylib_probes.probe_raylib()
    assert (found.status, found.get) == ("missing", f"pip install {headers.PIN}")


def test_which_raylib_serves_which_build(monkeypatch, tmp_path):
    for name in ("PUFFER_RAYLIB", "PUFFER_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "APT", tmp_path)
    (tmp_path / "sources.list").write_text("deb http://mirror.example/debian sid main\n")
    monkeypatch.setattr(fetch, "find_source", lambda **how: pytest.fail("fetched"))
    wanted = (raylib_probes.probe_raylib_desktop, raylib_probes.probe_raylib_headless,
              raylib_probes.probe_raylib_web)
    for probe in wanted:
        found = probe()
        assert found.status == "ok"
        assert found.found == "6.0, fetched at the first build from github.com, else mirror.example"
    monkeypatch.setenv("PUFFER_OFFLINE", "1")
    desktop, headless, web = (probe() for probe in wanted)
    why = "no source in the cache, and PUFFER_OFFLINE is set"
    assert (desktop.status, desktop.found) == ("optional", f"{headers.find_wheel()}, the wheel; "
                                               + why)
    assert (headless.status, headless.found) == ("optional", why) == (web.status, web.found)
    assert all("PUFFER_RAYLIB" in found.get for found in (desktop, headless, web))
    monkeypatch.setattr(fetch, "cached_source", lambda: tmp_path)
    (tmp_path / "raylib.h").write_text('#define RAYLIB_VERSION  "6.0"\n')
    assert {probe().found for probe in wanted} == {"6.0, source from the cache"}
    monkeypatch.setenv("PUFFER_RAYLIB", str(tmp_path / "nowhere"))
    assert {probe().status for probe in wanted} == {"missing"}
    assert "nothing of that name" in raylib_probes.probe_raylib_web().found
    assert not (tmp_path / "cache").exists()


def test_what_windows_and_pages_lack(monkeypatch):
    monkeypatch.setattr(recipes, "_WINDOW", "#include <X11/not_installed.h>\n")
    found = raylib_probes.probe_raylib_desktop()
    assert found.status == "optional" and doctor.is_healthy([found])
    assert found.found == (f"{headers.find_wheel()}, the wheel; windows cannot be compiled here: "
                           "X11/not_installed.h is missing")
    assert "libx11" in found.get.lower()
    monkeypatch.setenv("PATH", "/nowhere")
    assert raylib_probes.probe_raylib_web().found == "needs emscripten"


def test_another_version_of_the_wheel_is_said(monkeypatch):
    real = headers.find_wheel()
    monkeypatch.setattr(headers, "find_wheel",
                        lambda: headers.Wheel("raylib", "6.2.0", real.folder))
    found = raylib_probes.probe_raylib()
    assert found.status == "ok"
    pinned = headers.PIN.partition("==")[2]
    assert f"6.2.0 (tested with {pinned})" in found.found


def test_packages_that_are_not_installed(monkeypatch):
    def nothing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nothing)
    assert probes.probe_libclang().status == "missing"
    torch = probes.probe_torch()
    assert (torch.status, torch.get) == ("optional", extras.install_torch())


def test_the_trainer(monkeypatch):
    made = trainer_library.build_trainer()
    found = probes.probe_trainer()
    assert found.status == "ok" and found.found.startswith("compiled; ")
    assert "generic" in found.found and "bf16" in found.found
    monkeypatch.setattr(probes, "ask", lambda *command: None)
    assert probes.probe_trainer() == Finding(
        "trainer", "missing", f"cannot load {made}", "delete it, and it is compiled again")
    monkeypatch.setattr(trainer_library.trainer_sources, "for_cpu", lambda: (_ for _ in ()).throw(
        BuildError("the sources are not there", where="trainer", hint="install again")))
    assert probes.probe_trainer().status == "missing"
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert probes.probe_trainer().status == "optional"


@pytest.mark.parametrize(("said", "expected"), [
    ("12.8 True", "2.9.0, CUDA 12.8 build, with a usable GPU"),
    ("12.8 False", "2.9.0, CUDA 12.8 build, without a usable GPU"),
    ("none False", "2.9.0, CPU build"),
])
def test_what_torch_can_do(monkeypatch, said, expected):
    monkeypatch.setattr(metadata, "version", lambda name: "2.9.0")
    monkeypatch.setattr(probes, "ask_in_time", lambda *command: said)
    assert probes.probe_torch() == Finding("torch", "ok", expected)


@pytest.mark.parametrize(("module", "status", "expected"), [
    ("raise OSError('libcudart.so.12: not found')", "optional",
     "2.9.0, but importing it failed: libcudart.so.12: not found"),
    ("raise ImportError", "optional", "2.9.0, but importing it failed: ImportError"),
    ("import os; os.abort()", "optional", "2.9.0, but importing it failed: it ended its process"),
    ("import time; time.sleep(600)", "ok", "2.9.0; importing it took more than 1 seconds"),
])
def test_a_torch_that_does_not_import(monkeypatch, tmp_path, module, status, expected):
    (tmp_path / "torch.py").write_text(module + "\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(metadata, "version", lambda name: "2.9.0")
    asked = probe_program.ask_in_time
    if "sleep" in module:
        monkeypatch.setattr(probes, "ask_in_time", lambda *command: asked(*command, seconds=1))
    found = probes.probe_torch()
    assert (found.status, found.found) == (status, expected)
    assert bool(found.get) == (status == "optional")


def test_without_a_driver_the_rows_of_a_gpu_are_short(no_cuda):
    assert gpu_probes.probe_gpu() == Finding("gpu", "optional",
                                                "no NVIDIA driver; training runs on the CPU")
    assert gpu_probes.probe_cuda_trainer() == Finding(
        "cuda_trainer", "optional", "training runs on the CPU: no NVIDIA driver on this machine")
    cuda, cublaslt = gpu_probes.probe_cuda(), gpu_probes.probe_cublaslt()
    assert (cuda.status, cuda.found) == (
        "optional", "no CUDA runtime to compile with; training on an NVIDIA GPU needs it")
    assert (cublaslt.status, cublaslt.found) == ("optional",
                                                 "not looked for: there is no CUDA runtime")
    assert "puffer-sdk[cuda]" in cuda.get and "puffer-sdk[cuda]" in cublaslt.get


def test_the_compiler_for_gpus_has_a_row(monkeypatch, tmp_path):
    found = gpu_probes.probe_nvrtc()
    assert found.status == "ok" and "libnvrtc.so." in found.found
    monkeypatch.setenv("PUFFER_NVRTC", str(tmp_path))
    assert gpu_probes.probe_nvrtc() == Finding(
        "nvrtc", "optional", "PUFFER_NVRTC names a library that does not exist; training on an "
        "NVIDIA GPU needs it", "correct it, or unset it")


def test_rows_of_a_machine_that_trains_on_a_gpu(no_cuda, fake_driver, fake_toolkit, monkeypatch):
    fake_driver(version=13010, gpus=(("NVIDIA H200", 9, 0, 140), ("NVIDIA H200", 9, 0, 140)))
    home = fake_toolkit("13.0")
    monkeypatch.setenv("CUDA_HOME", str(home))
    assert gpu_probes.probe_gpu() == Finding(
        "gpu", "ok", "2 GPUs, the first: NVIDIA H200 (sm_90), 140 GiB, driver for CUDA 13.1")
    assert gpu_probes.probe_cuda() == Finding("cuda", "ok", f"13.0 ({home})")
    assert gpu_probes.probe_nvrtc().found == f"13.0 ({home / 'lib' / 'libnvrtc.so.13'})"
    lacks = gpu_probes.probe_cublaslt()
    assert lacks.found == "no cuBLASLt (libcublasLt.so.13); training on an NVIDIA GPU needs it"
    found = gpu_probes.probe_cuda_trainer()
    assert found.status == "optional" and "no cuBLASLt" in found.found and found.get
    (home / "lib64").mkdir()
    (home / "lib64" / "libcublasLt.so.13").touch()
    assert gpu_probes.probe_cublaslt().found == str(home / "lib64" / "libcublasLt.so.13")


def test_an_imitated_gpu_is_told(no_cuda, monkeypatch):
    monkeypatch.setenv("PUFFER_CUDA", "emulated")
    assert gpu_probes.probe_cuda_trainer().found == "an emulated GPU (PUFFER_CUDA=emulated)"
    monkeypatch.setenv("PUFFER_CUDA", "simulated")
    assert gpu_probes.probe_cuda_trainer().status == "missing"


def test_a_program_that_never_answers_is_given_up(tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    start = time.monotonic()
    assert probe_program.ask(slow, seconds=0.3) is None
    assert time.monotonic() - start < 30
    assert probe_program.ask(tmp_path / "gone") is None


def test_a_probe_that_breaks_does_not_hide_the_others(monkeypatch):
    def probe_moon():
        raise RuntimeError("eclipse")

    monkeypatch.setattr(doctor, "PROBES", (probe_moon, probes.probe_python))
    moon, python = doctor.examine()
    assert (moon.name, moon.status, moon.found) == ("moon", "missing",
                                                    "could not be examined: eclipse")
    assert python.status == "ok"


def test_an_old_python_is_old(monkeypatch):
    monkeypatch.setattr(probes, "OLDEST_PYTHON", (99, 0))
    found = probes.probe_python()
    assert found.status == "old" and "99.0 or newer" in found.found


def test_a_path_that_is_none(monkeypatch):
    monkeypatch.setenv("PUFFER_TRAINER_PATH", "bogus")
    found = probes.probe_trainer()
    assert found.status == "missing" and found.found == "PUFFER_TRAINER_PATH=bogus is not a path"
    assert "avx2" in found.get
