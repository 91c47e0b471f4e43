"""Children of a warm process: as isolated as any, and started in less than half of the time."""
import os
import signal
import time

import pytest
from helpers.playground import alive, wait_until

from puffer_sdk.base.errors import RunError
from puffer_sdk.env.child_process import Child
from puffer_sdk.env.warm import Warm

COUNT = 0


def count(job, link):
    """A target that leaves something behind."""
    global COUNT
    COUNT += job
    return [COUNT, os.getpid(), os.getppid(), os.getcwd(), os.environ.get("OMP_NUM_THREADS")]


def crash(job, link):
    os.kill(os.getpid(), job)


def linger(job, link):
    link.emit("here", pid=os.getpid())
    time.sleep(60)


@pytest.fixture
def warm():
    process = Warm(["numpy", "env.test_warm"], {"OMP_NUM_THREADS": "1"})
    yield process
    process.close()


def run(warm, target, job, **options):
    child = Child(f"env.test_warm:{target}", job, warm=warm, **options)
    events = list(child.events())
    return child.result, events


def test_each_child_starts_with_fresh_globals(warm, tmp_path):
    results = [run(warm, "count", 3, cwd=tmp_path)[0] for _ in range(3)]
    assert [result[0] for result in results] == [3, 3, 3]
    assert len({result[1] for result in results}) == 3          # three processes
    assert {result[2] for result in results} == {warm.process.pid}
    assert {tuple(result[3:]) for result in results} == {(str(tmp_path), "1")}


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_ends_that_child_alone(warm, number):
    first = run(warm, "count", 1)[0]
    with pytest.raises(RunError, match=signal.Signals(number).name):
        run(warm, "crash", int(number))
    assert run(warm, "count", 1)[0][2] == first[2]              # the same warm process


def test_a_warm_process_that_died_is_replaced(warm):
    first = run(warm, "count", 1)[0]
    os.kill(warm.process.pid, signal.SIGKILL)
    assert run(warm, "count", 1)[0][2] != first[2]


def test_a_child_can_be_killed_and_dies_with_the_warm_process(warm):
    for end in (lambda child: child.kill(), lambda child: warm.close()):
        child = Child("env.test_warm:linger", None, warm=warm)
        events = child.events()         # kept: a generator that is dropped ends its child
        pid = next(payload["pid"] for kind, payload in events if kind == "here")
        assert alive(pid)
        end(child)
        wait_until(lambda pid=pid: not alive(pid))
        events.close()
