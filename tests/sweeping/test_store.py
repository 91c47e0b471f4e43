"""The store: what it holds survives its writers, and two workers never get one trial."""
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import Damaged, RunError, UsageError
from puffer_sdk.sweeping import sweep as sweeping
from puffer_sdk.sweeping.storages import Lock, shown
from puffer_sdk.sweeping.store import DONE, FAILED, RUNNING, WAITING, Store
from puffer_sdk.sweeping.sweep_plan import Plan

ROWS = {"train.gamma": {"distribution": "logit_normal", "min": 0.9, "max": 0.999}}
PLAN = Plan(env="toy", rows=ROWS, start={"train.gamma": 0.99}, fixed={}, spec="abc",
            base={"train.horizon": 64, "vec.total_agents": 64})


@pytest.fixture
def journal(tmp_path):
    return str(tmp_path / "journal")


@pytest.fixture
def store(journal):
    return Store(journal, "toy-0001").create(PLAN)


def python(code: str, *args, **options) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
                            stdout=subprocess.PIPE, text=True, **options,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def test_a_plan_and_trials_come_back(journal, store):
    trial = store.add({"train.gamma": 0.99}, reason="because")
    assert store.take(trial)
    assert store.end(trial, DONE, 3.5, cost=2.0, curve=[None, 1.0])
    again = Store(journal, "toy-0001").open()
    assert again.plan() == PLAN
    [found] = again.trials()
    assert (found.state, found.score, found.cost, found.settings) == (
        DONE, 3.5, 2.0, {"train.gamma": 0.99})
    assert found.facts["reason"] == "because" and found.facts["curve"] == [None, 1.0]


def test_one_of_two_workers_gets_a_waiting_trial(journal, store):
    for _ in range(20):
        store.add({"train.gamma": 0.99})
    code = """
        import sys
        from puffer_sdk.sweeping.store import Store
        store = Store(sys.argv[1], "toy-0001").open()
        print(*[t.number for t in store.trials() if t.state == "waiting" and store.take(t)])
    """
    workers = [python(code, journal) for _ in range(3)]
    taken = [number for each in workers for number in each.communicate()[0].split()]
    assert sorted(map(int, taken)) == list(range(20))


def test_a_trial_has_one_result(journal, store):
    trial = store.add({"train.gamma": 0.99}, RUNNING)
    other = Store(journal, "toy-0001").open()
    [same] = other.trials()
    assert store.end(trial, DONE, 1.0, cost=1.0) and not other.end(same, DONE, 2.0, cost=2.0)
    assert not other.put_back(same) and not other.take(same)
    assert [trial.score for trial in store.trials()] == [1.0]


def test_what_a_dead_worker_held_waits_again(journal, store):
    code = """
        import os, sys
        from puffer_sdk.sweeping.store import Store
        store = Store(sys.argv[1], "toy-0001").open()
        store.add({"train.gamma": 0.95}, "running")
        print("ready", flush=True)
        sys.stdin.read()
    """
    worker = python(code, journal, stdin=subprocess.PIPE)
    worker.stdout.readline()
    assert store.reap() == []                       # alive
    worker.kill()
    worker.wait()
    assert [trial.number for trial in store.reap()] == [0]
    [trial] = store.trials()
    assert trial.state == WAITING and trial.settings == {"train.gamma": 0.95}


def test_a_worker_of_another_machine_is_alive_while_it_says_so(journal):
    """By our own clock, however its clock and ours are set."""
    now = [1000.0]
    store = Store(journal, "far-0001", clock=lambda: now[0]).create(PLAN)
    trial = store.add({}, RUNNING)
    store.update(trial, holder={"host": "elsewhere", "pid": 1})
    for seconds, held in ((0, True), (50, True), (20, False)):
        now[0] += seconds
        assert store.is_held(trial) is held
    store.beat(trial)
    assert store.is_held(trial) and store.reap() == []
    now[0] += 61
    assert [each.number for each in store.reap()] == [0]
    # stamps of workers of earlier versions are signs of life as well
    store.take(trial)
    store.update(trial, holder={"host": "elsewhere", "pid": 1}, beat=1.7e9)
    assert store.is_held(trial)


def test_the_lock_dies_with_its_holder_also_against_a_second_worker(journal, store):
    """kill -9 while it is held: whoever waits goes on at once, Optuna's own lock after 30 s."""
    code = """
        import sys, time
        from puffer_sdk.sweeping.storages import Lock
        lock = Lock(sys.argv[1])
        lock.acquire()
        print("held", flush=True)
        time.sleep(60)
    """
    holder = python(code, journal)
    holder.stdout.readline()
    waiting = python("""
        import sys, time
        from puffer_sdk.sweeping.store import Store
        store = Store(sys.argv[1], "toy-0001").open()
        print("waits", flush=True)
        store.add({"train.gamma": 0.9})
        print("wrote", flush=True)
    """, journal)
    waiting.stdout.readline()
    time.sleep(0.3)
    assert waiting.poll() is None and len(store.trials()) == 0      # it waits for the lock
    began = time.monotonic()
    os.kill(holder.pid, signal.SIGKILL)
    assert waiting.stdout.readline() == "wrote\n"
    assert time.monotonic() - began < 20
    holder.wait(), waiting.wait()
    store.add({"train.gamma": 0.9})
    assert [trial.number for trial in store.trials()] == [0, 1]


