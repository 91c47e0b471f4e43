"""Run folders: numbers that nobody shares, states that survive a kill, nothing half-written."""
from __future__ import annotations

import io
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.claims import claim

from puffer_sdk import cli
from puffer_sdk.base import files
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.training import runs
from puffer_sdk.training.find_model import find_model
from puffer_sdk.training.run_comparison import best_score
from puffer_sdk.training.runs import create_run, find_run, latest_run, list_runs


@pytest.fixture(autouse=True)
def in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "grid"


def finished(folder, tag="", settings="", records=(), **claimed):
    run = create_run(folder, tag)
    run.config_path.write_text(settings)
    run.metrics_path.write_text("".join(json.dumps(record) + "\n" for record in records))
    run.set_status("finished", evaluation=claim(**claimed) if claimed else None)
    return run


def end_of_a_process():
    """What run.json notes of a process that is gone."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    return child.pid


def test_numbers_count_up(folder):
    assert [create_run(folder).folder.name for _ in range(3)] == ["0001", "0002", "0003"]
    (folder / "12345").mkdir()
    (folder / "notes").mkdir()
    (folder / "0099").write_text("a file")
    assert create_run(folder).number == 12346
    assert [run.number for run in list_runs(folder)] == [1, 2, 3, 12345, 12346]


def test_a_new_run_is_whole(folder):
    run = create_run(folder, "first", total=1000)
    assert run.status == "running" and run.tag == "first" and run.checkpoints_path.is_dir()
    assert run.info["pid"] == os.getpid() and run.info["total"] == 1000
    assert run.started.tzinfo is not None
    assert run.metrics() == [] and run.last_metrics() == {} and run.settings() == {}
    assert {item.name for item in folder.iterdir()} == {"0001"}     # no drafts


def _create_many(folder, start, count, queue):
    start.wait()
    queue.put([create_run(folder).number for _ in range(count)])


def test_processes_that_race_get_folders_of_their_own(folder):
    context = multiprocessing.get_context("fork")
    start, queue = context.Event(), context.Queue()
    racers = [context.Process(target=_create_many, args=(folder, start, 25, queue))
              for _ in range(4)]
    for racer in racers:
        racer.start()
    start.set()
    numbers = sorted(number for _ in racers for number in queue.get(timeout=60))
    for racer in racers:
        racer.join()
    assert numbers == list(range(1, 101))
    assert all(run.info["status"] == "running" for run in list_runs(folder))


def test_statuses(folder):
    run = create_run(folder)
    run.set_progress(step=64)
    assert run.status == "running" and run.info["step"] == 64
    for status in ("finished", "interrupted", "failed"):
        run.set_status(status, step=128, error="why")
        assert run.status == status and run.info["step"] == 128 and run.info["ended"]
    run.set_status("running")
    assert run.status == "running" and run.info["ended"] is None
    with pytest.raises(ValueError, match="asleep"):
        run.set_status("asleep")


def test_a_process_that_is_gone_was_killed(folder):
    run = create_run(folder)
    run.set_progress(pid=end_of_a_process())
    assert run.status == "killed"


def test_a_reused_process_id_is_not_our_run(folder):
    run = create_run(folder)
    run.set_progress(pid_started=run.info["pid_started"] - 1)
    assert run.status == "killed"


def test_another_machines_run_is_believed(folder):
    run = create_run(folder)
    run.set_progress(pid=end_of_a_process(), host="elsewhere")
    assert run.status == "running"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"status": 3}',
                                  '{"status": "running", "pid": "x"}'])
def test_damaged_states_do_not_hide_a_run(folder, text):
    run = create_run(folder)
    (run.folder / "run.json").write_text(text)
    assert run.status in ("damaged", "running")
    assert list_runs(folder) == [run]
    assert cli.main(["runs", "list", "--runs-dir", str(folder.parent)]) == 0


def test_half_written_metrics_are_passed_over(folder):
    run = create_run(folder)
    run.metrics_path.write_text('{"step": 1}\n{"step": 2}\n{"st')
    assert run.metrics() == [{"step": 1}, {"step": 2}]
    with run.metrics_path.open("a") as file:       # a resumed run writes on
        file.write('\n{"step": 3, "sps": 7}\n')
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
    assert run.last_metrics() == {"step": 3, "sps": 7}


def test_the_last_record_of_a_long_file(folder):
    run = create_run(folder)
    line = json.dumps({"step": 1, "text": "x" * 1000}) + "\n"
    run.metrics_path.write_text(line * 2000 + '{"step": 2}\n')
    assert run.last_metrics() == {"step": 2}


def test_checkpoints_in_order(folder):
    run = create_run(folder)
    for name in ("10", "9", "1000"):
        (run.checkpoints_path / f"step_{name}.safetensors").touch()
    (run.checkpoints_path / ".step_2000.safetensors").touch()
    (run.checkpoints_path / "step_3000.tmp").touch()
    assert [path.stem for path in run.checkpoints()] == ["step_9", "step_10", "step_1000"]
    create_run(folder)
    assert latest_run(folder).number == 2
    assert latest_run(folder, with_checkpoint=True) == run
    assert latest_run(folder.parent / "none") is None


def test_runs_are_found(folder):
    first, second = create_run(folder), create_run(folder)
    assert find_run(folder, "1") == find_run(folder, "0001") == first
    assert find_run(folder, "latest") == second
    assert find_run(folder.parent, str(second.folder)) == second
    for text in ("3", "x", "-1", "", "0"):
        with pytest.raises(UsageError, match="there is no run") as caught:
            find_run(folder, text)
        assert caught.value.expected == "one of 1, 2"
    for text in ("0003", "notes"):              # folders that are no run
        (folder / text).mkdir()
    (folder / "notes" / "run.json").write_text("{}")
    for text in ("0003", "notes"):
        with pytest.raises(UsageError, match="there is no run"):
            find_run(folder, str(folder / text))
    with pytest.raises(UsageError, match="no runs yet"):
        find_run(folder.parent / "none", "latest")


def test_a_full_disk_is_an_error_and_loses_nothing(folder, monkeypatch):
    run = create_run(folder)
    before = (run.folder / "run.json").read_text()

    def full(path, mode="rb", buffering=-1):
        if mode == "rb":
            return read(path)
        raise OSError(28, "No space left on device")

    read = files.open
    monkeypatch.setattr(files, "open", full)
    with pytest.raises(RunError, match="cannot save the run's state") as caught:
        run.set_status("finished")
    assert caught.value.exit_status == 4 and "No space left" in caught.value.detail
    with pytest.raises(RunError, match="cannot create a run folder"):
        create_run(folder)
    monkeypatch.undo()
    assert (run.folder / "run.json").read_text() == before
    assert {item.name for item in folder.iterdir()} == {"0001"}
    assert {item.name for item in run.folder.iterdir()} == {"run.json", "checkpoints"}


def test_a_place_that_cannot_hold_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot create a run folder"):
        create_run(tmp_path / "file" / "grid")


def test_deleting(folder):
    run, running = finished(folder), create_run(folder)
    runs.delete_run(run)
    with pytest.raises(UsageError, match="run 2 is running"):
        runs.delete_run(running)
    assert [item.name for item in folder.iterdir()] == ["0002"]


def test_best_score(folder):
    assert best_score([]) is None
    finished(folder, records=[{"env/perf": 0.5, "window/perf": 0.5}])       # nobody measured it
    assert best_score(list_runs(folder)) is None
    finished(folder, score=3.0)
    assert best_score(list_runs(folder)) == {"metric": "score", "value": 3.0, "run": 2}
    finished(folder, perf=0.7)
    assert best_score(list_runs(folder)) == {"metric": "perf", "value": 0.7, "run": 3}


# -- the command


@pytest.fixture
def three(folder, tmp_path):
    (tmp_path / ".git").mkdir()
    finished(folder, "base", "[train]\ngamma = 0.9\nseed = 1\n",
             [{"step": 1_500_000, "sps": 9e5, "seconds": 6.0, "env/perf": 0.5, "time/env": 1.0}],
             perf=0.5)
    finished(folder, "long", "[train]\ngamma = 0.99\nseed = 1\n",
             [{"loss/value": 0.2, "step": 3_000_000, "sps": 260_000.0, "env/perf": 0.75,
               "env/score": 0.1}], perf=0.75, score=0.1)
    create_run(folder, "now")
    return folder


def test_listing(three, capsys):
    for args in (["runs"], ["runs", "grid"], ["runs", "list", "grid"]):
        assert cli.main(args) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert lines[0] == ["run", "age", "steps", "SPS", "perf", "score", "status", "tag"]
        assert lines[1][0] == "1" and lines[1][3:] == ["1.5M", "250k", "0.5", "-", "finished",
                                                       "base"]
        assert lines[3][-2:] == ["running", "now"]
    assert cli.main(["runs", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["runs"]
    assert [row["status"] for row in rows] == ["finished", "finished", "running"]
    assert rows[1]["perf"] == 0.75 and rows[0]["env"] == "grid"


def test_listing_projects_that_lie_side_by_side(tmp_path, capsys):
    """Each `new` makes a project of its own, with its runs within."""
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / f"{name}.h").touch()
        finished(tmp_path / name / "runs" / name)
    assert cli.main(["runs"]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows == [["env", "run"], ["one", "1"], ["two", "1"]]


def test_runs_of_an_environment_that_was_renamed(tmp_path, capsys, monkeypatch):
    """They stand under the old name: the list shows them, and errors say how to use them."""
    for name in ("boxes", "ships"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.h").touch()
    (tmp_path / "pyproject.toml").touch()
    for name in ("crates", "ships", "crates"):
        run = finished(tmp_path / "runs" / name)
        (run.checkpoints_path / "1.safetensors").touch()
    monkeypatch.chdir(tmp_path)
    assert cli.main(["runs", "boxes"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["env", "run"], ["ships", "1"], ["crates", "1"], ["crates", "2"]]
    assert err.startswith("no runs yet; create one: puffer-sdk train boxes\n")
    assert err.endswith(" puffer-sdk eval boxes --load-model-path runs/crates/0002\n")
    with pytest.raises(UsageError) as caught:
        find_model(tmp_path / "runs" / "boxes", "latest")
    assert "if it was called crates: --load-model-path runs/crates/0002" in caught.value.hint
    assert cli.main(["runs", "plot", "boxes/1"]) == 2
    assert capsys.readouterr().err.endswith("if it was called crates: runs/crates/0002\n")
    (tmp_path / "crates").mkdir()           # an environment of its own
    (tmp_path / "crates" / "crates.h").touch()
    with pytest.raises(UsageError) as caught:
        find_model(tmp_path / "runs" / "boxes", "latest")
    assert "crates" not in caught.value.hint
    assert cli.main(["runs", "boxes", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"runs": []}


@pytest.mark.parametrize("name", ["boxes", "gymnasium:CartPole-v1", "gymnasium:ALE/Pong-v5",
                                  "gymnasium:mine:Cart-v0", "walk.py:Walk"])
def test_the_command_that_trains_takes_the_environments_name(name, tmp_path):
    home = env_source.find(name).runs_dir(tmp_path / "runs") if ":" in name else tmp_path / name
    with pytest.raises(UsageError) as caught:
        find_model(home, "latest")
    assert caught.value.hint.startswith(f"puffer-sdk train {name}; ")


def test_comparing(three, capsys):
    assert cli.main(["runs", "compare", "1", "grid/2"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["train.gamma", "0.9", "0.99"] in lines and ["env/perf", "0.5", "0.75"] in lines
    assert not any("train.seed" in line or "time/env" in line for line in lines)
    assert cli.main(["runs", "compare", "1", "2", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["settings"] == {"train.gamma": ["0.9", "0.99"]}
    assert document["metrics"]["env/score"] == [None, 0.1]
    assert list(document["metrics"]) == ["env/perf", "env/score", "step", "sps", "seconds",
                                         "loss/value"]      # what people look for comes first


def test_deleting_asks_first(three, capsys, monkeypatch):
    for answer, status in (("", 2), ("\n", 1), ("no\n", 1)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert cli.main(["runs", "delete", "1"]) == status
        assert "delete this run permanently?" in capsys.readouterr().err
    assert len(list_runs(three)) == 3
    assert cli.main(["runs", "delete", "1", "3", "--yes"]) == 2
    assert len(list_runs(three)) == 3           # the running one spares the others
    assert cli.main(["runs", "delete", "1", "1", "grid/2", "-y"]) == 0
    assert [run.number for run in list_runs(three)] == [3]
    list_runs(three)[0].set_status("finished")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert cli.main(["runs", "delete", "3"]) == 0 and not list_runs(three)


def test_refusals(three, capsys):
    for args, part in ((["compare", "1", "9"], "one of 1, 2, 3"),
                       (["grdi"], "did you mean 'grid'?"), (["delete"], "N"),
                       (["compare", "1", "none/2"], "no environment called 'none'")):
        assert cli.main(["runs", *args]) == 2
        assert part in capsys.readouterr().err, args


def test_a_device_is_written_to_and_stays_one(tmp_path):
    master, slave = os.openpty()
    files.save_typed(Path(os.ttyname(slave)), "a line", what="a line")
    assert os.read(master, 100) == b"a line" and Path(os.ttyname(slave)).is_char_device()
    os.close(master)
    os.close(slave)
    (tmp_path / "link").symlink_to("real")
    files.save_typed(tmp_path / "link", "a line", what="a line")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "a line"
