"""`train` in several processes: kills, restarts, Ctrl-C, and checkpoints of any number of ranks."""
from __future__ import annotations

import os
import random
import re
import signal
import subprocess

import pytest
from helpers.groups import TORCHRUN, Group, find_rank
from helpers.playground import (
    COMMAND,
    flags,
    good_checkpoints,
    leftovers,
    overrides,
    rows,
    tensors,
    wait_until,
)
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.base.errors import UsageError
from puffer_sdk.training import runs
from puffer_sdk.training import train as training

pytest_plugins = ["helpers.playground_fixtures"]
BATCH = 512                         # steps of an epoch: 64 agents, horizon 8
EPOCHS = 24
SHORT = {"train.total_timesteps": EPOCHS * BATCH, "base.checkpoint_interval": 4,
         "train.group_timeout": 30}
SLOW = {**overrides("SLEEP_IN_STEP", at=2, nap=1), **SHORT}


def words(env, tmp_path, settings, *more) -> list[str]:
    return ["train", str(env), "--runs-dir", str(tmp_path), *flags(settings), *map(str, more)]


def torchrun(size: int, *options) -> list[str]:
    return [*TORCHRUN, "--nproc-per-node", str(size), *options, "-m", "puffer_sdk"]


@pytest.fixture
def launch(tmp_path):
    """launch(command, words) -> the process, ended with all that it started after the test"""
    from helpers.playground import descendants, kill

    begun = []

    def go(command, given):
        begun.append(subprocess.Popen(
            [*command, *given], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True))
        return begun[-1]

    yield go
    for process in begun:
        for pid in [process.pid, *descendants(process.pid)]:
            kill(pid)
        process.communicate()


def finish(process) -> tuple[str, str]:
    return process.communicate(timeout=240)


