"""What goes wrong in an environment: named in a moment, and nothing is left behind."""
import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.short_or_long import some_or_all

import puffer_sdk
from puffer_sdk.base import philox
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.env.seeds import mix_seed
from puffer_sdk.interop.python_envs import monitor

GAMES = SPECIMENS / "python_envs" / "games.py"


def wrap(fault, workers=2, num_envs=4, **options):
    return puffer_sdk.wrap(f"{GAMES}:Count", num_envs, workers=workers, seed=5,
                           keywords={"fault": fault}, **options)


def children(pid: int) -> list[int]:
    return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children")
            for word in path.read_text().split()]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_exception_arrives_as_itself(workers):
    """PufferLib's parent went on waiting; Gymnasium's says EOFError."""
    with wrap("raise", workers) as envs:
        envs.reset()
        envs.step(np.zeros(4))
        envs.step(np.zeros(4))
        with pytest.raises(ValueError, match="no such lever") as raised:
            envs.step(np.zeros(4))
        text = "".join(traceback.format_exception(raised.value))
        assert "games.py" in text and 'raise ValueError("no such lever")' in text
        if sys.version_info >= (3, 11):
            assert f"env 0, seed {envs.env_seed(0)}, step 3" in raised.value.__notes__[0]
        with pytest.raises(ValueError, match="no such lever"):      # it stays so
            envs.step(np.zeros(4))


def test_an_exception_that_cannot_leave_its_process_is_told():
    with puffer_sdk.wrap(f"{GAMES}:unpicklable", workers=1) as envs:
        envs.reset()
        with pytest.raises(RunError, match="raised Odd in step: odd") as raised:
            envs.step([0])
        assert "games.py" in raised.value.detail and "env 0" in raised.value.where


@pytest.mark.parametrize(("fault", "cause"), [("die", "SIGSEGV"), ("exit", r"exit\(3\)")])
def test_a_worker_that_dies_is_named_in_a_second(fault, cause):
    """Because its process is looked at, not because it did not answer in two minutes."""
    with wrap(fault, step_timeout=120) as envs:
        envs.reset()
        envs.step(np.zeros(4))
        envs.step(np.zeros(4))
        began = time.monotonic()
        with pytest.raises(RunError, match=f"ended in step: {cause}") as raised:
            envs.step(np.zeros(4))
        assert time.monotonic() - began < 60 and "step 3" in raised.value.where
        assert monitor.LOOK < 0.5       # seconds between two looks


def test_a_worker_that_hangs_is_named_after_the_timeout():
    with wrap("hang", step_timeout=0.5) as envs:
        envs.reset()
        envs.step(np.zeros(4))
        envs.step(np.zeros(4))
        with pytest.raises(RunError, match="did not return for 0.5 seconds in step") as raised:
            envs.step(np.zeros(4))
        assert f"env 0, seed {envs.env_seed(0)}, step 3" in raised.value.where


SMALL = {"train.horizon": 16, "train.minibatch_size": 128, "vec.total_agents": 8, "train.seed": 7,
         "policy.hidden_size": 16, "train.total_timesteps": 8 * 16 * 2, "vec.reward_scale": 1,
         "train.obs_scale": 1, "vec.num_workers": 0}


@pytest.mark.parametrize(("fault", "at", "says"), [
    ("die", 3, "failed in step: SIGSEGV"), ("exit", 3, r"failed in step: exit\(3\)"),
    ("die", 0, "failed in reset: SIGSEGV")])
def test_a_crash_in_the_trainers_own_process_is_named_as_well(tmp_path, fault, at, says):
    """One copy of eight, and not the first one: without workers nobody is left to ask."""
    victim = mix_seed(philox.env_seed(7, 0, 0), 5)
    with pytest.raises(RunError, match=rf"{says} \(env 5, seed {victim}, step {at}\)") as raised:
        puffer_sdk.train(f"{GAMES}:Count", {**SMALL, "env.fault": fault, "env.at": at,
                                            "env.victim": victim}, runs_dir=tmp_path)
    assert fault == "exit" or "games.py" in raised.value.detail.splitlines()[1]


