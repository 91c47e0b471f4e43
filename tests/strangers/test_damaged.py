"""Damaged is a state: a file that is not what puffer-sdk wrote is named, and hides nothing else."""
from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from helpers.short_or_long import long_only, some_or_all
from helpers.strangers import make_sweep, puffer, run_of, sweep_of

from puffer_sdk.base import paths, records
from puffer_sdk.base.errors import Damaged, PufferError, RunError, UsageError
from puffer_sdk.cli import cmd_runs as runs_command
from puffer_sdk.policy import export
from puffer_sdk.sweeping import results
from puffer_sdk.sweeping.store import FAILED
from puffer_sdk.sweeping.sweep import open_sweep
from puffer_sdk.training import checkpoint, find_model, plotting, resuming, runs
from puffer_sdk.training.run_comparison import compare_runs

pytest_plugins = ["helpers.strangers_fixtures"]

DEEP = "[" * 100_000
INSTEAD = ['"text"', "[]", "{}", "null", "-1", "1e999", "-1e999", "1" * 400, "1.5", "true", "NaN",
           '"\\u0000\\ud800"', '[["a"]]', "1e308"]
WHOLE = ["", "null", "7", "[]", '"text"', DEEP, "{", '{"a": ' * 50_000, "\0\0", "{}\n{}", "\ud800"]


def places(value: object, here: tuple = ()) -> Iterator[tuple]:
    """The way to each value within."""
    for key, inner in value.items() if isinstance(value, dict) else \
            enumerate(value[:2]) if isinstance(value, list) else ():
        yield (*here, key)
        yield from places(inner, (*here, key))


def changed(value: object) -> Iterator[tuple[str, str]]:
    """(what, JSON text) with one value changed, or gone: four changes a value, in turns."""
    for number, place in enumerate(places(value)):
        other = copy.deepcopy(value)
        within = other
        for key in place[:-1]:
            within = within[key]
        within[place[-1]] = "<HERE>"
        text = json.dumps(other)
        for turn in range(4):
            instead = INSTEAD[(4 * number + turn) % len(INSTEAD)]
            yield f"{place} {instead[:20]}", text.replace('"<HERE>"', instead)
        if isinstance(within, dict):
            del within[place[-1]]
            yield f"{place} gone", json.dumps(other)
    for whole in WHOLE:
        yield f"whole {whole[:20]!r}", whole


