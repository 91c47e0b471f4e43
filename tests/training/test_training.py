"""`train` from end to end: the barrier, resuming, bad checkpoints, full disks, streams, metrics."""
import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import threading

import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.playground import (
    COMMAND,
    flags,
    good_checkpoints,
    leftovers,
    limit_files,
    overrides,
    rows,
    tensors,
    wait_until,
)
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.cli import main
from puffer_sdk.settings import config
from puffer_sdk.training import backends, checkpoint, locks, runs
from puffer_sdk.training import train as training

pytest_plugins = ["helpers.playground_fixtures"]
BATCH = 512                         # steps of an epoch: 64 agents, horizon 8


def train(env, tmp_path, settings=None, **options):
    return training.train(env, settings or {}, runs_dir=tmp_path, **options)


@pytest.fixture(scope="module")
def finished_once(faulty, tmp_path_factory):
    return train(faulty, tmp_path_factory.mktemp("finished")).folder


@pytest.fixture
def finished(finished_once, tmp_path):
    """A run of six epochs with checkpoints after 2, 4 and 6."""
    return shutil.copytree(finished_once, tmp_path / "faulty" / finished_once.name)


def state(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_makes_as_many_updates_as_it_said(faulty, tmp_path, capsys):
    """Fractions of a minibatch are carried from epoch to epoch."""
    done = train(faulty, tmp_path, {"train.replay_ratio": 0.45, "train.minibatch_size": 160})
    past = checkpoint.load(done.checkpoint)
    updates = past.facts["counters"]["optimizer_steps"]
    said = " ".join(capsys.readouterr().err.split())
    assert f"steps in {past.facts['epoch']} epochs of 1.44 updates, {updates} in all" in said
    assert updates == int(1.44 * past.facts["epoch"]) > past.facts["epoch"]


# -- stopped and resumed --------------------------------------------------------------------------

def test_killed_and_resumed_ends_with_the_bytes_of_one_that_was_not(faulty, start, tmp_path):
    slow = overrides("SLEEP_IN_STEP", at=2, nap=1)
    whole = train(faulty, tmp_path / "whole")
    process = start("train", faulty, "--runs-dir", tmp_path / "cut", *flags(slow))
    cut = tmp_path / "cut/faulty/0001"
    wait_until(lambda: (cut / "checkpoints/000000001024.safetensors").is_file())
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert runs.Run(cut).status == "killed"
    resumed = train(faulty, tmp_path / "cut", {"env.fault": 0}, resume="latest")
    assert resumed.folder == cut and resumed.steps == 6 * BATCH
    names = [path.name for path in good_checkpoints(whole.folder)]
    assert [path.name for path in good_checkpoints(cut)] == names
    assert tensors(resumed.checkpoint) == tensors(whole.checkpoint)
    assert any(name.startswith("muon.") for name in tensors(whole.checkpoint))
    assert rows(cut) == rows(whole.folder)
    assert [row["epoch"] for row in rows(cut)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("number", "settings"), some_or_all([
    (signal.SIGINT, {}), (signal.SIGTERM, {"env.agents": 2, "env.length": 0}),
    (signal.SIGINT, {"train.backend": "torch", "base.reset_state": 1})], 1))
def test_stopped_off_schedule_and_resumed_it_ends_with_the_same_bytes(number, settings, faulty,
                                                                      start, tmp_path):
    """In the middle of episodes, and of the epochs between checkpoints."""
    slow = {**overrides("SLEEP_IN_STEP", at=2, nap=1), **settings,
            "base.checkpoint_interval": 1000, "train.total_timesteps": 24 * BATCH}
    quick = {"env.fault": 0}
    whole = train(faulty, tmp_path / "whole", {**slow, **quick})
    process = start("train", faulty, "--runs-dir", tmp_path / "cut", *flags(slow))
    cut = tmp_path / "cut/faulty/0001"
    wait_until(lambda: len(runs.Run(cut).metrics()) > 4)
    process.send_signal(number)
    assert process.wait() == 128 + number
    stopped = int(runs.Run(cut).checkpoints()[-1].stem) // BATCH
    assert 4 < stopped < 24
    resumed = train(faulty, tmp_path / "cut", quick, resume="latest")
    assert tensors(resumed.checkpoint) == tensors(whole.checkpoint)
    assert rows(cut) == rows(whole.folder)


@long_only
def test_what_the_environments_ini_gained_does_not_reach_a_run_that_goes_on(faulty, tmp_path):
    """A run is resumed with what it saved, and with what this command says over it."""
    env = shutil.copytree(faulty, tmp_path / "envs" / "faulty")
    ini = env / "faulty.ini"
    gained = ini.read_text()
    ini.write_text(gained.replace("length = 7\n", ""))
    whole = train(env, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    for path in good_checkpoints(tmp_path / "cut/faulty/0001")[1:]:
        path.unlink()                                   # as if it had ended after two epochs
    ini.write_text(gained)
    assert config.resolve(env).env.keys() - config.resolve(
        env, ini=whole.folder / "config.ini").env.keys() == {"length"}
    resumed = train(env, tmp_path / "cut", resume="latest")
    assert tensors(resumed.checkpoint) == tensors(whole.checkpoint)
    assert rows(resumed.folder) == rows(whole.folder)
    assert tensors(train(env, tmp_path / "new").checkpoint) != tensors(whole.checkpoint)
    over = tmp_path / "over.ini"
    over.write_text("[train]\ntotal_timesteps = 4096\n")
    longer = train(env, tmp_path / "cut", resume="latest", ini=over)
    assert longer.steps == 8 * BATCH and "length" not in config.resolve(
        env, ini=longer.folder / "config.ini").env


@long_only
def test_an_episode_longer_than_the_interval_of_checkpoints_ends(tmp_path):
    """20,000 ticks, where 16,384 were once the end of all."""
    run = train(SPECIMENS / "innings", tmp_path, {
        "env.length": 20_000, "env.outs": 1, "vec.total_agents": 2, "train.horizon": 64,
        "train.minibatch_size": 64, "train.total_timesteps": 2 * 41_000, "policy.hidden_size": 8})
    ends = [row for row in runs.Run(run.folder).metrics() if "env/episode_length" in row]
    assert [row["env/episode_length"] for row in ends] == [20_000, 20_000]
    assert run.metrics["env/perf"] == 1


def test_the_checkpoint_at_which_envs_start_anew_is_kept(faulty, tmp_path):
    """16,384 ticks on, between two that the interval asks for."""
    done = train(faulty, tmp_path, {
        "vec.total_agents": 1, "train.horizon": 1024, "train.minibatch_size": 1024,
        "base.checkpoint_interval": 10, "train.total_timesteps": 18 * 1024})
    names = [path.stem for path in runs.Run(done.folder).checkpoints()]
    assert names == [f"{1024 * epoch:012d}" for epoch in (10, 16, 18)]


def test_an_env_that_dies_leaves_a_run_that_can_be_resumed(faulty, tmp_path):
    """Before the first checkpoint by the interval: one at the start, and every few seconds."""
    with pytest.raises(RunError, match="failed in c_step: SIGSEGV") as caught:
        train(faulty, tmp_path, {**overrides("SEGFAULT", at=40), "base.checkpoint_interval": 1000,
                                 "train.total_timesteps": 100 * BATCH})
    (saved,) = runs.Run(tmp_path / "faulty/0001").checkpoints()
    assert str(saved.name) in caught.value.hint
    mended = train(faulty, tmp_path, {"env.fault": 0, "train.total_timesteps": 10 * BATCH},
                   resume="latest")
    assert mended.steps == 10 * BATCH


@long_only
def test_checkpoints_between_are_replaced_and_those_kept_are_not(faulty, start, tmp_path):
    slow = overrides("SLEEP_IN_STEP", at=1, nap=2) | {
        "train.total_timesteps": "1e9", "base.checkpoint_interval": 3}
    process = start("train", faulty, "--runs-dir", tmp_path, *flags(slow))
    run = runs.Run(tmp_path / "faulty/0001")
    wait_until(lambda: len(run.checkpoints()) > 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    steps = [int(path.stem) // BATCH for path in run.checkpoints()]
    between = [step for step in steps if step % 3]
    assert 0 not in steps and len(between) <= 2         # two: killed before it removed the first


def test_a_writer_killed_before_it_removed_what_it_replaced_leaves_nothing(faulty, finished,
                                                                           tmp_path):
    before = good_checkpoints(finished)
    loaded = checkpoint.load(before[0])
    for step, kept in ((0, True), (1, False)):          # of one interval more than is replaced
        checkpoint.save(before[-1].with_name(f"{2560 + step:012d}.safetensors"), loaded.tensors,
                        {**loaded.facts, "kept": kept})
    train(faulty, tmp_path, {"train.total_timesteps": 7 * BATCH}, resume="latest")
    names = {path.name for path in good_checkpoints(finished)}
    assert "000000002560.safetensors" in names and "000000002561.safetensors" not in names
    assert {path.name for path in before} <= names


@long_only
def test_an_env_that_does_not_repeat_itself_starts_anew_and_it_is_said(faulty, start, tmp_path,
                                                                       capsys):
    slow = overrides("SLEEP_IN_STEP", at=2, nap=1) | {"train.total_timesteps": 1000 * BATCH}
    process = start("train", faulty, "--runs-dir", tmp_path, *flags(slow))
    run = runs.Run(tmp_path / "faulty/0001")
    wait_until(lambda: len(run.metrics()) > 5)
    process.send_signal(signal.SIGINT)
    process.wait()
    last = int(run.checkpoints()[-1].stem)
    again = train(faulty, tmp_path, {"env.length": 5, "env.fault": 0,
                                     "train.total_timesteps": last + BATCH}, resume="latest")
    assert again.steps == last + BATCH
    assert "the environments restart: with the same seeds and actions" in capsys.readouterr().err


def test_without_the_record_the_envs_start_anew_and_it_is_said(faulty, finished, tmp_path, capsys):
    (finished / "checkpoints/000000003072.safetensors").unlink()
    (finished / "actions.journal").write_bytes(b"x")
    train(faulty, tmp_path, resume="latest")
    assert "the recorded actions cannot be read (the file is too short)" in capsys.readouterr().err


def test_rows_behind_the_checkpoint_are_cut_and_none_comes_twice(faulty, finished, tmp_path):
    expected = rows(finished)
    (finished / "checkpoints/000000003072.safetensors").unlink()
    with (finished / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3584, "epo')               # what a killed writer left
    (finished / "checkpoints/.000000003072.safetensors.99").write_bytes(b"half")
    train(faulty, tmp_path, resume="latest")
    assert rows(finished) == expected
    assert leftovers(finished) == []


@pytest.mark.parametrize(("backend", "threads"), some_or_all(
    [("native", 2), ("native", 3), ("torch", 3)], 0))
def test_threads_change_nothing(backend, threads, faulty, tmp_path):
    """Sizes at which PyTorch does share its work among threads, two whatever the setting says."""
    size = {"vec.total_agents": 1024, "train.horizon": 32, "train.minibatch_size": 32768,
            "policy.hidden_size": 32, "train.total_timesteps": 32768 * 3,
            "train.backend": backend, "vec.num_threads": 1}
    one = train(faulty, tmp_path, size)
    many = train(faulty, tmp_path, {**size, "vec.num_threads": threads})
    assert tensors(many.checkpoint) == tensors(one.checkpoint)
    assert rows(many.folder) == rows(one.folder)


@pytest.mark.parametrize(("minibatch", "threads"), [(4096, 1), (32768, 2)])
def test_torchs_threads_follow_the_sizes_alone(minibatch, threads):
    import torch
    for wanted in (1, 2, 8):
        backends.use_threads(config.defaults({
            "train.minibatch_size": minibatch, "policy.hidden_size": 64,
            "vec.num_threads": wanted}))
        assert torch.get_num_threads() == threads


def test_another_seed_gives_another_run(faulty, finished, tmp_path):
    other = train(faulty, tmp_path, {"train.seed": 43})
    assert rows(other.folder) != rows(finished)


# -- resuming -------------------------------------------------------------------------------------

def test_resume_takes_the_commands_settings_over_the_runs(faulty, finished, tmp_path):
    done = train(faulty, tmp_path, {"train.total_timesteps": 8 * BATCH}, resume="1", tag="longer")
    assert done.folder == finished and done.steps == 8 * BATCH
    assert len(rows(finished)) == 8
    assert "total_timesteps = 4096" in (finished / "config.ini").read_text()
    assert runs.Run(finished).tag == "longer" and runs.Run(finished).status == "finished"


@long_only
def test_the_runs_own_settings_hold_when_the_ini_has_changed(faulty, tmp_path):
    first = train(faulty, tmp_path, {"train.gamma": 0.9})
    done = train(faulty, tmp_path, {"train.total_timesteps": 7 * BATCH}, resume="latest")
    assert done.folder == first.folder
    assert "gamma = 0.9\n" in (first.folder / "config.ini").read_text()


@pytest.mark.parametrize("args", some_or_all([["--resume", "ENV"], ["ENV", "--resume", "2"],
                                  ["ENV", "--resume"], ["--resume", "0002", "ENV"]], 0))
def test_ways_to_ask_for_it(args, faulty, tmp_path, cli):
    for _ in range(2):
        runs.create_run(tmp_path / "faulty").set_status("failed")
    args = [faulty if arg == "ENV" else arg for arg in args]
    done = cli("train", *args, "--runs-dir", tmp_path)
    assert done.returncode == 2
    assert "this run has no checkpoint to resume from" in done.stderr
    assert f"{tmp_path}/faulty/0002" in done.stderr


def test_nothing_to_resume(faulty, tmp_path):
    with pytest.raises(UsageError, match="no runs yet"):
        train(faulty, tmp_path, resume="latest")
    assert not (tmp_path / "faulty").exists()


def test_the_newest_run_that_can_be_resumed_is_named(faulty, finished, tmp_path):
    runs.create_run(tmp_path / "faulty").set_status("failed")
    with pytest.raises(UsageError) as caught:
        train(faulty, tmp_path, resume="latest")
    assert "--resume 1" in caught.value.hint


def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_is_taken(faulty, finished, cli,
                                                                          tmp_path):
    expected, good = rows(finished), tensors(finished / "checkpoints/000000003072.safetensors")
    newest = finished / "checkpoints/000000003072.safetensors"
    newest.write_bytes(newest.read_bytes()[:-7])
    done = cli("train", faulty, "--resume", "--runs-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: skipping 000000003072.safetensors: this file is damaged" in done.stderr
    assert tensors(newest) == good and rows(finished) == expected


def test_only_damaged_checkpoints(faulty, finished, tmp_path):
    for path in (finished / "checkpoints").iterdir():
        path.write_bytes(b"")
    before = state(finished)
    with pytest.raises(UsageError, match="none of this run's checkpoints can be read"):
        train(faulty, tmp_path, resume="latest")
    assert state(finished) == before


@pytest.mark.parametrize("change", some_or_all(
    [{"policy.hidden_size": 32}, {"policy.num_layers": 2},
                                    {"vec.total_agents": 63, "env.agents": 2,
                                     "train.minibatch_size": 8}], 0))
def test_a_resume_that_does_not_fit_touches_nothing(change, faulty, finished, tmp_path):
    before = state(finished)
    with pytest.raises(UsageError):
        train(faulty, tmp_path, change, resume="latest")
    after = state(finished)
    assert after.pop("env.log") == before.pop("env.log") and after == before


@pytest.fixture(scope="module")
def renamed(faulty, tmp_path_factory):
    """A folder: the same environment, when its folder, header and ini are called `other`."""
    other = tmp_path_factory.mktemp("renamed") / "other"
    other.mkdir()
    (other / "other.h").write_text((faulty / "faulty.h").read_text())
    (other / "other.ini").write_text((faulty / "faulty.ini").read_text()
                                     .replace("env_name = faulty", "env_name = other"))
    return other


def test_a_run_of_a_renamed_environment_goes_on_to_the_same_bytes(renamed, finished, tmp_path,
                                                                  capsys):
    """From the middle of episodes, in its own folder; and says how it is named from now on."""
    expected, wanted = rows(finished), tensors(finished / "checkpoints/000000003072.safetensors")
    for path in good_checkpoints(finished)[1:]:
        path.unlink()                                   # as if it had ended after two epochs
    with pytest.raises(UsageError) as caught:
        train(renamed, tmp_path, resume="latest")
    assert caught.value.hint.endswith(f"if it was called faulty: --resume {finished}")
    assert main(["train", str(renamed), "--resume", str(finished), "--runs-dir",
                     str(tmp_path)]) == 0
    assert rows(finished) == expected
    assert tensors(finished / "checkpoints/000000003072.safetensors") == wanted
    out, err = capsys.readouterr()
    assert err.count("the policy was trained as faulty: its sizes are those of other") == 1
    assert f"puffer-sdk eval {renamed} --load-model-path {finished} " in out.splitlines()[-1]
    assert config.resolve(renamed, ini=finished / "config.ini").base.env_name == "other"


@pytest.mark.parametrize("over", some_or_all(
    ["", "[eval]\nidle_action = 0, 0\n"], 0))      # settings fit, or not
def test_a_run_of_another_environment_is_refused(over, finished, squared, tmp_path):
    before = state(finished)
    (tmp_path / "over.ini").write_text(over)
    with pytest.raises(UsageError) as caught:
        train(squared, tmp_path, resume=str(finished), ini=tmp_path / "over.ini")
    assert "`puffer-sdk runs squared` lists those of squared" in caught.value.hint
    assert state(finished) == before


def test_a_run_that_is_going_on_is_not_resumed(faulty, start, tmp_path):
    process = start("train", faulty, "--runs-dir", tmp_path, "--train.total-timesteps", "1e12")
    run = tmp_path / "faulty/0001"
    wait_until(lambda: (run / "checkpoints").is_dir() and list((run / "checkpoints").iterdir()))
    with pytest.raises(UsageError, match="still in progress") as caught:
        train(faulty, tmp_path, resume="1")
    assert str(process.pid) in caught.value.actual
    assert process.poll() is None


def test_a_run_that_has_just_begun_is_not_resumed_either(tmp_path):
    """It has no checkpoint yet: to start anew, as for a run that left none, is no advice."""
    run = runs.create_run(tmp_path / "faulty")
    with locks.locked(run), pytest.raises(UsageError, match="still in progress"):
        training.find_resumable(tmp_path / "faulty", "1")
    with pytest.raises(UsageError, match="no checkpoint to resume from"):
        training.find_resumable(tmp_path / "faulty", "1")


def test_a_run_of_a_machine_that_is_gone_can_be_resumed(faulty, finished, tmp_path):
    """run.json says running, on a host that nobody can ask; but nobody holds the run."""
    run = runs.Run(finished)
    run.set_status("running")
    run.set_progress(host="a-container-that-was", pid=1, pid_started=1)
    assert run.status == "running"
    train(faulty, tmp_path, resume="1")
    assert run.status == "finished"


# -- what a refused or failed run leaves -----------------------------------------------------------

@pytest.mark.parametrize("settings", some_or_all([{"vec.total_agents": 63, "env.agents": 2,
                                       "train.minibatch_size": 8},
                                      {"policy.torch_class": "nowhere.py:Net"}], 0))
def test_a_run_that_is_refused_leaves_no_folder(settings, faulty, tmp_path):
    with pytest.raises(UsageError):
        train(faulty, tmp_path, settings)
    assert list((tmp_path / "faulty").iterdir()) == []


@pytest.mark.parametrize(("fault", "name"), some_or_all([
    ("NAN_OBSERVATION", "observations not finite: nan"), ("NAN_REWARD", "rewards not finite: nan"),
    ("HUGE_REWARD", "not finite|overflows")], 0))
def test_numbers_that_went_bad_stop_the_run_by_name(fault, name, faulty, finished, tmp_path):
    good = {path: path.read_bytes() for path in good_checkpoints(finished)}
    bad = overrides(fault, at=3) | {"train.total_timesteps": 9 * BATCH}
    with pytest.raises(RunError, match=name) as caught:
        train(faulty, tmp_path, bad, resume="1")
    assert {path: path.read_bytes() for path in good_checkpoints(finished)} == good
    assert "the last good checkpoint is" in caught.value.hint
    assert "000000003072.safetensors" in caught.value.hint
    assert runs.Run(finished).status == "failed"
    assert len(rows(finished)) == 6 and leftovers(tmp_path) == []


def test_a_nan_in_the_envs_log_is_null_and_harmless(faulty, cli, tmp_path):
    done = cli("train", faulty, "--runs-dir", tmp_path, "--format", "json",
               *flags(overrides("NAN_LOG")))
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout, parse_constant=pytest.fail)["metrics"]
    assert metrics["env/perf"] is None and metrics["env/score"] > 0
    assert rows(tmp_path / "faulty/0001")[-1]["env/perf"] is None


def test_a_full_disk_costs_no_checkpoint_that_was_there(small_disk, faulty, cli):
    folder, options = small_disk
    done = cli("train", faulty, "--runs-dir", folder, "--train.total-timesteps", 10**6,
               "--base.checkpoint-interval", 1, "--policy.hidden-size", 512 if options else 16,
               **options)
    assert done.returncode == 4, done.stderr
    assert "No space left on device" in done.stderr or "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    run = folder / "faulty/0001"
    saved = good_checkpoints(run)
    assert options or (len(saved) > 2 and saved[-1].name in done.stderr)
    assert leftovers(folder) == []
    assert [row["epoch"] for row in rows(run)] == list(range(1, len(rows(run)) + 1))


@long_only
def test_a_checkpoint_that_does_not_fit_on_the_disk(faulty, cli, tmp_path):
    first = cli("train", faulty, "--runs-dir", tmp_path, "--policy.hidden-size", 512,
                "--train.total-timesteps", 2 * BATCH)
    assert first.returncode == 0, first.stderr
    run = tmp_path / "faulty/0001"
    before = {path: path.read_bytes() for path in good_checkpoints(run)}
    done = cli("train", faulty, "--runs-dir", tmp_path, "--resume", "--train.total-timesteps",
               4 * BATCH, preexec_fn=limit_files)
    assert done.returncode == 4
    assert "cannot save the checkpoint; the ones before it are untouched" in done.stderr
    assert {path: path.read_bytes() for path in good_checkpoints(run)} == before
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("place", some_or_all(["/proc/nowhere", "FILE"], 0))
def test_a_place_that_cannot_be_written(place, faulty, cli, tmp_path):
    (tmp_path / "FILE").write_text("")
    done = cli("train", faulty, "--runs-dir", place if place[0] == "/" else tmp_path / "FILE/runs")
    assert done.returncode == 4
    assert "cannot create a run folder" in done.stderr and "--runs-dir" in done.stderr


def test_two_runs_at_once_get_two_folders(faulty, start, tmp_path):
    both = [start("train", faulty, "--runs-dir", tmp_path, "--format", "json") for _ in range(2)]
    folders = set()
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        folders.add(json.loads(out)["folder"])
    assert folders == {f"{tmp_path}/faulty/0001", f"{tmp_path}/faulty/0002"}
    first, second = (rows(tmp_path / f"faulty/{number}") for number in ("0001", "0002"))
    assert first == second


# -- streams --------------------------------------------------------------------------------------

def test_json_is_one_document_and_nothing_else(faulty, cli, tmp_path):
    done = cli("train", faulty, "--runs-dir", tmp_path, "--format", "json")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and result["steps"] == 6 * BATCH
    assert result["folder"] == f"{tmp_path}/faulty/0001"
    assert result["checkpoint"].endswith("000000003072.safetensors")
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("closed", some_or_all(
    ["1>&-", "2>&-", "0<&- 1>&- 2>&-", "| head -n 0", "2>/dev/full"], 3, 4))
def test_training_goes_on_when_nobody_listens(closed, faulty, tmp_path):
    words = " ".join([*COMMAND, "train", str(faulty), "--runs-dir", str(tmp_path)])
    done = subprocess.run(["bash", "-c", f"{words} {closed}; exit ${{PIPESTATUS[0]}}"],
                          capture_output=True, check=False)
    assert done.returncode == 0
    assert runs.find_run(tmp_path / "faulty", "1").status == "finished"
    assert len(rows(tmp_path / "faulty/0001")) == 6
    good_checkpoints(tmp_path / "faulty/0001")


def on_a_terminal(args: list, rows: int = 24, columns: int = 80, **env) -> tuple[str, bool]:
    """What a command writes to a terminal, and whether it left the terminal as it was."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = termios.tcgetattr(theirs)
    seen = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 65536):
                seen.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    done = subprocess.run([*COMMAND, *map(str, args)], stdin=theirs, stdout=theirs, stderr=theirs,
                          check=False, env={**environment, "TERM": "xterm", **env})
    restored = termios.tcgetattr(theirs) == before
    os.close(theirs)
    reader.join()
    os.close(ours)
    assert done.returncode == 0, seen
    return seen.decode(), restored


@pytest.mark.parametrize("env", some_or_all([{"NO_COLOR": "1"}, {"TERM": "dumb"}], 0))
def test_no_escape_codes_for_those_who_ask(env, faulty, tmp_path):
    text, restored = on_a_terminal(["train", faulty, "--runs-dir", tmp_path], **env)
    assert restored and "\x1b" not in text and "100%" in text


def test_the_panel_on_a_terminal(faulty, tmp_path):
    text, restored = on_a_terminal(["train", faulty, "--runs-dir", tmp_path, "--tag", "seen"])
    assert restored
    assert "\x1b[?25l" in text and text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)
    assert "faulty · run 0001 · seen" in plain and "100%" in plain and "done" in plain
    assert max(len(line) for line in plain.splitlines() if line[:1] in "│╭╰") == 80


# -- metrics --------------------------------------------------------------------------------------

def test_the_reference_page_lists_the_keys_of_a_real_run(finished):
    page = (ROOT / "docs/reference/metrics.md").read_text()
    documented = re.findall(r"^\| `([\w/]+)` \|", page, re.M)
    lines = (finished / "metrics.jsonl").read_text().splitlines()
    means = [key[4:] for key in documented if key.startswith("env/")]
    windows = {f"window/{name}" for name in means}
    windows |= {f"{kind}/{name}{of}" for kind in ("eval", "claim") for of in ("", "_interval")
                for name in means if name != "n"}
    # of self-play, a variable number of agents, environments in Python, several processes
    elsewhere = {key for key in {*documented, *windows} if key.startswith(("eval/", "selfplay/"))}
    elsewhere |= {"train/alive", "train/restarts", "time/exchange", "time/waited_for",
                 "train/lacking"}
    assert {*documented, *windows} - elsewhere == set().union(*map(json.loads, lines))
    assert len(documented) == len(set(documented))


def test_metrics_add_up(finished):
    for number, line in enumerate((finished / "metrics.jsonl").read_text().splitlines(), 1):
        row = json.loads(line)
        assert row["epoch"] == number and row["step"] == number * BATCH
        assert row["time/rollout"] == pytest.approx(row["time/env"] + row["time/forward"],
                                                    rel=0.2, abs=2e-3)
        assert row["env/episode_length"] == 7 and 0 <= row["env/perf"] <= 1
        assert row["loss/approx_kl"] >= 0 and 0 <= row["loss/clipfrac"] <= 1


def test_the_run_folder_tells_the_whole_story(finished):
    assert {path.name for path in finished.iterdir()} == {
        "run.json", "config.ini", "spec.json", "metrics.jsonl", "checkpoints", "env.log",
        "actions.journal", "best.safetensors", "code"}
    info = json.loads((finished / "run.json").read_text())
    assert (info["status"], info["step"], info["total"]) == ("finished", 3072, 3072)
    assert json.loads((finished / "spec.json").read_text())["struct"] == "Faulty"


@long_only
def test_what_is_printed_in_the_end_names_a_goal_that_was_missed_and_the_settings(squared, cli,
                                                                                  tmp_path):
    """The next command fits the policy, also where the ini would not."""
    runs_dir = ["--runs-dir", str(tmp_path)]
    done = cli("train", squared, *runs_dir, "--env.size", "7", "--train.total-timesteps", "70000",
               "--train.stop-at-goal", "0")
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert lines["missed"] == "the goal perf >= 0.95"
    assert lines["next"] == f"puffer-sdk eval {squared} --env.size 7 --runs-dir {tmp_path}"
    evaluated = cli(*lines["next"].split()[1:], "--eval.episodes", "10")
    assert evaluated.returncode == 1 and "not met" in evaluated.stdout, evaluated.stderr
