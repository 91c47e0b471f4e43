"""Sweeps whose workers and clock are pretended: they end in time whatever the load, and say why."""
import os
import random
import re
from types import SimpleNamespace

import pytest
from helpers.short_or_long import some_or_all

from puffer_sdk.base.errors import UsageError
from puffer_sdk.sweeping import supervisor as supervising
from puffer_sdk.sweeping.board import Board
from puffer_sdk.sweeping.schedule import Schedule
from puffer_sdk.sweeping.storages import journal_of
from puffer_sdk.sweeping.store import DONE, FAILED, RUNNING, Store, Stored
from puffer_sdk.sweeping.supervisor import Supervisor
from puffer_sdk.sweeping.sweep_plan import Plan
from puffer_sdk.sweeping.sweep_worker import Worker, is_cut
from puffer_sdk.sweeping.verdict import untried

STEPS, RATE = "train.total_timesteps", "train.learning_rate"
ROWS = {RATE: {"distribution": "log_normal", "min": 1e-3, "max": 1e-1},
        STEPS: {"distribution": "log_normal", "min": 1000, "max": 16000}}


def plan_for(seconds: float, workers: int, **more) -> Plan:
    return Plan(env="toy", rows=ROWS, start={RATE: 0.02, STEPS: 8000}, fixed={}, method="random",
                seconds=seconds, workers=workers,
                base={"train.horizon": 8, "vec.total_agents": 64}, **more)


class Machine:
    """Workers that run trials in pretended time.

    wall    seconds of a run of 8000 steps on a quiet machine
    load    load(seconds since the start) -> how many times longer everything takes
    fails   whether a trial with these facts fails
    """

    def __init__(self, wall: float, load=lambda now: 1.0, fails=lambda facts: False):
        self.now, self.wall, self.load, self.fails = 0.0, wall, load, fails
        self.at_work: list = []         # [worker, trial or None, quiet seconds until it is done]

    def start(self, store: Store) -> None:
        plan = store.plan()
        worker = Worker(store, SimpleNamespace(plan=plan))
        self.at_work.append([worker, None, 1.0])

    def stop(self, store: Store) -> None:
        for _, trial, _ in self.at_work:
            if trial:
                store.put_back(trial)
        self.at_work = []
        self.now += 0.3

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for each in self.at_work:
            worker, trial, left = each
            if trial and is_cut(trial, worker.store.facts):
                worker.store.put_back(trial)
                each[1:] = None, 0.0
                continue
            each[2] = left - seconds / self.load(self.now)
            if each[2] > 0:
                continue
            if trial:
                self.end(worker.store, trial)
            each[1] = worker.next(worker.store.facts)
            each[2] = self.seconds_of(each[1]) if each[1] else 0.0

    def seconds_of(self, trial: Stored) -> float:
        return self.wall * trial.settings[STEPS] / 8000

    def end(self, store: Store, trial: Stored) -> None:
        steps = trial.settings[STEPS]
        noise = random.Random(trial.facts["seed"] * 31 + trial.number).gauss(0, 0.01)
        facts = {"cost": steps / 1000, "steps": steps,
                 "wall": self.seconds_of(trial) * self.load(self.now)}
        if self.fails(trial.facts):
            store.end(trial, FAILED, error="it crashed")
        else:
            store.end(trial, DONE, (steps / 16000) ** 0.2 + noise, at=self.now, **facts)


class Pretended(Supervisor):
    """A supervisor of such a machine."""

    def __init__(self, machine: Machine, *words, **options):
        super().__init__(*words, sleep=machine.sleep, **options)
        self.machine = machine

    def start_worker(self, number: int) -> None:
        self.machine.start(self.store)

    def stop_workers(self) -> None:
        self.machine.stop(self.store)


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """begin(machine, seconds, workers) -> (the sweep's result, its store); before: of a sweep that
    goes on, as --resume says it."""
    monkeypatch.setattr(supervising, "TICK", 1.0)
    monkeypatch.setattr(os, "fsync", lambda file: None)

    def go(machine: Machine, seconds: float, workers: int = 2, seeds: int = 5, before=None,
           board=None, **more):
        plan = plan_for(seconds, workers, **more)
        if before is None:
            store = Store(journal_of(tmp_path), "toy-0001", clock=lambda: machine.now).create(
                plan, open=True, beat=0, seeds=seeds, began=0.0, spent=0.0)
            store.add(plan.start, start=True, reason="the settings to start from", seed=0)
        else:
            store = before
            store.note(plan=plan.to_dict(), open=True, over=False, beat=0, judged=False, cut=-1,
                       seeds=seeds)
        schedule = Schedule(plan, seeds, before=store.facts["spent"], clock=lambda: machine.now)
        source = SimpleNamespace(name="toy", ref="toy")
        place = tmp_path / "0001"
        place.mkdir(exist_ok=True)
        return Pretended(machine, source, place, store, schedule, show_table=board).run(), store

    return go


