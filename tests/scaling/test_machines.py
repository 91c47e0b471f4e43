"""Two machines, stood in for by two network namespaces that a cable joins; and processes that hang.

Only in the long form (conftest.py). Without the right to make namespaces the loopback stands in.
"""
from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import uuid

import pytest
from helpers.groups import TORCHRUN, find_rank
from helpers.playground import COMMAND, descendants, flags, kill, overrides, tensors, wait_until

from puffer_sdk.training import runs

pytest_plugins = ["helpers.playground_fixtures"]
pytestmark = pytest.mark.proof
SETTINGS = {**overrides("SLEEP_IN_STEP", at=2, nap=1), "train.total_timesteps": 24 * 512,
            "base.checkpoint_interval": 4, "train.group_timeout": 10}
PORT = 29411


def ip(*words: object, namespace: str = "") -> None:
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    subprocess.run([*inside, *map(str, words)], check=True, capture_output=True)


class Machines:
    """Two namespaces, 10.77.0.1 and 10.77.0.2, joined through 1 Gbit/s and 1 ms."""

    def __init__(self):
        tag = uuid.uuid4().hex[:6]
        self.names = [f"puffer-{tag}-{number}" for number in (1, 2)]
        self.links = [f"pf{tag}{number}" for number in (1, 2)]

    def __enter__(self) -> Machines:
        try:
            for name in self.names:
                ip("ip", "netns", "add", name)
            ip("ip", "link", "add", self.links[0], "type", "veth", "peer", "name", self.links[1])
            for number, (name, link) in enumerate(zip(self.names, self.links), 1):
                ip("ip", "link", "set", link, "netns", name)
                ip("ip", "addr", "add", f"10.77.0.{number}/24", "dev", link, namespace=name)
                ip("ip", "link", "set", link, "up", namespace=name)
                ip("ip", "link", "set", "lo", "up", namespace=name)
                with contextlib.suppress(subprocess.CalledProcessError):    # a kernel without it
                    ip("tc", "qdisc", "add", "dev", link, "root", "netem", "delay", "1ms", "rate",
                       "1gbit", namespace=name)
        except (OSError, subprocess.CalledProcessError):
            self.__exit__()
            pytest.skip("no network namespaces here")
        return self

    def __exit__(self, *exc) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def cut(self) -> None:
        ip("ip", "link", "set", self.links[1], "down", namespace=self.names[1])

    def start(self, number: int, words: list) -> subprocess.Popen:
        """torchrun's agent of one machine."""
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2",
                    "--nproc-per-node", "1", "--node-rank", str(number), "--master-addr",
                    "10.77.0.1", "--master-port", str(PORT), "-m", "puffer_sdk"]
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[number], *torchrun, *map(str, words)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": self.links[number]})


@contextlib.contextmanager
def ended(*processes):
    yield
    for process in processes:
        for pid in [process.pid, *descendants(process.pid)]:
            kill(pid)
        process.communicate()


def test_two_machines_train_as_two_processes_do_and_a_cut_cable_is_named(faulty, tmp_path):
    quick = {**SETTINGS, "env.fault": 0}
    done = subprocess.run([*COMMAND, "train", faulty, "--runs-dir", tmp_path / "one",
                           *flags(quick), "--train.processes", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    want = tensors(runs.Run(tmp_path / "one/faulty/0001").checkpoints()[-1])
    with Machines() as machines:
        words = ["train", faulty, "--runs-dir", tmp_path / "two", *flags(quick)]
        pair = [machines.start(number, words) for number in (0, 1)]
        with ended(*pair):
            for process in pair:
                out, err = process.communicate(timeout=240)
                assert process.returncode == 0, err
        assert tensors(runs.Run(tmp_path / "two/faulty/0001").checkpoints()[-1]) == want

        words = ["train", faulty, "--runs-dir", tmp_path / "cut", *flags(SETTINGS)]
        pair = [machines.start(number, words) for number in (0, 1)]
        run = runs.Run(tmp_path / "cut/faulty/0001")
        with ended(*pair):
            wait_until(lambda: run.last_metrics().get("epoch", 0) >= 3, 120)
            machines.cut()
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
