"""Env code in a child process: however it dies or misbehaves, the parent tells what happened."""
import json
import os
import re
import subprocess
import sys
import time

import pytest
from helpers.playground import flags, good_checkpoints, leftovers, overrides, rows, tensors
from helpers.short_or_long import long_only, short_or_long, some_or_all

from puffer_sdk.base import processes
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.env import child_process, shared_memory
from puffer_sdk.policy import evaluate
from puffer_sdk.training import train

pytest_plugins = ["helpers.playground_fixtures"]

CLOSING = 48        # ticks of the whole run: its envs are closed once, at its end

# fault -> (function, cause, tick on which it strikes in `train`, text that is shown as well)
DEATHS = {
    "SEGFAULT": ("c_step", "SIGSEGV", 5, None),
    "ASSERTION": ("c_step", "SIGABRT", 5, "the ball left the table"),
    "EXIT_0": ("c_step", "exit(0)", 5, None),
    "EXIT_3": ("c_step", "exit(3)", 5, None),
    "QUICK_EXIT_7": ("c_step", "exit(7)", 5, None),
    "DIVIDE_BY_ZERO": ("c_step", "SIGFPE", 5, None),
    "RAISE_SIGTERM": ("c_step", "SIGTERM", 5, None),
    "RAISE_SIGKILL": ("c_step", "SIGKILL", 5, None),
    "RAISE_SIGINT": ("c_step", "SIGINT", 5, None),
    "HUGE_ALLOCATION": ("c_step", "SIGSEGV", 5, None),
    "STACK_OVERFLOW": ("c_step", "SIGSEGV", 5, None),
    "PRINT_THEN_DIE": ("c_step", "SIGSEGV", 5, "last words on tick 5"),
    "PRINT_NO_NEWLINE": ("c_step", "exit(9)", 5, "half a line"),
    "LOOP_IN_STEP": ("c_step", "no return for 1 seconds", 5, None),
    "LOOP_IN_RESET": ("c_reset", "no return for 1 seconds", 0, None),
    "LOOP_IN_INIT": ("init", "no return for 1 seconds", 0, None),
    "LOOP_IN_CLOSE": ("c_close", "no return for 1 seconds", CLOSING, None),
    "SEGFAULT_IN_INIT": ("init", "SIGSEGV", 0, None),
    "EXIT_IN_RESET": ("c_reset", "exit(5)", 0, None),
    "SEGFAULT_IN_CLOSE": ("c_close", "SIGSEGV", CLOSING, None),
}


