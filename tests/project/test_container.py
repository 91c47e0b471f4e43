"""The Dockerfile: linted, and its steps as tools/container.py would run them.

`make container-test` runs them in a clean Debian; that needs the network and some minutes.
"""
from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.places import ROOT

FILE = ROOT / "Dockerfile"


@pytest.fixture(scope="module")
def container():
    spec = importlib.util.spec_from_file_location("container", ROOT / "tools" / "container.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["container"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def steps(container):
    return list(container.plan(container.read(FILE)))


def test_it_is_linted(tmp_path):
    lint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([lint, FILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    bad = tmp_path / "Dockerfile"
    bad.write_text(FILE.read_text().replace("--no-install-recommends", ""))
    assert subprocess.run([lint, bad], capture_output=True).returncode == 1


def test_its_steps(steps):
    assert [word for word, _, _ in steps] == ["FROM", "RUN", "COPY", "RUN", "CMD"]
    assert steps[0][1] == "debian:bookworm-slim"
    assert steps[0][2].user == steps[1][2].user == "root"
    for _, _, state in steps[2:]:               # nothing of ours runs as root
        assert state.user == "puffer" and state.folder == "/home/puffer/puffer-sdk"
    assert steps[-1][2].variables["PATH"].startswith("/home/puffer/puffer-sdk/.venv/bin:/usr/")


def test_it_runs_the_demo_and_has_what_that_needs(container, steps):
    words = container.command_of(*steps[-1][:2])
    assert words == ["make", "demo", "DEMO=/home/puffer/demo"]
    assert "make demo DEMO=/home/puffer/first" in steps[3][1]
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in makefile and "\nDEMO   ?=" in makefile and "\ncontainer-test:" in makefile
    assert "--chown=puffer:puffer" in steps[2][1]
    # Every tool that the demo calls comes out of a package that the file names
    named = set(re.findall(r"[\w+.-]+", steps[1][1].partition("--no-install-recommends")[2]))
    assert {"gcc", "g++", "libc6-dev", "make", "python3", "python3-venv", "git",
            "ca-certificates", "binutils"} <= named


def test_the_cuda_base_is_an_argument(container):
    text = FILE.read_text()
    base = re.search(r"--build-arg BASE=(\S+)", text)[1]
    assert re.fullmatch(r"nvidia/cuda:[\d.]+-devel-ubuntu[\d.]+", base)
    instructions = container.read(FILE)
    assert instructions[0] == ("ARG", "BASE=debian:bookworm-slim")
    assert instructions[1] == ("FROM", "${BASE}")


def test_the_plan_is_what_is_printed(container, steps):
    done = subprocess.run([sys.executable, ROOT / "tools" / "container.py", FILE, "--plan"],
                          capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(steps)
    assert done.stdout.splitlines()[-1].split()[:3] == ["puffer", "/home/puffer/puffer-sdk", "CMD"]


def test_what_it_cannot_read_is_refused(container, tmp_path):
    file = tmp_path / "Dockerfile"
    file.write_text("FROM debian:bookworm\nHEALTHCHECK NONE\n")
    with pytest.raises(SystemExit, match="HEALTHCHECK"):
        container.read(file)
    with pytest.raises(SystemExit, match="only debian images"):
        container.bootstrap(tmp_path, "alpine:3")


def test_without_root_or_debootstrap_it_says_so(tmp_path):
    words = [sys.executable, str(ROOT / "tools" / "container.py"), str(FILE)]
    done = subprocess.run(words, capture_output=True, text=True,
                          env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 2 and "apt-get install debootstrap" in done.stderr


def test_a_step_runs_in_a_root_of_its_own(container, tmp_path):
    """As root, with a tiny root file system: the program sees that one, and leaves nothing."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"],
                                           capture_output=True).returncode:
        return                          # the test above holds what is said then
    root = tmp_path / "root"
    for folder in ("proc", "dev", "home/puffer"):
        (root / folder).mkdir(parents=True)
    shell = "/bin/sh"
    libraries = subprocess.run(["ldd", shell], capture_output=True, text=True).stdout
    for file in {shell, *re.findall(r"(/\S+)", libraries)}:
        place = root / file.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    state = container.State(folder="/home/puffer", variables={"PATH": "/bin", "MARK": "here"})
    container.run_in(root, ["/bin/sh", "-c", "echo $MARK $HOME $PWD > said"], state)
    assert (root / "home/puffer/said").read_text() == "here /root /home/puffer\n"
    assert str(root) not in Path("/proc/self/mountinfo").read_text()
    with pytest.raises(subprocess.CalledProcessError):
        container.run_in(root, ["/bin/sh", "-c", "exit 3"], state)