def test_a_seed_that_is_not_known_any_more_is_not_named(tmp_path):
    """A copy that was made anew has another seed than the one that it began with."""
    with pytest.raises(RunError, match=r"SIGSEGV \(env 0, step 6, after copies were recreated\)"):
        puffer_sdk.train(f"{GAMES}:Worse", {
            **SMALL, "env.once": str(tmp_path / "happened"), "vec.max_restarts": 1,
            "vec.total_agents": 1, "train.minibatch_size": 16}, runs_dir=tmp_path)


def test_a_reset_that_hangs_has_the_longer_limit():
    with puffer_sdk.wrap(f"{GAMES}:Stuck", 2, workers=1, step_timeout=0.1) as envs:
        envs.library.start_timeout = 0.6        # not before: a busy machine starts slowly
        envs._monitor.lanes.c.reset_limit = 600_000_000
        with pytest.raises(RunError, match="did not return for 0.6 seconds in reset") as raised:
            envs.reset()
    assert "start_timeout" in raised.value.hint


def test_an_observation_outside_its_space_is_named():
    with wrap("shape") as envs:
        envs.reset()
        envs.step(np.zeros(4))
        envs.step(np.zeros(4))
        with pytest.raises(RunError, match="another shape than its space") as refused:
            envs.step(np.zeros(4))
        assert (refused.value.expected, refused.value.actual) == ("(3,)", "(4,)")


def test_the_old_interface_is_told_what_to_do():
    with puffer_sdk.wrap(f"{GAMES}:OldGym", workers=1) as envs:
        envs.reset()
        with pytest.raises(UsageError, match="does not return five values") as raised:
            envs.step([0])
        assert "shimmy" in raised.value.hint


def test_a_constructor_that_hangs_or_raises_is_an_error_before_the_first_step():
    def slow():
        import time
        time.sleep(30)
    with pytest.raises(RunError, match="was not created within 1 seconds"):
        puffer_sdk.wrap(slow, workers=1, start_timeout=1.0)
    with pytest.raises(TypeError, match="surprise|keyword"):
        puffer_sdk.wrap(lambda surprise: None, workers=1)
    with pytest.raises(UsageError, match="takes no keyword 'no_such'"):
        puffer_sdk.wrap("gymnasium:CartPole-v1", workers=1, keywords={"no_such": 1})


@pytest.mark.parametrize("workers", [0, 2])
def test_a_flaky_environment_is_made_anew_and_its_episode_is_truncated(workers):
    with wrap("raise", workers, max_restarts=2) as envs:
        envs.reset()
        for step in range(1, 9):
            _, rewards, terminals, truncations = envs.step(np.ones(4))
            cut = step % 3 == 0
            assert terminals.tolist() == truncations.tolist() == [cut] * 4
            assert rewards.tolist() == [not cut] * 4
        with pytest.raises(ValueError, match="no such lever"):
            envs.step(np.ones(4))


def test_closing_leaves_no_process_and_no_memory():
    """The memory is there as long as somebody holds an array of it."""
    before, shared = children(os.getpid()), shared_by(os.getpid())
    envs = wrap("")
    assert len(children(os.getpid())) == len(before) + 2
    (block,) = shared_by(os.getpid()) - shared
    envs.reset()
    envs.close()
    envs.close()
    assert children(os.getpid()) == before
    with pytest.raises(UsageError, match="closed"):
        envs.step()
    del envs
    gc.collect()
    assert not holders(block)


@pytest.mark.parametrize(("fault", "error"), some_or_all([
    ("hang", RunError), ("raise", ValueError), ("die", RunError), ("shape", RunError)], 0, 2))
