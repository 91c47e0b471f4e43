"""Two machines, stood in for by two network namespaces behind a switch; and processes that hang.

Only in the long form (conftest.py). Without the right to make namespaces the loopback stands in,
and a process that is stopped for a cable that is pulled.
"""
from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest
from helpers.groups import TORCHRUN, find_rank, free_port
from helpers.playground import COMMAND, descendants, flags, kill, overrides, tensors, wait_until
from machines import Machines, NoMachines

from puffer_sdk.training import runs

pytest_plugins = ["helpers.playground_fixtures"]
pytestmark = pytest.mark.long
SETTINGS = {**overrides("SLEEP_IN_STEP", at=2, nap=1), "train.total_timesteps": 24 * 512,
            "base.checkpoint_interval": 4, "train.group_timeout": 10}


class Loopback:
    """What stands in for Machines."""

    def __init__(self):
        self.started: list[subprocess.Popen] = []

    def address(self, number: int) -> str:
        return "127.0.0.1"

    def start(self, number: int, words: list, **options) -> subprocess.Popen:
        self.started.append(subprocess.Popen([str(word) for word in words], **options))
        return self.started[-1]

    def cut(self, number: int) -> None:
        os.kill(find_rank(self.started[number].pid, number)[1], signal.SIGSTOP)


@pytest.fixture
def machines():
    """Two, joined through 1 Gbit/s and 1 ms."""
    try:
        with Machines(2) as made:
            yield made
    except NoMachines:
        yield Loopback()


def start_pair(machines, *words) -> list[subprocess.Popen]:
    """torchrun's agents of both, with the same command."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node",
              "1", "--master-addr", machines.address(0), "--master-port", free_port()]
    return [machines.start(number, [*launch, "--node-rank", number, "-m", "puffer_sdk", *words],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           start_new_session=True) for number in (0, 1)]


@contextlib.contextmanager
def ended(*processes):
    yield
    for process in processes:
        for pid in [process.pid, *descendants(process.pid)]:
            kill(pid)
        process.communicate()


def test_two_machines_train_as_two_processes_do(faulty, machines, tmp_path):
    quick = {**SETTINGS, "env.fault": 0}
    done = subprocess.run([*COMMAND, "train", faulty, "--runs-dir", tmp_path / "one",
                           *flags(quick), "--train.processes", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pair = start_pair(machines, "train", faulty, "--runs-dir", tmp_path / "two", *flags(quick))
    with ended(*pair):
        for process in pair:
            out, err = process.communicate(timeout=240)
            assert process.returncode == 0, err
    one, two = (tensors(runs.Run(tmp_path / name / "faulty/0001").checkpoints()[-1])
                for name in ("one", "two"))
    assert one == two


def test_a_cut_cable_is_named(faulty, machines, tmp_path):
    pair = start_pair(machines, "train", faulty, "--runs-dir", tmp_path, *flags(SETTINGS))
    run = runs.Run(tmp_path / "faulty/0001")
    with ended(*pair):
        wait_until(lambda: run.last_metrics().get("epoch", 0) >= 3, 120)
        machines.cut(1)
        _, err = pair[0].communicate(timeout=120)
    assert re.search(r"rank 1 on \S+ hangs, or its network is cut: no answer for", err), err
    assert run.status == "failed" and run.checkpoints()


def test_a_stopped_process_is_named_and_the_others_end(faulty, start, tmp_path):
    process = subprocess.Popen(
        [*TORCHRUN, "--nproc-per-node", "2", "-m", "puffer_sdk", "train", faulty, "--runs-dir",
         tmp_path, *flags(SETTINGS)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True)
    run = runs.Run(tmp_path / "faulty/0001")
    with ended(process):
        wait_until(lambda: run.last_metrics().get("epoch", 0) >= 3, 120)
        os.kill(find_rank(process.pid, 1)[1], signal.SIGSTOP)
        wait_until(lambda: run.status == "failed", 60)
        for pid in descendants(process.pid):
            kill(pid)
        _, err = process.communicate(timeout=60)
    assert re.search(r"rank 1 on \S+ (hangs|: the environment)", err), err