@pytest.mark.parametrize("tail", [b'{"op_code": 4, "wor', b"\x00" * 700, b"x" * 200_000])
def test_a_journal_cut_in_the_middle_loses_half_a_line(journal, store, tail):
    store.add({"train.gamma": 0.9})
    whole = Path(journal).stat().st_size
    with open(journal, "ab") as file:
        file.write(tail)
    again = Store(journal, "toy-0001").open()
    assert len(again.trials()) == 1
    again.add({"train.gamma": 0.95})
    data = Path(journal).read_bytes()
    assert data[:whole].endswith(b"\n") and data[whole:].startswith(b"{")
    assert len(Store(journal, "toy-0001").open().trials()) == 2
    assert all(json.loads(line) for line in data.splitlines())


def test_a_damaged_line_in_the_middle_is_named(journal, store):
    store.add({"train.gamma": 0.9})
    lines = Path(journal).read_bytes().splitlines(keepends=True)
    with open(journal, "wb") as file:
        file.writelines([lines[0], b"no json\n", *lines[1:]])
    with pytest.raises(Damaged, match="journal is damaged") as damage:
        Store(journal, "toy-0001").open()
    assert damage.value.where == f"{journal}:2"


@long_only
def test_storages_that_do_not_answer(tmp_path):
    for address, told in [("postgresql://nobody@127.0.0.1:1/x", "cannot be reached"),
                          ("grpc://127.0.0.1:1", "cannot be reached"),
                          ("nonsense://x", "cannot be reached"),
                          (str(tmp_path / "no" / "such" / "folder"), "cannot be opened")]:
        with pytest.raises(RunError, match=told):
            Store(address, "toy")


def test_names_that_are_taken_or_missing(journal, store):
    with pytest.raises(UsageError, match="already"):
        Store(journal, "toy-0001").create(PLAN)
    with pytest.raises(UsageError, match="no sweep 'toy-0002'") as caught:
        Store(journal, "toy-0002").open()
    assert "toy-0001" in caught.value.expected


def test_passwords_are_not_shown():
    assert shown("postgresql://me:secret@host/x") == "postgresql://me@host/x"
    assert shown("grpc://host:13") == "grpc://host:13" and shown("/a/b") == "/a/b"


def test_threads_of_one_process_do_not_lose_writes(store):
    threads = [threading.Thread(target=lambda: [store.add({}) for _ in range(10)])
               for _ in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert sorted(trial.number for trial in store.trials()) == list(range(40))


def test_a_failure_keeps_its_reason(store):
    trial = store.add({}, RUNNING)
    store.end(trial, FAILED, error="it crashed")
    assert store.trials()[0].facts["error"] == "it crashed" and store.trials()[0].score is None


def test_the_lock_can_be_taken_again(journal, store):
    lock = Lock(journal)
    for _ in range(3):
        assert lock.acquire()
        lock.release()


def test_two_workers_that_take_the_last_place_at_once_make_one_trial(journal, store, monkeypatch):
    """Both see room, both add: the later one is taken back, and is not counted."""
    from types import SimpleNamespace

    from puffer_sdk.sweeping.sweep_worker import Worker
    plan = Plan(**{**PLAN.to_dict(), "runs": 3, "method": "random"})
    workers = [Worker(Store(journal, "toy-0001").open(), SimpleNamespace(plan=plan))
               for _ in range(2)]
    for _ in range(2):
        store.add({"train.gamma": 0.9}, RUNNING)
    add = Store.add
    monkeypatch.setattr(Store, "add", lambda self, *args, **facts: (
        add(store, {"train.gamma": 0.95}, RUNNING), add(self, *args, **facts))[1])
    assert workers[0].next({"open": True}) is None
    monkeypatch.undo()
    assert workers[1].next({"open": True}) is None
    assert [trial.number for trial in store.trials()] == [0, 1, 2]


def test_a_full_disk_is_said_and_costs_nothing(journal, store):
    """RLIMIT_FSIZE: the journal cannot grow. Later it can."""
    for _ in range(3):
        store.end(store.add({"a": 1}, RUNNING), DONE, 1.0, cost=1.0)
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (Path(journal).stat().st_size + 40, limits[1]))
    try:
        with pytest.raises(RunError, match="journal cannot be written") as raised:
            store.add({"a": 2}, RUNNING)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert "--resume" in raised.value.hint and "large" in raised.value.detail
    store.end(store.add({"a": 3}, RUNNING), DONE, 2.0, cost=1.0)
    again = Store(journal, store.name).open()
    assert [trial.score for trial in again.trials()][:3] == [1.0] * 3
    assert again.trials()[-1].score == 2.0


@long_only
def test_a_database_that_goes_away_is_an_error_of_its_own(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/sweeps.db", "pond-0001").create(PLAN, open=True)
    store.add({"a": 1}, RUNNING)
    with sqlite3.connect(tmp_path / "sweeps.db") as database:
        database.execute("DROP TABLE trials")
    with pytest.raises(RunError, match="no longer responds") as raised:
        store.add({"a": 2}, RUNNING)
    assert "no such table" in raised.value.detail and "--resume" in raised.value.hint


def test_without_optuna_a_sweep_says_what_brings_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    env = ROOT / "tests/specimens/correct/bandit"
    for start in (lambda: sweeping.sweep(env, runs_dir=tmp_path / "runs"),
                  lambda: Store(str(tmp_path / "journal"), "s")):
        with pytest.raises(UsageError) as caught:
            start()
        assert caught.value.where and "optuna" in caught.value.expected
        assert caught.value.actual == "not installed"
        assert caught.value.hint == "pip install 'puffer-sdk[sweep]'"
    assert not list(tmp_path.iterdir())