LOADS = {"quiet": lambda now: 1.0, "busy": lambda now: 6.0, "in waves": lambda now: 1 + now % 7,
         "at the end": lambda now: 1.0 if now < 40 else 8.0}


@pytest.mark.parametrize("load", some_or_all(LOADS, 0, 2))
@pytest.mark.parametrize(("wall", "seconds", "workers"), [
    (2.0, 60, 2), (8.0, 100, 1), (8.0, 100, 4), (60.0, 100, 2)])
def test_a_sweep_ends_in_time_with_a_verdict_or_its_reason(begin, wall, seconds, workers, load):
    machine = Machine(wall, LOADS[load])
    try:
        found, _ = begin(machine, seconds, workers)
    except UsageError as error:
        assert wall > 8 and "no trial has finished" in error.message and "--seconds" in error.hint
    else:
        assert (found.verdict is None) is bool(found.unjudged)
        if load == "quiet" and wall < 60:
            assert len(found.verdict.seeds) >= 2
            assert 0.4 * seconds < min(trial.facts["at"] for trial in found.trials
                                       if "verdict" in trial.facts and trial.state == DONE)
        assert f"# no verdict: {found.unjudged}" in (found.folder / "best.ini").read_text() \
            or found.verdict
    assert machine.now <= seconds + 0.3             # the workers' leaving, which files wait for


def test_what_has_no_limit_is_judged_on_all_seeds(begin):
    found, _ = begin(Machine(8.0), 0, runs=6)
    assert len(found.verdict.seeds) == 5 and not found.unjudged


@pytest.mark.parametrize(("wall", "seeds", "fails", "says"), [
    (6.0, 0, None, "--seeds 0 asks for none"),
    (6.0, 1, None, "one seed has no interval"),
    (6.0, 5, lambda facts: facts.get("verdict") == "default",
     r"0 of 5 pairs of best and default finished; trial \d+ failed: it crashed"),
    (90.0, 5, None, r"the time was over .*; --resume --seconds \d+0 gives it time")])
def test_why_there_is_no_verdict(begin, wall, seeds, fails, says):
    found, _ = begin(Machine(wall, fails=fails or (lambda facts: False)), 100, seeds=seeds)
    assert found.verdict is None and re.search(says, found.unjudged), found.unjudged


@pytest.mark.parametrize(("fails", "hint"), [
    (lambda facts: True, r"trial \d+ failed: it crashed"),
    (lambda facts: False, r"10 s are too few for a run; continue with: .* --seconds 100")])
def test_why_no_trial_has_finished(begin, fails, hint):
    """Those that failed are the reason; else the time was too short."""
    with pytest.raises(UsageError, match="no trial has finished") as refused:
        begin(Machine(2.0 if fails({}) else 60.0, fails=fails), 10)
    assert re.fullmatch(hint, refused.value.hint)


def test_a_sweep_that_goes_on_is_judged_then(begin):
    """With as many seconds as it was said to need; what has run once does not run again."""
    machine = Machine(90.0)
    found, store = begin(machine, 100)
    needed = int(re.search(r"--seconds (\d+)", found.unjudged)[1])
    ended = {trial.number for trial in found.trials if trial.state == DONE}
    found, store = begin(machine, needed, before=store)
    assert len(found.verdict.seeds) >= 2 and not found.unjudged
    assert machine.now <= needed + 1
    before = [trial for trial in found.trials if "verdict" in trial.facts]
    assert ended <= {trial.number for trial in found.trials if trial.state == DONE}
    # once more, when all of its seconds are spent: the same verdict, and no new trial
    again, _ = begin(machine, needed, before=store)
    assert again.verdict == found.verdict and len(again.trials) == len(found.trials)
    assert before


def test_a_verdict_is_of_one_round(begin):
    """Another best after more search is judged by its own pairs alone."""
    machine = Machine(6.0)
    found, store = begin(machine, 60)
    store.add({RATE: 0.01, STEPS: 16000}, RUNNING)
    [trial] = [each for each in store.trials() if each.state == RUNNING]
    store.end(trial, DONE, 5.0, cost=16.0, steps=16000, wall=12.0, at=60.0)
    more, _ = begin(machine, 240, before=store)
    rounds = {each.facts["trial"] for each in more.trials if "verdict" in each.facts}
    assert len(rounds) == 2 and more.verdict.trial != found.verdict.trial
    assert len(more.verdict.seeds) >= 3 and more.best_trial.number == more.verdict.trial


