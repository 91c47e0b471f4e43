"""macOS without a Mac: what it would compile is compiled for it; Python's other ways are walked.

No Mac has run any of this: .github/workflows/portable.yml lets one try.
"""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk import __main__
from puffer_sdk.base import process_memory, processes
from puffer_sdk.checking.collect.c import wrapped
from puffer_sdk.distributed import cores
from puffer_sdk.env import blocks, child_process
from puffer_sdk.interop.python_envs import cpu_usage, shared_rows
from puffer_sdk.projects import probes
from puffer_sdk.settings import automatic
from puffer_sdk.toolchain import compilers, gpu_kept
from puffer_sdk.training import alive, this_machine

MACH_64 = "cffaedfe"
ENVS = ("breakout", "pendulum", "crowd")


@long_only
@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
def test_what_macos_would_compile_compiles_and_links(machine, tmp_path):
    envs = [shutil.copytree(ROOT / "examples" / name, tmp_path / name) for name in ENVS]
    done = subprocess.run([sys.executable, ROOT / "tests/helpers/as_on_macos.py", machine, tmp_path,
                           *envs], capture_output=True, text=True, timeout=1800,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    made = dict(line.split() for line in done.stdout.splitlines())
    assert set(made.values()) == {MACH_64} and len(made) >= 4 + 2 * len(ENVS), made


def test_one_file_compiles_for_a_mac(tmp_path):
    """The one with most calls of macOS's own; the long form compiles all."""
    play = ROOT / "puffer_sdk" / "checking" / "play"
    done = subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-macos",
                           "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{play}", "-c",
                           play / "system.c", "-o", tmp_path / "system.o"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "system.o").read_bytes()[:4].hex() == MACH_64


@pytest.fixture
def without_proc(monkeypatch):
    """No /proc, no memfd, no affinity, no clocks of other processes: as on macOS."""
    for name in ("memfd_create", "sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    real, listed = open, os.listdir

    def refuse(path):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(2, "No such file or directory", str(path))

    def no_open(path, *words, **options):
        refuse(path)
        return real(path, *words, **options)

    def no_clock(number):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("builtins.open", no_open)
    monkeypatch.setattr("io.open", no_open)
    monkeypatch.setattr(os, "listdir", lambda path=".": (refuse(path), listed(path))[1])
    monkeypatch.setattr(time, "clock_gettime", no_clock)
    monkeypatch.setattr(sys, "platform", "darwin")


def test_what_stands_in_for_linux_only_calls(without_proc, monkeypatch):
    """Each row of docs/why/platforms.md."""
    assert automatic.available_cores() == os.cpu_count()
    assert cores.allowed() == []
    assert (process_memory.used_by(os.getpid()), process_memory.tree(1)) == (0, [1])
    assert (processes.age(), processes.wants_cpu(os.getpid())) == (0.0, False)
    assert processes.cpu_seconds(os.getpid()) == float("inf")
    assert cpu_usage.seconds_of(os.getpid()) == 0.0 and cpu_usage.children(os.getpid()) == []
    assert blocks.available_memory() == 1 << 62
    assert gpu_kept.this_boot() == ""
    assert this_machine._cpu() and compilers.cpu_features_key.__wrapped__()
    monkeypatch.setattr(alive.Path, "exists", lambda self: False)
    assert alive.is_alive(os.getpid(), None) and not alive.is_alive(2 ** 22 + 1, None)
    for make in (child_process._unlinked_file, shared_rows._anonymous_file):
        file = make()
        assert os.fstat(file).st_nlink == 0
        os.close(file)


def test_without_a_signal_of_the_parents_end_a_child_looks(monkeypatch):
    """A grandchild that takes itself for one on macOS ends after its parent."""
    code = ("import os, sys, time; sys.platform = 'darwin'\n"
            "from puffer_sdk.base import processes\n"
            "processes.LOOK = 0.02\n"
            "if not (child := os.fork()):\n"
            "    processes.end_with({0}); time.sleep(60)\n"
            "print(child, flush=True); time.sleep(0.2)")
    code = code.replace("{0}", "os.getppid()")
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=30)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(int(done.stdout), 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    os.kill(int(done.stdout), signal.SIGKILL)
    pytest.fail("it outlives its parent")


def test_doctor_says_what_has_run_here(monkeypatch):
    assert probes.probe_system().status == "ok"
    monkeypatch.setattr(probes.platform, "release", lambda: "5.15.1-microsoft-standard-WSL2")
    assert probes.probe_system().found.endswith(", in WSL")
    monkeypatch.setattr(probes.platform, "system", lambda: "Darwin")
    found = probes.probe_system()
    assert found.status == "optional" and "no Mac has run" in found.found


def test_windows_itself_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "win32")
    assert __main__.run() == 2
    said = capsys.readouterr().err
    assert "does not run on Windows" in said and "WSL" in said and "wsl --install" in said


def test_where_the_linker_wraps_nothing_the_preprocessor_does(tmp_path, monkeypatch):
    assert wrapped.flags((), tmp_path, opened=True)[1][:2] == ["-shared", "-Wl,--wrap=malloc"]
    monkeypatch.setattr(sys, "platform", "darwin")
    compiled, linked = wrapped.flags(("memset",), tmp_path, opened=True)
    assert "-dynamiclib" in linked and not any("--wrap" in word for word in linked)
    source = tmp_path / "env.c"
    source.write_text("#include <stdlib.h>\nvoid* get(struct { int open; }* p) { free(p); "
                      "return malloc((size_t)p->open); }\n")
    done = subprocess.run([*compilers.find_compiler().command, "-w", *compiled, "-E", "-P", source],
                          capture_output=True, text=True, check=True)
    assert "__wrap_free(p)" in done.stdout and "__wrap_malloc(" in done.stdout