@pytest.fixture(scope="module")
def whole(faulty, tmp_path_factory):
    """A run of two processes that nobody disturbs."""
    folder = tmp_path_factory.mktemp("whole")
    done = subprocess.run([*COMMAND, *words(faulty, folder, SHORT, "--train.processes", 2)],
                          cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return runs.Run(folder / "faulty" / "0001"), done


def last(run: runs.Run) -> dict[str, bytes]:
    return tensors(run.checkpoints()[-1])


def test_two_processes_of_one_machine_share_a_run(whole):
    """One display, one result, one folder; what is logged is of the whole run."""
    run, done = whole
    host = os.uname().nodename
    assert done.stdout.count("trained ") == 1 and "Traceback" not in done.stderr
    assert re.search(rf"training faulty: 12,288 steps.*2 processes on {host} with \w+", done.stderr)
    info = run.info
    assert info["status"] == "finished" and info["group"]["size"] == 2
    assert info["group"]["hosts"] == ["machine 1"] * 2 and host not in str(info)
    metrics = run.metrics()
    assert [row["epoch"] for row in metrics] == list(range(1, EPOCHS + 1))
    assert [row["step"] for row in metrics] == [BATCH * n for n in range(1, EPOCHS + 1)]
    assert all(row["time/waited_for"] in (0, 1) and row["time/exchange"] > 0 for row in metrics)
    logged = sum(row.get("env/n", 0) for row in metrics)    # of 64 agents, episodes of 7 ticks
    assert logged == 64 * (EPOCHS * 8 // 7)
    claim = run.evaluation["trained"]           # rank 0 plays it
    assert claim["count"] >= 4 and metrics[-1]["claim/n"] == claim["count"]
    assert f"reached  perf {claim['mean']['perf']:.3f}" in done.stdout
    shown = subprocess.run([*COMMAND, "runs", "list", "faulty", "--runs-dir",
                            run.folder.parent.parent], capture_output=True, text=True)
    assert "2 on machine 1" in shown.stdout, shown.stderr


@long_only
@pytest.mark.parametrize("size, kills", short_or_long([(2, 3)], [(2, 20), (4, 20)]))
def test_killed_and_started_again_by_torchrun_it_ends_with_the_bytes_of_an_undisturbed_run(
        size, kills, whole, faulty, launch, tmp_path):
    undisturbed, _ = whole
    if size != 2:
        done = subprocess.run([*torchrun(size), *words(faulty, tmp_path / "whole", SHORT)],
                              cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        undisturbed = runs.Run(tmp_path / "whole" / "faulty" / "0001")
    choose = random.Random(size * 100 + kills)
    process = launch(torchrun(size, "--max-restarts", str(kills)),
                     words(faulty, tmp_path / "cut", SLOW))
    cut = runs.Run(tmp_path / "cut" / "faulty" / "0001")
    for number in range(kills):
        epoch = 3 + (EPOCHS - 6) * number // kills
        wait_until(lambda epoch=epoch: cut.last_metrics().get("epoch", 0) >= epoch
                   and process.poll() is None and cut.info.get("group", {}).get("hosts"), 120)
        rank = (number + 1) % size
        wait_until(lambda rank=rank: find_rank(process.pid, rank), 60)
        parent, child = find_rank(process.pid, rank)
        os.kill(choose.choice([parent, child]), signal.SIGKILL)
        before = cut.info.get("pid")
        wait_until(lambda before=before: cut.info.get("pid") != before
                   or process.poll() is not None, 120)
    out, err = finish(process)
    assert process.returncode == 0, err
    assert cut.info["status"] == "finished" and len(runs.list_runs(cut.folder.parent)) == 1
    assert last(cut) == last(undisturbed)
    assert [row["epoch"] for row in rows(cut.folder)] == list(range(1, EPOCHS + 1))
    assert rows(cut.folder) == rows(undisturbed.folder)


def test_ctrl_c_on_one_rank_saves_and_stops_all_and_one_process_goes_on(faulty, launch, tmp_path):
    process = launch(torchrun(2), words(faulty, tmp_path, SLOW))
    run = runs.Run(tmp_path / "faulty" / "0001")
    wait_until(lambda: run.last_metrics().get("epoch", 0) >= 5, 120)
    os.kill(find_rank(process.pid, 1)[0], signal.SIGINT)
    _, err = finish(process)
    assert "rank 1 on " in err and "was stopped: interrupted at step" in err, err
    assert run.status == "interrupted"
    stopped = int(run.checkpoints()[-1].stem) // BATCH
    assert 5 <= stopped < EPOCHS
    done = training.train(faulty, {"env.fault": 0}, runs_dir=tmp_path, resume="latest")
    assert done.steps == EPOCHS * BATCH
    assert [row["epoch"] for row in rows(run.folder)] == list(range(1, EPOCHS + 1))
    assert run.info["group"] is None


@long_only
def test_a_checkpoint_of_one_process_goes_on_under_two(faulty, start, tmp_path):
    """In the middle of episodes: nothing starts anew, so as many episodes end."""
    process = start("train", faulty, "--runs-dir", tmp_path, *flags(SLOW))
    run = runs.Run(tmp_path / "faulty" / "0001")
    wait_until(lambda: run.last_metrics().get("epoch", 0) >= 5, 60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    before = rows(run.folder)
    resume = ["--resume", "1", "--train.processes", "2", "--env.fault", "0"]
    done = subprocess.run([*COMMAND, "train", faulty, "--runs-dir", tmp_path, *resume],
                          capture_output=True, text=True, cwd=tmp_path, timeout=240)
    assert done.returncode == 0 and "environments restart" not in done.stderr, done.stderr
    after = rows(run.folder)
    assert after[:len(before)] == before and len(after) == EPOCHS
    assert sum(row.get("env/n", 0) for row in after) == 64 * (EPOCHS * 8 // 7)


@long_only
def test_a_killed_rank_ends_the_run_with_one_error_that_names_it(faulty, launch, tmp_path):
    process = launch(COMMAND, words(faulty, tmp_path, SLOW, "--train.processes", 2))
    run = runs.Run(tmp_path / "faulty" / "0001")
    wait_until(lambda: run.last_metrics().get("epoch", 0) >= 5, 120)
    os.kill(find_rank(process.pid, 1)[0], signal.SIGKILL)
    _, err = finish(process)
    assert process.returncode == 4 and "Traceback" not in err
    errors = [line for line in err.splitlines() if line.startswith("error")]
    assert len(errors) == 1 and re.search(
        r"rank 1 on \S+ ended without an error: it was killed", errors[0]), err
    assert "the last good checkpoint is" in err
    assert run.status == "failed" and run.checkpoints()


@long_only
def test_a_full_disk_ends_all_ranks_and_costs_no_checkpoint(small_disk, faulty, cli):
    folder, options = small_disk
    done = cli(*words(faulty, folder, {
        **SHORT, "train.total_timesteps": 10**6, "base.checkpoint_interval": 1,
        "policy.hidden_size": 512 if options else 16}, "--train.processes", 2), **options)
    assert done.returncode == 4, done.stderr
    assert "No space left on device" in done.stderr or "File too large" in done.stderr
    assert "Traceback" not in done.stderr and done.stderr.count("error: ") == 1
    run = runs.Run(folder / "faulty/0001")
    saved = good_checkpoints(run.folder)
    assert (options or len(saved) > 2) and leftovers(folder) == []
    assert run.status in ("failed", "killed")       # there may be no room to say so


def test_ranks_with_other_settings_are_refused_before_the_first_step(faulty, tmp_path):
    base = [*COMMAND, *words(faulty, tmp_path, SHORT)]
    with Group(2, [[*base, "--train.gamma", "0.9"], [*base, "--train.gamma", "0.8"]],
               cwd=tmp_path) as group:
        first, second = group.finish()
    assert (first[0], second[0]) == (2, 2), first[2] + second[2]
    said = first[2] + second[2]
    assert said.count("the processes of this run have different versions or settings") == 1
    assert "train.gamma is 0.9 on rank 0" in said and "0.8 on rank 1" in said
    assert not list(tmp_path.rglob("run.json"))


def test_a_program_of_ones_own_starts_no_processes(faulty, tmp_path):
    with pytest.raises(UsageError, match="processes of the command line") as caught:
        training.train(faulty, {"train.processes": 2}, runs_dir=tmp_path)
    assert "torchrun" in caught.value.hint


def test_what_does_not_divide_is_refused(faulty, tmp_path):
    done = subprocess.run([*COMMAND, *words(faulty, tmp_path, SHORT, "--train.processes", 3)],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and \
        done.stderr.count("cannot be shared by 3 processes") == 1
    assert not list(tmp_path.rglob("run.json"))