def write(path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


# ---- runs --------------------------------------------------------------------------------------

@long_only
def test_every_change_of_run_json_is_shown_or_read(project):
    run, count = runs.Run(run_of(project)), 0
    info = {**run.info, "group": {"id": "x", "size": 2, "hosts": ["a", "b"]}}
    for what, text in changed(info):
        write(run.folder / "run.json", text)
        row = runs_command._row("squared", run)
        runs_command._print_list([row], several=False)
        assert row["status"] in (*runs.STATUSES, "killed", "damaged"), what
        count += row["status"] == "damaged"
        json.dumps(row)
    assert count > 25


@long_only
def test_every_change_of_a_line_of_metrics_is_shown_or_read(project, monkeypatch):
    run = runs.Run(run_of(project))
    good = run.metrics()
    for what, text in changed(good[-1]):
        write(run.metrics_path, "".join(json.dumps(row) + "\n" for row in good[:-1]) + text + "\n")
        runs_command._row("squared", run)
        read = run.metrics()
        assert read[:-1] == good[:-1] or read == good[:-1] or "\n" in text, what
        compare_runs(run, run)
        plotting.curves([run])


def test_one_damaged_run_hides_no_other(project, capsys):
    for number, text in enumerate(["{", DEEP, '{"status": "running", "pid": 1e999}', "fifo",
                                   "folder", '{"status": 7}', "gone", "link"], 2):
        folder = shutil.copytree(run_of(project), run_of(project).with_name(f"{number:04d}"))
        (folder / "run.json").unlink()
        if text == "fifo":
            os.mkfifo(folder / "run.json")
        elif text == "folder":
            (folder / "run.json").mkdir()
        elif text == "link":
            (folder / "run.json").symlink_to("../0001/run.json")
        elif text != "gone":
            (folder / "run.json").write_text(text)
    status, out, said = puffer(capsys, "runs")
    assert status == 0 and out.count("damaged") == 8 and out.count("finished") == 1
    assert "run.json" in said and "pid" in said
    assert puffer(capsys, "runs", "compare", "1", "2")[0] == 0
    assert puffer(capsys, "eval", "--load-model-path", "1", "--eval.episodes", "10")[0] == 1


@pytest.mark.parametrize("name", some_or_all(
    ["metrics.jsonl", "config.ini", "run.json", "actions.journal"], 0, 1))
def test_a_pipe_is_not_waited_for(project, capsys, name):
    place = run_of(project) / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    status, out, _ = puffer(capsys, "runs")
    assert status == 0 and ("damaged" in out) == (name in ("metrics.jsonl", "run.json"))
    for command in ("runs plot 1", "runs compare 1 1", "runs --format json"):
        assert puffer(capsys, *command.split())[0] in (0, 2)
    status, _, said = puffer(capsys, "train", "--resume", "--train.total-timesteps", "131072")
    assert status == 2 and name in said


def test_damaged_lines_of_metrics_are_left_out_and_counted(project, capsys):
    run = runs.Run(run_of(project))
    good = run.metrics_path.read_text().splitlines()
    lines = [good[0], "{", good[1], '{"step": "many"}', DEEP, *good[2:], '{"step": 1, "half'] \
        if len(good) > 1 else [good[0], "{", '{"step": "many"}', DEEP, '{"step": 1, "half']
    run.metrics_path.write_text("\n".join(lines))
    assert run.metrics() == [json.loads(line) for line in good]
    assert "3 damaged lines left out" in capsys.readouterr().err
    assert puffer(capsys, "train", "--resume", "--train.total-timesteps", "131072")[0] == 0
    assert not [line for line in run.metrics_path.read_text().splitlines() if "many" in line]


# ---- checkpoints -------------------------------------------------------------------------------

def last(project):
    return runs.Run(run_of(project)).checkpoints()[-1]


def rewritten(path, text: str) -> None:
    """The same tensors and checksum, and this text as the facts."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(str(path), framework="numpy") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, {**metadata, "puffer": text})


def test_every_change_of_the_metadata_is_damaged_or_read(project):
    """In what the parent reads; the rest is refused where it is used."""
    facts = checkpoint.load(last(project)).facts
    facts = {**facts, "goal": {"goal": "perf >= 0.9", "step": 1, "seconds": 1.0}, "replay": {
        "epoch": 0, "bytes": 0, "checksum": 1, "watch": [0.0, 0.0],
        "restarts": {"ticks": 0, "epochs": 0, "entries": 0.0, "length": 0.0}}}
    facts["config"] = {section: dict(list(facts["config"][section].items())[:3])
                       for section in ("train", "policy", "env")}
    refused = 0
    for what, text in changed(facts):
        if "\ud800" in text:
            continue
        rewritten(last(project), text)
        try:
            export.read_policy(last(project))
        except UsageError as error:
            refused += 1
            assert str(last(project)) in str(error.where), what
    assert refused > 40


def test_one_flipped_bit_is_found(project):
    data = last(project).read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    rng = np.random.default_rng(0)
    for place in [size, len(data) - 1, *rng.integers(size, len(data), 60)]:
        bad = bytearray(data)
        bad[place] ^= 1 << int(rng.integers(8))
        last(project).write_bytes(bad)
        with pytest.raises(Damaged, match="tensors are damaged"):
            checkpoint.load(last(project))


def test_any_flipped_bit_ends_in_a_sentence(project):
    data = last(project).read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    rng = np.random.default_rng(1)
    for place in [*range(12), *rng.integers(0, size, 150)]:
        bad = bytearray(data)
        bad[place] ^= 1 << int(rng.integers(8))
        last(project).write_bytes(bad)
        with suppress(UsageError, RunError):
            export.read_policy(last(project))
    for cut in (0, 1, 7, 8, 100, size - 1, size, size + 1, len(data) - 1):
        last(project).write_bytes(data[:cut])
        with pytest.raises(UsageError):
            checkpoint.load(last(project))


def test_a_checkpoint_without_a_checksum_loads(project):
    from safetensors.numpy import load_file, save_file

    past = checkpoint.load(last(project))
    facts = {name: value for name, value in past.facts.items() if name != "checksum"}
    save_file(load_file(last(project)), last(project), {"puffer": json.dumps(facts)})
    again = checkpoint.load(last(project))
    assert again.facts == facts and again.tensors.keys() == past.tensors.keys()


@pytest.mark.parametrize("damage", ["tensors", "metadata", "window", "pipe", "cut", "link"])
def test_resume_takes_the_checkpoint_before(project, capsys, damage):
    newest = last(project)
    facts = checkpoint.load(newest).facts
    older = newest.with_name("000000000001.safetensors")
    shutil.copy(newest, older)
    if damage in ("tensors", "cut"):
        data = bytearray(newest.read_bytes())
        data[-1] ^= 1
        newest.write_bytes(data if damage == "tensors" else data[:-5])
    elif damage in ("metadata", "window"):
        more = {"step": "many"} if damage == "metadata" else {"window": [["a", {}], [1]]}
        rewritten(newest, json.dumps({**facts, **more}))
    else:
        newest.unlink()
        os.mkfifo(newest) if damage == "pipe" else newest.symlink_to(project.parent / "outside")
    past = resuming.find_resumable(run_of(project).parent, "1")
    assert past.checkpoint.path == older
    assert f"skipping {newest.name}" in capsys.readouterr().err


@long_only
def test_damaged_best_weights_do_not_keep_a_run_from_going_on(project, capsys):
    best = run_of(project) / "best.safetensors"
    best.write_bytes(b"damaged")
    status, _, said = puffer(capsys, "train", "--resume", "--train.total-timesteps", "131072")
    assert status == 0 and "best.safetensors is left out" in said


@pytest.mark.parametrize("place", some_or_all(["pipe", "link"], 0))
def test_what_is_no_file_in_place_of_best_is_refused_before_the_first_step(project, capsys, place):
    """It could not be written at the end either, nor the checkpoint after it."""
    best = run_of(project) / "best.safetensors"
    best.unlink(missing_ok=True)
    os.mkfifo(best) if place == "pipe" else best.symlink_to(project.parent / "outside")
    status, said, told = puffer(capsys, "train", "--resume", "--train.total-timesteps", "131072")
    assert status == 2 and "best.safetensors" in told and "%" not in said + told


def test_damaged_best_weights_are_named_where_others_are_taken(project, capsys, monkeypatch):
    monkeypatch.setattr("puffer_sdk.base.ui._warned", set())
    best = run_of(project) / "best.safetensors"
    best.write_bytes(b"damaged")
    assert find_model.find_model(run_of(project).parent, "best") == last(project)
    said = capsys.readouterr().err
    assert "best.safetensors is left out" in said and "the last weights" in said


# ---- sweeps ------------------------------------------------------------------------------------

def shown(place) -> results.SweepResult | None:
    """What --show, --best and --map make of it; None where it is refused in a sentence."""
    try:
        store, plan = open_sweep(place)
        found = results.find_result(place, store, plan, store.trials())
        results.table(found)
        results.as_json(found)
        ini = found.ini_of(found.best_trial)
        assert "[core]" not in ini and ini.startswith("# sweep 1 of squared, trial")
        return found
    except PufferError as error:
        assert error.exit_status in (2, 4)
        return None


def test_every_change_of_sweep_json_is_damaged_or_read(project):
    place = sweep_of(project)
    kept = (place / "sweep.json").read_text()
    for _, text in changed(json.loads(kept)):
        if "://" in text:
            continue
        write(place / "sweep.json", text)
        shown(place)
    write(place / "sweep.json", kept)
    assert shown(place)


BAD_PLANS = [
    {"env": "squared\n[core]\nfsmonitor = touch"}, {"held": {"core.fsmonitor": "a"}},
    {"held": {"train.beta1": "a\nb"}},
    {"held": {"core]\n[x.y": "1"}}, {"fixed": {"train.gamma": 7}}, {"rows": {}}, {"rows": 7},
    {"rows": {"train.gamma": {"distribution": "uniform", "min": "a", "max": 1}}},
    {"rows": {"train.gamma": {"distribution": "choice", "choices": [[1], [2]]}}},
    {"start": {}}, {"start": {"train.gamma": "x"}}, {"cost": "gold"}, {"method": "os.system"},
    {"workers": 10**9}, {"seconds": float("inf")}, {"unit": 0}, {"metric": "a\x1b[2J"},
    {"base": {}}, {"base": {"train.horizon": "many"}}, {"seed": "x"}, {"weights": ["a"]},
]


@pytest.mark.parametrize("plan", BAD_PLANS, ids=str)
def test_a_plan_that_cannot_be_is_damaged(tmp_path, capsys, plan):
    with pytest.raises((UsageError, KeyError)):         # as it is read, and not as it is made
        make_sweep(tmp_path / "0001", plan=plan)
        open_sweep(tmp_path / "0001")
    if (tmp_path / "0001" / "sweep.json").is_file():
        status, _, said = puffer(capsys, "sweep", tmp_path / "0001", "--map", "-o",
                                 tmp_path / "map.html")
        assert status == 2 and "Traceback" not in said


BAD_FACTS = [{"cost": "x"}, {"cost": None}, {"cost": float("nan")}, {"settings": None},
             {"settings": {"train.gamma": "x"}}, {"settings": {"a\nb": 1}}, {"settings": [1]},
             {"verdict": "x"}, {"wall": 1e300}, {"curve": ["x"]}, {"holder": {"pid": "x"}},
             {"seed": "x"}, {"error": 7}, {"ended": "now"}]


@pytest.mark.parametrize("facts", BAD_FACTS, ids=str)
def test_a_damaged_trial_is_in_its_place_and_hides_no_other(tmp_path, facts):
    store = make_sweep(tmp_path / "0001", trials=3)
    trial = store.add({"train.gamma": 0.97}, "running", seed=1)
    merged = {**trial.facts, "cost": 1.0, **facts}
    store.storage.set_trial_user_attr(trial.id, "puffer", json.dumps(merged))
    store.storage.set_trial_state_values(trial.id, store.codes["done"], [99.0])
    found = shown(tmp_path / "0001")
    assert [each.state for each in found.trials] == ["done"] * 3 + [FAILED]
    assert "damaged" in found.trials[3].facts["error"] and found.best_trial.number < 3


def test_a_failed_trial_has_a_line(tmp_path):
    store = make_sweep(tmp_path / "0001", trials=2)
    trial = store.add({"train.gamma": 0.97}, "running", seed=1)
    store.storage.set_trial_user_attr(trial.id, "puffer", json.dumps({**trial.facts, "cost": "x"}))
    store.storage.set_trial_state_values(trial.id, store.codes["done"], [99.0])
    (line,) = results.failures(shown(tmp_path / "0001"))
    assert line.startswith("trial 2 failed: its record is damaged (puffer, cost)")


@pytest.mark.parametrize("line, actual", [("{", "line 1 column 2"), (DEEP, "too deep to read")])
def test_the_line_of_a_journal_that_is_no_json_is_named(project, line, actual):
    journal = sweep_of(project) / "journal"
    lines = journal.read_text().splitlines()
    lines.insert(2, line)
    journal.write_text("\n".join(lines) + "\n")
    with pytest.raises(Damaged) as damage:
        open_sweep(sweep_of(project))[0].trials()
    assert str(damage.value.where).endswith("journal:3") and damage.value.expected == "JSON"
    assert actual in damage.value.actual


def test_a_verdict_on_a_trial_that_is_not_there_is_damaged(tmp_path):
    store = make_sweep(tmp_path / "0001", trials=2)
    for seed in (1, 2):
        for role in ("best", "default"):
            trial = store.add({"train.gamma": 0.95}, "running", seed=seed, verdict=role, trial=77)
            store.end(trial, "done", 0.5 + seed / 10, cost=1.0)
    assert shown(tmp_path / "0001") is None


def test_any_changed_byte_of_a_journal_ends_in_a_sentence(project):
    place = sweep_of(project)
    data = (place / "journal").read_bytes()
    rng = np.random.default_rng(2)
    for _ in range(60):
        bad = bytearray(data)
        for at in rng.integers(0, len(bad), rng.integers(1, 4)):
            bad[at] = rng.integers(32, 127)
        (place / "journal").write_bytes(bad)
        shown(place)
    for line in ("{", DEEP, "null", "7", '{"op_code": 99}', '{"op_code": 0}', '{"op_code": "x"}',
                 '{"op_code": 5, "worker_id": "a", "trial_id": 77}', '"x"', "[]"):
        (place / "journal").write_bytes(data + line.encode() + b"\n" + data[:10])
        shown(place)


def endless(folder):
    return endless(folder)


def test_folders_within_folders_end_in_a_result_or_a_sentence(project, capsys, monkeypatch):
    here = os.open(project, os.O_RDONLY)
    for _ in range(1200):                   # the path is longer than Python's makedirs would take
        os.mkdir("d", dir_fd=here)
        here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    try:
        assert {"squared.c", "squared.h"} < {
            path.name for path in paths.c_files(project, below=True)}
        assert runs.folders_of_runs(project)
        monkeypatch.setattr(runs, "list_runs", endless)
        status, _, said = puffer(capsys, "runs", "list", "squared")
        assert status == 4 and "nested too deeply" in said and "Traceback" not in said
    finally:
        subprocess.run(["rm", "-rf", str(project / "d")], check=True)


# ---- the reader --------------------------------------------------------------------------------

def test_the_reader_names_file_key_expected_and_actual(tmp_path):
    (tmp_path / "a.json").write_text('{"a": {"b": "x"}}')
    with pytest.raises(Damaged) as caught:
        records.read(tmp_path / "a.json", dict[str, dict[str, int]], "the record")
    error = caught.value
    assert error.message == "the record is damaged" and error.exit_status == 2
    assert (error.expected, error.actual) == ("a whole number", "a text")
    assert str(tmp_path / "a.json") in error.where
    assert records.read(tmp_path / "a.json", dict) == {"a": {"b": "x"}}
    with pytest.raises(FileNotFoundError):
        records.read(tmp_path / "b.json", dict)
    with pytest.raises(Damaged, match="damaged"):
        records.read(tmp_path / "a.json", dict, most=3)


def test_older_files_with_nan_are_read():
    assert records.parse('{"a": NaN}', "a", nan=False) == {"a": None}
    assert np.isnan(records.parse('{"a": NaN}', "a")["a"])
