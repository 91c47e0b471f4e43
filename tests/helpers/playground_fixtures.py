"""Fixtures over `faulty`, as a plugin: pytest_plugins = ["helpers.playground_fixtures"]"""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.places import SPECIMENS
from helpers.playground import COMMAND, descendants, kill, limit_files

from puffer_sdk.base import philox
from puffer_sdk.cli import main
from puffer_sdk.env import build, open_env


@pytest.fixture(scope="session")
def faulty(tmp_path_factory) -> Path:
    """tests/specimens/faulty, copied and built once."""
    folder = tmp_path_factory.mktemp("envs") / "faulty"
    shutil.copytree(SPECIMENS / "faulty", folder)
    build.build(folder)
    return folder


@pytest.fixture(scope="session")
def first_seeds(faulty) -> list[int]:
    """Seeds of the envs of a run with the settings of faulty.ini, before its first checkpoint."""
    with open_env.make(faulty, total_agents=64, seed=philox.env_seed(42, 0, 0)) as envs:
        return [envs.env_seed(env) for env in range(64)]


@pytest.fixture
def start(tmp_path):
    """start(*args) -> a running `puffer-sdk ...`, ended with all it started when the test ends."""
    begun = []

    def go(*args, **options) -> subprocess.Popen:
        options = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   "text": True, "start_new_session": True, **options}
        begun.append(subprocess.Popen([*COMMAND, *map(str, args)], **options))
        return begun[-1]

    yield go
    for process in begun:
        for pid in [process.pid, *descendants(process.pid)]:
            kill(pid)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


@pytest.fixture
def cli(request, start, tmp_path, monkeypatch):
    """cli(*args) -> the finished `puffer-sdk ...`: returncode, stdout, stderr.

    In this process; in one of its own where it gets an environment or streams.
    """
    capture = request.getfixturevalue("capsys" if "capsys" in request.fixturenames else "capfd")

    def go(*args, cwd: Path = tmp_path, timeout: float = 60, **options
           ) -> subprocess.CompletedProcess:
        if options:
            process = start(*args, cwd=cwd, **options)
            out, err = process.communicate(timeout=timeout)
            return subprocess.CompletedProcess(args, process.returncode, out, err)
        capture.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            try:
                status = main(list(map(str, args)))
            except SystemExit as ended:
                status = ended.code
        return subprocess.CompletedProcess(args, status, *capture.readouterr())

    return go


@pytest.fixture
def small_disk(tmp_path):
    """(folder, options for a process): some 200 KB fit; or, where nothing may be mounted, a limit
    on each file, which a checkpoint of hidden_size 512 exceeds."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", folder],
                             capture_output=True, check=False).returncode == 0
    yield folder, {} if mounted else {"preexec_fn": limit_files}
    if mounted:
        subprocess.run(["umount", "-l", folder], check=True)