@pytest.fixture(autouse=True)
def plain_streams(monkeypatch):
    """As users have them: with this set, Python would unbuffer C's stdout too."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


def settings(fault: str, **env) -> dict:
    return {**overrides(fault, **env), "vec.step_timeout": 1 if fault.startswith("LOOP") else 10}


def saved_by(phase: str) -> list[str]:
    """The checkpoints of the six epochs, when an env dies in this function."""
    if phase == "init":
        return []
    epochs = ["000000001024", "000000002048", "000000003072"]       # the last before its claim
    return epochs if phase == "c_close" else ["000000000000"]


@pytest.mark.parametrize("fault", some_or_all(DEATHS, 0, 1, 2, 11, 13, 17, 19))
def test_an_env_that_dies_in_training_is_named(fault, faulty, first_seeds, tmp_path):
    phase, cause, step, text = DEATHS[fault]
    with pytest.raises(RunError) as caught:
        train.train(faulty, settings(fault), runs_dir=tmp_path)
    error = caught.value
    assert error.exit_status == 4
    if phase == "c_close":              # those of an evaluation are closed first
        assert re.fullmatch(rf"the environment failed in {phase}: {re.escape(cause)} "
                            r"\(env 0, seed \d+, step \d+\)", error.message)
    else:
        assert error.message == (f"the environment failed in {phase}: {cause} "
                                 f"(env 0, seed {first_seeds[0]}, step {step})")
    assert text is None or text in error.detail
    run = tmp_path / "faulty" / "0001"
    assert json.loads((run / "run.json").read_text())["status"] == "failed"
    assert leftovers(tmp_path) == []
    saved = good_checkpoints(run)
    assert [path.stem for path in saved] == saved_by(phase)
    assert not saved or saved[-1].name in error.hint


# training shows each cause; evaluation goes through the same child
@long_only
@pytest.mark.parametrize("fault", short_or_long(
    ["SEGFAULT", "EXIT_0", "LOOP_IN_STEP", "EXIT_IN_RESET", "SEGFAULT_IN_CLOSE"], DEATHS))
def test_an_env_that_dies_in_an_evaluation_is_named(fault, faulty):
    phase, cause, _, text = DEATHS[fault]
    with pytest.raises(RunError) as caught:
        evaluate.evaluate(faulty, settings(fault), model=None)
    error = caught.value
    assert f"failed in {phase}: {cause} (env 0, seed " in error.message
    assert text is None or text in error.detail


def test_the_env_that_died_is_told_from_its_neighbours(faulty, first_seeds, tmp_path):
    with pytest.raises(RunError, match=rf"SIGSEGV \(env 37, seed {first_seeds[37]}, step 12\)"):
        train.train(faulty, overrides("SEGFAULT", victim=first_seeds[37], at=12),
                       runs_dir=tmp_path)


def test_the_command_shows_it_and_ends_with_4(faulty, cli, tmp_path):
    done = cli("train", faulty, "--runs-dir", tmp_path, *flags(overrides("ASSERTION")))
    assert done.returncode == 4 and done.stdout == ""
    assert "error: the environment failed in c_step: SIGABRT (env 0, seed " in done.stderr
    assert "the ball left the table" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def calm(faulty, tmp_path_factory):
    return train.train(faulty, runs_dir=tmp_path_factory.mktemp("calm")).folder


@pytest.mark.parametrize("fault", some_or_all(
    ["CLOSE_DESCRIPTORS", "CHANGE_DIRECTORY", "INSTALL_HANDLERS",
                                   "FORK", "FORK_AND_WAIT", "PRINT_MEGABYTES"], 0, 2, 4))
def test_an_env_that_misbehaves_does_not_disturb_the_run(fault, calm, faulty, first_seeds,
                                                         tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = train.train(faulty, overrides(fault, victim=first_seeds[0], at=7),
                            runs_dir="relative")
    assert result.folder == tmp_path / "relative" / "faulty" / "0001"
    assert rows(result.folder) == rows(calm)
    names = [path.name for path in good_checkpoints(calm)]
    assert [path.name for path in good_checkpoints(result.folder)] == names
    assert tensors(result.checkpoint) == tensors(calm / "checkpoints" / names[-1])
    assert leftovers(tmp_path) == []
    if fault == "PRINT_MEGABYTES":      # ticks 7, 14, ... 42
        printed = (result.folder / "env.log").read_text()
        assert len(printed) == 6 * 512 * 1023 and set(printed) == {"x", "\n"}


def test_what_an_env_prints_stays_out_of_the_terminal(faulty, first_seeds, cli, tmp_path):
    done = cli("train", faulty, "--runs-dir", tmp_path,
               *flags(overrides("PRINT_MEGABYTES", victim=first_seeds[0], at=7)))
    assert done.returncode == 0
    assert "xxx" not in done.stdout + done.stderr


@long_only
def test_a_slow_env_is_not_a_hung_one(faulty, first_seeds, tmp_path):
    slow = overrides("SLEEP_IN_STEP", victim=first_seeds[0], nap=400, at=8)
    train.train(faulty, {**slow, "vec.step_timeout": 1}, runs_dir=tmp_path)


@pytest.mark.parametrize("used, waits, hung", some_or_all([(0.5, True, False), (0.5, False, True),
                                               (1.5, True, True)], 0))
def test_a_starved_env_is_not_a_hung_one(faulty, tmp_path, monkeypatch, used, waits, hung):
    """Where others have the cores, its own seconds count."""
    asked = []

    def cpu_seconds(pid):
        asked.append(pid)
        return used if len(asked) > 1 else 0.0

    monkeypatch.setattr(processes, "cpu_seconds", cpu_seconds)
    monkeypatch.setattr(processes, "wants_cpu", lambda pid: waits and len(asked) < 200)
    with pytest.raises(RunError, match="no return for 1 seconds"):
        train.train(faulty, {**overrides("LOOP_IN_INIT"), "vec.step_timeout": 1},
                    runs_dir=tmp_path)
    assert (len(asked) < 10) == hung


def test_what_a_process_used_and_whether_it_would_use_more():
    worker = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"])
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (
                processes.cpu_seconds(worker.pid) < 0.3 or processes.wants_cpu(sleeper.pid)):
            time.sleep(0.05)
        assert processes.cpu_seconds(worker.pid) >= 0.3 and processes.wants_cpu(worker.pid)
        assert not processes.wants_cpu(sleeper.pid)
    finally:
        for process in (worker, sleeper):
            process.kill()
            process.wait()
    assert processes.cpu_seconds(worker.pid) == float("inf")
    assert not processes.wants_cpu(worker.pid)


@long_only
def test_with_several_threads_every_suspect_is_named(faulty, tmp_path):
    with pytest.raises(RunError) as caught:
        train.train(faulty, {**overrides("LOOP_IN_STEP"), "vec.num_threads": 2,
                                "vec.step_timeout": 1}, runs_dir=tmp_path)
    assert "no return for 1 seconds (env " in caught.value.message


# -- the link itself: targets below run in the child ----------------------------------------------

def run(target, job=None, **options):
    events = []
    result = child_process.run(f"{__name__}:{target}", job or {},
                           lambda kind, payload: events.append((kind, payload)), **options)
    return result, [event for event in events if event[0] != "idle"]


def many_events(job, link):
    for number in range(job["count"]):
        link.emit("number", value=number, padding="x" * job["padding"])
    return "done"


def test_events_arrive_whole_and_in_order_though_the_ring_is_smaller():
    job = {"count": 400, "padding": 10_000}
    assert job["count"] * job["padding"] > 3 * shared_memory.RING
    result, events = run("many_events", job)
    assert result == "done"
    assert [payload["value"] for _, payload in events] == list(range(400))
    assert all(len(payload["padding"]) == 10_000 for _, payload in events)


def waits_for_us(job, link):
    for number in range(5):
        link.emit("number", value=number)
    link.wait_for_parent()
    with open(job["path"]) as file:
        return file.read()


def test_settle_waits_until_events_are_dealt_with(tmp_path):
    path = tmp_path / "seen"
    path.write_text("")

    def slow(kind, payload):
        if kind == "number":
            time.sleep(0.05)
            path.write_text(path.read_text() + str(payload["value"]))

    assert child_process.run(f"{__name__}:waits_for_us", {"path": str(path)}, slow) == "01234"


def refuses(job, link):
    raise UsageError("no", where="here", expected=1, actual=2, hint="so", detail="because")


def test_an_error_of_the_child_is_raised_in_the_parent():
    with pytest.raises(UsageError) as caught:
        run("refuses")
    assert caught.value.lines() == UsageError("no", where="here", expected=1, actual=2, hint="so",
                                              detail="because").lines()


def has_a_bug(job, link):
    return {}["missing"]


def test_a_bug_of_ours_is_not_blamed_on_the_env():
    with pytest.raises(child_process.ChildBug, match="KeyError: 'missing'"):
        run("has_a_bug")


def eats_memory(job, link):
    raise MemoryError("cannot get 12 GiB")


def test_want_of_memory_is_a_failed_run():
    with pytest.raises(RunError, match="not enough memory") as caught:
        run("eats_memory")
    assert caught.value.detail == "cannot get 12 GiB"


def leaves(job, link):
    os._exit(11)


def test_a_death_outside_env_code_is_told_as_such():
    with pytest.raises(RunError, match=r"died outside env code: exit\(11\)"):
        run("leaves")


def knows_its_place(job, link):
    import sys
    return {"cwd": os.getcwd(), "group": os.getpgid(0) == os.getpid(), "path": sys.path[0]}


def test_nothing_is_imported_from_the_folder_one_stands_in(tmp_path, monkeypatch):
    for name in ("json", "numpy", "signal", "puffer_sdk", "traceback"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    result, _ = run("knows_its_place", cwd=tmp_path)
    assert result["cwd"] == str(tmp_path) and result["group"]
    assert result["path"] != str(tmp_path)


def prints(job, link):
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        os.write(1, b"y" * 1000 + b"\n")
        time.sleep(0.0005)


@long_only
def test_prints_without_end_do_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(child_process, "LOG_LIMIT", 100_000)
    monkeypatch.setattr(child_process, "LOG_KEPT", 10_000)
    log = tmp_path / "env.log"
    log.write_text("from an earlier part of the run\n")
    sizes = []
    child_process.run(f"{__name__}:prints", {}, lambda *_: sizes.append(log.stat().st_size),
                      log=log)
    assert max(sizes) > 100_000 and any(b < a for a, b in zip(sizes, sizes[1:]))
    assert log.read_text().startswith("from an earlier part of the run\ny")


def misses_textures(job, link):
    def say(text):
        os.write(2, text.encode())

    say("missing texture: one.png, looked for in /here\nmissing texture: t")
    link.emit("said")
    end = time.monotonic() + 100
    while not link.stop and time.monotonic() < end:     # until the parent has warned of the first
        say("y\nmissing texture: one.png, looked for in /here\nmissing texture: two.png, look")
        time.sleep(0.01)
        say("ed for in /here\n")
    say("missing texture: three.png, looked for in /here\n")
    return link.stop


def test_a_missing_texture_is_told_when_it_is_met_and_once(monkeypatch):
    warned = []
    monkeypatch.setattr(child_process.ui, "warn", lambda text, *more: warned.append(text))
    monkeypatch.setattr(child_process.ui, "_warned", set())
    process = child_process.Child(f"{__name__}:misses_textures", {})
    for _ in process.events():
        if len(warned) == 3:
            process.stop()
    assert process.result
    assert sorted(warned) == ["missing texture: one.png, looked for in /here",
                              "missing texture: three.png, looked for in /here",
                              "missing texture: two.png, looked for in /here",
                              "missing texture: ty"]