def test_closing_after_a_fault_leaves_no_process(fault, error):
    """Gymnasium's close() raises after a crash, and leaves a worker."""
    before = children(os.getpid())
    envs = wrap(fault, step_timeout=0.5 if fault == "hang" else 60)
    envs.reset()
    for _ in range(2):
        envs.step(np.zeros(4))
    with pytest.raises(error):
        envs.step(np.zeros(4))
    envs.close()
    assert children(os.getpid()) == before


@pytest.mark.parametrize("first", some_or_all(
    [False, True], 0), ids=some_or_all(["its copies", "the one to look at"], 0))
@pytest.mark.parametrize(("how", "says"), [
    ("raise", "no such lever"), ("kill", "ended while creating"),
    ("hang", "was not created within")])
def test_what_cannot_be_wrapped_leaves_no_process(tmp_path, how, says, first):
    """Before the first step there is nothing that a caller could close."""
    file, before = str(tmp_path / "broken"), children(os.getpid())
    if first:
        Path(file).touch()

    def make():
        from pathlib import Path

        from puffer_sdk.interop.python_envs.makers import find_callable
        env = find_callable(f"{GAMES}:Brittle")(file=file, how=how)
        Path(file).touch()
        return env
    with pytest.raises((RunError, ValueError), match=says):
        puffer_sdk.wrap(make, 4, workers=2, start_timeout=2.0 if how == "hang" else 60)
    assert children(os.getpid()) == before


def test_what_is_refused_leaves_no_process():
    before = children(os.getpid())
    for name, keywords in (("texts", {}), ("OldGym", {"no_such": 1}), ("Count", {"length": "x"})):
        with pytest.raises((UsageError, TypeError)), puffer_sdk.wrap(
                f"{GAMES}:{name}", 2, workers=1, keywords=keywords) as envs:
            envs.reset()
            envs.step([0, 0])
        assert children(os.getpid()) == before


def shared_by(pid: int) -> set[tuple[str, str]]:
    """(device, inode) of each block of rows that a process has mapped. None has a name."""
    lines = [line.split(maxsplit=5) for line in
             Path(f"/proc/{pid}/maps").read_text().splitlines()]
    assert not [line for line in lines if line[-1].startswith("/dev/shm")]
    return {(line[3], line[4]) for line in lines if "memfd:puffer-lanes" in line[-1]}


def holders(block: tuple[str, str]) -> set[int]:
    """The processes that have this block mapped, or a file that is it."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if block in {tuple(line.split(maxsplit=5)[3:5])
                         for line in (folder / "maps").read_text().splitlines()}:
                found.add(int(folder.name))
            for file in (folder / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if "puffer-lanes" in os.readlink(file) and str(file.stat().st_ino) == block[1]:
                        found.add(int(folder.name))
    return found


@pytest.mark.parametrize("number", some_or_all([signal.SIGKILL, signal.SIGINT, signal.SIGHUP], 0))
def test_no_worker_and_no_memory_outlive_their_parent(number):
    """Ctrl-C, a closed terminal, kill -9: in the middle of a step that takes long. The memory has
    no name; it ends with the last process that maps it, or has it open for a replacement."""
    script = ("import puffer_sdk, os, sys\n"
              f"envs = puffer_sdk.wrap({str(GAMES) + ':Count'!r}, 4, workers=2, max_restarts=1, "
              "keywords={'slow': 0.2})\n"
              "envs.reset()\n"
              "print(*[p.popen.pid for p in envs._monitor.processes], flush=True)\n"
              "while True: envs.step([0] * 4)\n")
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        (block,) = shared_by(parent.pid)
        assert shared_by(pids[0]) == shared_by(pids[1]) == {block}
        assert holders(block) == {parent.pid, *pids}
        time.sleep(0.3)
        parent.send_signal(number)
        parent.wait(20)
        for _ in range(100):
            if not any(Path(f"/proc/{pid}").exists() for pid in pids):
                break
            time.sleep(0.1)
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        assert not holders(block)
    finally:
        parent.kill()                       # where something above failed
        parent.wait()
        parent.stdout.close()