def test_the_time_that_files_take_is_counted():
    """With hundreds of trials models take long: the search ends the sooner."""
    now = [0.0]
    schedule = Schedule(plan_for(600, 2), 5, clock=lambda: now[0])
    trials = [Stored(k, DONE, {"settings": {}, "cost": 1.0, "wall": 1.0}, k, float(k))
              for k in range(100)]
    now[0] = 560.0

    def write():
        now[0] += 8.0

    assert not schedule.closes(trials)
    schedule.measure(trials, write)
    assert schedule.closes(trials) and not schedule.ends(trials)
    schedule.measure(trials, write)
    assert now[0] == 568.0                          # once for so many trials
    now[0] = 589.0
    assert schedule.ends(trials)
    now[0] = 500.0
    assert schedule.ends(trials * 3)                # the models' share grows with its cube


def test_before_a_trial_has_ended_no_time_is_kept_for_what_comes_after():
    now = [0.0]
    schedule = Schedule(plan_for(10, 2), 5, clock=lambda: now[0])
    ended = [Stored(0, DONE, {"settings": {}, "cost": 1.0, "wall": 1.0}, 0, 0.0)]
    for now[0], trials, closes in ((4.0, [], False), (4.0, ended, True), (8.0, [], True)):
        assert schedule.closes(trials) == closes


def test_a_default_that_was_cut_off_is_judged_at_equal_compute(begin):
    """Its rate is known from what it had done."""
    machine = Machine(1.0)
    plan = plan_for(100, 2)
    trials = [Stored(0, "waiting", {"settings": plan.start, "start": True, "share": 0.25,
                                    "so_far": 4.0}, 0),
              Stored(1, DONE, {"settings": {RATE: 0.01, STEPS: 2000}, "cost": 3.0, "steps": 2000},
                     1, 1.0)]
    from puffer_sdk.sweeping.verdict import pairs
    number, rows = pairs(plan, trials, 2)
    assert number == 1 and machine.now == 0.0
    assert [row["settings"][STEPS] for row in rows] == [2000, 1500] * 2
    trials[0].facts.pop("so_far")
    assert {row["settings"][STEPS] for row in pairs(plan, trials, 2)[1]} == {2000}


@pytest.mark.parametrize(("longest", "said"), [(2000, True), (7900, True), (8000, True),
                                               (8100, False), (16000, False)])
def test_a_best_of_short_runs_says_what_was_not_tried(longest, said):
    trials = [Stored(0, DONE, {"settings": {STEPS: longest}, "cost": 1.0}, 0, 1.0),
              Stored(1, FAILED, {"settings": {STEPS: 16000}, "error": "x"}, 1)]
    text = untried(plan_for(60, 1), trials)
    assert bool(text) is said
    if said:
        assert f"more than {longest:,} steps" in text and "16,000" in text


def test_the_log_has_a_line_for_what_is_new(begin, capsys):
    """In a file: none while nothing has changed, the last news at the end."""
    machine = Machine(20.0)
    with Board(clock=lambda: machine.now) as board:
        found, store = begin(machine, 200, board=board)
    head, *lines = capsys.readouterr().err.splitlines()
    assert head.startswith("sweep 1 of toy: 2 settings, 2 workers, until 200 s")
    news = [re.sub(r"^ *\d+ s +", "", line) for line in lines]
    assert all(a != b for a, b in zip(news, news[1:])) and 5 < len(news) < 40
    assert sum("judging, " in line for line in news) >= 3
    seconds = [int(re.match(r" *(\d+) s ", line)[1]) for line in lines[:-1]]
    assert all(b - a >= 5 for a, b in zip(seconds, seconds[1:]))
    done = sum(trial.state == DONE for trial in found.trials)
    assert news[-1].startswith(f"ended  {done} done")


def test_a_worker_ends_when_the_sweeps_own_process_is_silent(begin, tmp_path):
    """By its own clock: neither stamps nor a clock that is set matter."""
    machine = Machine(1.0)
    _, store = begin(machine, 30)
    worker = Worker(store, SimpleNamespace(plan=store.plan()))
    for beat, seconds, over in ((1, 0, False), (1, 119, False), (2, 3600, False), (2, 119, False),
                                (2, 2, True)):
        machine.now += seconds
        assert worker.is_over({"beat": beat}) is over
    assert worker.is_over({"over": True})
