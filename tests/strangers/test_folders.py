"""No write, delete or read leaves its folder, whatever a clone holds in the place of ours."""
from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pytest
from helpers.short_or_long import some_or_all
from helpers.strangers import (
    make_sweep,
    picture,
    puffer,
    replace_by_link,
    run_of,
    sweep_of,
)

from puffer_sdk.base import drafts, files, paths
from puffer_sdk.base.errors import UsageError
from puffer_sdk.checking.fix import fixing
from puffer_sdk.policy import ocean_demo
from puffer_sdk.projects import scaffold
from puffer_sdk.reporting import stages, subject
from puffer_sdk.reporting.keeping import Keeper
from puffer_sdk.sweeping import results
from puffer_sdk.sweeping.sweep import open_sweep
from puffer_sdk.sweeping.sweep_worker import keep_checkpoints
from puffer_sdk.training import checkpoint, runs

pytest_plugins = ["helpers.strangers_fixtures"]




# ---- links where commands write ----------------------------------------------------------------

RUN, SWEEP = "runs/squared/0001", "runs/squared/sweeps/0001"
SHORT = ["--train.total-timesteps", "131072"]
LINKS = [
    ("build", "build", 2), ("build/binding.c", "build", 2),
    ("build/compile_commands.json", "build", 2), ("build/squared_config.h", "build --fast", 2),
    ("build/squared-fast", "build --fast", 2), ("build/.squared-fast.json", "build --fast", 0),
    ("build/squared_policy.bin", "build --fast", 2),
    (f"{RUN}/episodes.json", "eval --eval.episodes 20", 1),
    (f"{RUN}/eval.log", "eval --eval.episodes 20", 2),
    (f"{RUN}/metrics.jsonl", "train --resume", 2), (f"{RUN}/env.log", "train --resume", 2),
    (f"{RUN}/config.ini", "train --resume", 2), (f"{RUN}/spec.json", "train --resume", 2),
    (f"{RUN}/run.json", "train --resume", 2), (f"{RUN}/checkpoints", "train --resume", 2),
    (f"{RUN}/actions.journal", "train --resume", 2),
    (f"{RUN}/best.safetensors", "train --resume", None),
    ("runs/squared", "train", 2), ("runs", "train", 2),
    ("build/report.html", "report --seeds 1", 2),
    ("build/report", "report --seeds 1", 2), ("binding.c", "bind --force", 2),
    ("runs/squared/sweeps", "sweep", 2),
]


@pytest.mark.parametrize("place, command, status", some_or_all(
    [pytest.param(*link, id=f"{link[1]}:{link[0]}") for link in LINKS],
    0, 3, 6, 7, 9, 14, 15, 17, 21))
def test_no_command_writes_through_a_link(project, capsys, place, command, status):
    """status   None: whether the command comes to write this depends on the training"""
    outside = project.parent / "outside"
    folder = "." not in place.rpartition("/")[2] and "squared-fast" not in place
    if place == f"{RUN}/checkpoints":           # all that the command needs, elsewhere
        (project / place).rename(outside / "folder" / "checkpoints")
    kept = {f"{RUN}/{name}": (project / RUN / name).read_bytes()
            for name in ("config.ini", "metrics.jsonl", "run.json", "best.safetensors")}
    if place in kept:
        (outside / "precious").write_bytes(kept[place])
    target = outside / "folder" if folder else outside / "precious"
    if place.endswith("checkpoints"):
        target = target / "checkpoints"
    before = picture(outside)
    replace_by_link(project / place, target)
    more = SHORT if command.startswith("train") else []
    found, _, said = puffer(capsys, *command.split(), *more)
    assert picture(outside) == before
    assert found == status or status is None and found in (0, 2), said
    if found:
        assert ("no checkpoint" if place.endswith("checkpoints") else "link") in said


def test_a_report_removes_no_runs_through_a_link(project, monkeypatch):
    found = subject.open_subject(None, {}, verbose=False)
    before = picture(project / "runs")
    for place in ("build/report/runs", "build/report/runs/squared"):
        replace_by_link(project / place, project / "runs" / place.partition("runs/")[2])
        with pytest.raises(files.Refused, match="not a folder"):
            stages._trainings(found, Keeper(found.kept), 1, False)
        assert picture(project / "runs") == before
        (project / place).unlink()


def test_a_clean_removes_nothing_through_a_link(project, capsys):
    outside = project.parent / "outside"
    make = {"build/web": "folder", "build/report": "folder", "runs/squared/0002": "folder"}
    for place, target in make.items():
        replace_by_link(project / place, outside / target)
    before = picture(outside)
    assert puffer(capsys, "clean", "--runs", "--yes")[0] == 0
    assert picture(outside) == before


def test_a_run_that_is_a_link_is_damaged_and_its_deletion_removes_the_link(project, capsys):
    other = project.parent / "outside" / "0007"
    run_of(project).rename(other)
    replace_by_link(run_of(project), other)
    before = picture(other)
    status, out, _ = puffer(capsys, "runs")
    assert status == 0 and "damaged" in out
    assert puffer(capsys, "runs", "delete", "1", "--yes")[0] == 0
    assert picture(other) == before and not os.path.lexists(run_of(project))


# ---- sweeps ------------------------------------------------------------------------------------

def test_showing_a_sweep_writes_nothing(project, capsys):
    place = sweep_of(project)
    replace_by_link(place / "best.ini", project / ".git" / "config")
    replace_by_link(place / "front", project)
    before = picture(project.parent)
    for option in (["--show"], ["--best"], ["--show", "--format", "json"], ["--show", place]):
        status, out, _ = puffer(capsys, "sweep", *option)
        assert status == 0 and "gamma" in out, option
    assert picture(project.parent) == before
    assert puffer(capsys, "sweep", place, "--map", "-o", "map.html")[0] == 0
    after = picture(project.parent)
    after.pop("squared/map.html")
    after["squared"] = before["squared"]        # its time stamp
    assert after == before


@pytest.mark.parametrize("name", ["best.ini", "front", "sweep.html"])
def test_results_of_a_sweep_replace_no_target_of_a_link(project, name):
    place = sweep_of(project)
    store, plan = open_sweep(place)
    target = project.parent / "outside" / ("folder" if name == "front" else "precious")
    replace_by_link(place / name, target)
    before = picture(project.parent / "outside")
    with pytest.raises(files.Refused, match=name):
        results.write_results(place, store, plan, store.trials())
    assert picture(project.parent / "outside") == before


@pytest.mark.parametrize("name", ["journal", "journal.lock", "workers.log"])
def test_a_sweep_goes_on_through_no_link(project, capsys, name):
    place, outside = sweep_of(project), project.parent / "outside"
    if name == "journal":
        (outside / "precious").write_bytes((place / name).read_bytes())
    before = picture(outside)
    replace_by_link(place / name, outside / "precious")
    status, _, said = puffer(capsys, "sweep", "--resume", "--runs", "4")
    assert status == 2 and picture(outside) == before
    if name == "journal":
        assert "is not a file" in said and "link" in said


def test_a_journal_removes_only_what_lies_below_its_sweep(tmp_path):
    """The checkpoints of a trial lie where this sweep keeps them, whatever the journal says."""
    theirs = tmp_path / "other" / "0000"
    for name in ("checkpoints", "best.safetensors"):
        (theirs / name).mkdir(parents=True)
    home = tmp_path / "sweep" / "trials"
    for number in range(12):
        (home / f"{number:04d}" / "checkpoints").mkdir(parents=True)
    make_sweep(tmp_path / "sweep" / "one", trials=12, run=str(theirs))
    store, plan = open_sweep(tmp_path / "sweep" / "one")
    keep_checkpoints(store.trials(), plan, home)
    assert len(list(theirs.iterdir())) == 2
    make_sweep(tmp_path / "sweep" / "two", trials=1)
    store, plan = open_sweep(tmp_path / "sweep" / "two")
    trials = [*store.trials()]
    for number in range(12):
        trials.append(type(trials[0])(number, "stopped", {"run": str(home / f"{number:04d}")}, 0))
    keep_checkpoints(trials, plan, home)
    assert not [path for path in home.glob("*/checkpoints") if path.parent.name != "0000"]


# ---- what only shows writes nothing ------------------------------------------------------------

SHOWS = ["runs", "runs list squared", "runs compare 1 1", "runs plot 1", "config", "list",
         "sweep --show", "sweep --best", "clean --all --dry-run", "explain PUF101",
         "new other --dry-run", "new squared --output-dir .. --force --dry-run",
         "completion bash", "runs --format json", "config --format json"]


def test_what_only_shows_writes_nothing(project, capsys):
    before = picture(project.parent)
    for command in SHOWS:
        status, _, said = puffer(capsys, *command.split())
        assert status == 0, (command, said)
        assert picture(project.parent) == before, command


# ---- templates ---------------------------------------------------------------------------------

def template_of(folder, extra: dict | None = None, place: str = "{{cookiecutter.rc}}") -> str:
    home = folder / "template" / "{{cookiecutter.name}}"
    (home / place).parent.mkdir(parents=True)
    (home / "{{cookiecutter.name}}.h").write_text("// empty")
    (home / place).write_text("by a stranger")
    (folder / "template" / "cookiecutter.json").write_text(json.dumps({"name": "a", **extra}))
    return str(folder / "template")


OUTSIDE = ["../../../../.bashrc", "../x.h", "ABSOLUTE", "a/../../../../x", "two\nlines", "x\x1b[2J"]


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("where", OUTSIDE)
def test_a_template_writes_nothing_outside_the_project(tmp_path, monkeypatch, where, copied, dry):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "two" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "two" / "down")
    extra = {"rc": where.replace("ABSOLUTE", str(tmp_path / "absolute"))}
    if copied:
        extra["_copy_without_render"] = ["*rc*"]
    template = template_of(tmp_path, extra)
    before = picture(tmp_path)
    with pytest.raises(UsageError, match="a file of the template is outside its folder"):
        scaffold.new("x", template=template, dry_run=dry)
    before["tmp"] = picture(tmp_path)["tmp"]
    before["two/down"] = picture(tmp_path)["two/down"]
    assert picture(tmp_path) == before


@pytest.mark.parametrize("folder", ["{{cookiecutter.rc}}/inner", "deep/{{cookiecutter.rc}}/inner"])
def test_a_template_makes_no_folder_outside_the_project(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    for copied in ([], ["*"]):
        template = template_of(tmp_path / f"{len(copied)}", {
            "rc": "../../../../elsewhere", "_copy_without_render": copied}, folder)
        if copied and folder.startswith("deep"):        # its name is not rendered
            scaffold.new("x", template=template)
            continue
        with pytest.raises(UsageError, match="outside its folder"):
            scaffold.new("x", template=template)
        assert not (tmp_path / "x").exists()
    assert not list(tmp_path.rglob("elsewhere"))


@pytest.mark.parametrize("place", [".git/config", "{{cookiecutter.rc}}/config", "sub/.GIT/hooks/x"])
def test_a_template_brings_no_repository(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    for copied in ([], ["*"], ["*/*"]):
        home = tmp_path / f"with{len(copied)}{''.join(copied).count('/')}"
        template = template_of(home, {"rc": ".git", "_copy_without_render": copied}, place)
        if copied and "rc" in place:            # what is copied keeps its name
            continue
        with pytest.raises(UsageError, match="its own git repository"):
            scaffold.new("x", template=template)
        assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", ["file", "folder", "nowhere", "pipe"])
def test_a_template_holds_files_and_folders_only(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    template = template_of(tmp_path, {"rc": "fine", "_copy_without_render": ["*more*"]})
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    more = tmp_path / "template" / "{{cookiecutter.name}}" / "more"
    if kind == "pipe":
        os.mkfifo(more)
    else:
        more.symlink_to(tmp_path / {"file": "secret/key", "folder": "secret"}.get(kind, "none"))
    with pytest.raises(UsageError, match="entries other than files and folders"):
        scaffold.new("x", template=template)
    assert not (tmp_path / "x").exists()


# ---- names in files ----------------------------------------------------------------------------

BAD_NAMES = ["../../x", "/tmp/x", "a/b", "..", "", "a\nb", "a\x1b[2J", "a\x00b", "x" * 300, 7, None]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_the_name_in_a_checkpoint_is_a_name(project, capsys, name):
    file = sorted((run_of(project) / "checkpoints").iterdir())[-1]
    past = checkpoint.load(file)
    checkpoint.save(project / "theirs.safetensors", past.tensors,
                    {**past.facts, "env": {**past.facts["env"], "name": name}})
    before = picture(project.parent)
    status, _, said = puffer(capsys, "export", "theirs.safetensors")
    assert status == 2 and "name" in said and picture(project.parent) == before


@pytest.mark.parametrize("weights", ["../../weights.bin", "/tmp/puffer-weights.bin", "a\tb"])
def test_a_demo_writes_its_weights_below_its_folder(project, weights):
    (project / "squared.c").write_text(
        f'void f() {{ Weights* w = load_weights("{weights}"); make_default(w, 1, 2, 3); }}')
    before = picture(project.parent)
    with pytest.raises(UsageError, match="outside its folder"):
        ocean_demo.write_demo(project)
    assert picture(project.parent) == before


def test_names_and_paths_below(tmp_path):
    assert files.name("CartPole-v1", "a name") == "CartPole-v1"
    assert files.below(tmp_path, "a/b.bin", "a file") == tmp_path / "a" / "b.bin"
    for bad in BAD_NAMES:
        with pytest.raises(UsageError, match="is not a name"):
            files.name(bad, "it")
    for bad in ("../x", "/x", "a/../../x", "", "a\nb", None, "a\x00"):
        with pytest.raises(UsageError, match="outside its folder"):
            files.below(tmp_path, bad, "it")


# ---- the module itself -------------------------------------------------------------------------

def calls(path):
    """Every way in which a path is written, removed or read."""
    other = path.with_name(path.name + "-other")
    yield lambda: files.write(path, "text")
    yield lambda: files.save(path, "text", what="it")
    yield lambda: files.write_if_changed(path, "text")
    yield lambda: files.read(path)
    yield lambda: files.open(path, "ab").close()
    yield lambda: files.open(path, "wb").close()
    yield lambda: files.open(path, "rb+").close()
    yield lambda: files.temporary(path)
    yield lambda: files.rename(other, path)
    yield lambda: files.move(other, path)
    yield lambda: files.rmtree(path)
    yield lambda: files.mkdir(path / "inner")
    yield lambda: files.write(path / "inner", "text")
    yield lambda: files.remove(path / "inner")
    yield lambda: files.rmdir(path / "folder")
    yield lambda: files.rmtree(path / "folder")
    yield lambda: drafts.Draft(path / "inner", what="it")


@pytest.mark.parametrize("kind", ["file", "folder", "nowhere", "chain"])
def test_no_call_follows_a_link(tmp_path, kind):
    (tmp_path / "outside" / "folder").mkdir(parents=True)
    (tmp_path / "outside" / "inner").write_text("precious")
    (tmp_path / "here").mkdir()
    target = {"file": "inner", "folder": ".", "nowhere": "new", "chain": "."}[kind]
    link = tmp_path / "here" / "link"
    link.symlink_to(tmp_path / "outside" / target)
    if kind == "chain":
        link.rename(tmp_path / "here" / "first")
        link.symlink_to("first")
    before = picture(tmp_path / "outside")
    for number, call in enumerate(calls(link)):
        (tmp_path / "here" / "link-other").write_text("text")
        with pytest.raises((files.Refused, UsageError)):
            call()
            raise AssertionError(f"call {number} followed it")
    assert picture(tmp_path / "outside") == before and link.is_symlink()
    assert not files.is_file(link)
    files.remove(link)
    assert not os.path.lexists(link) and picture(tmp_path / "outside") == before


def test_no_pipe_is_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for call in (lambda: files.read(tmp_path / "pipe"), lambda: files.open(tmp_path / "pipe", "ab"),
                 lambda: files.write(tmp_path / "pipe", "text")):
        with pytest.raises(files.Refused, match="pipe"):
            call()
    with pytest.raises(files.Refused, match="too large"):
        (tmp_path / "a").write_text("12345")
        files.read(tmp_path / "a", 4)


def test_removal_takes_links_and_leaves_their_targets(tmp_path, monkeypatch):
    """Of what a link leads to, nothing is opened either."""
    opened, plain = [], os.open

    def watched(*words, **more):
        number = plain(*words, **more)
        opened.append(os.readlink(f"/proc/self/fd/{number}"))
        return number

    monkeypatch.setattr(os, "open", watched)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("precious")
    tree = tmp_path / "tree" / "a" / "b"
    tree.mkdir(parents=True)
    (tree / "link").symlink_to(tmp_path / "outside")
    (tree.parent / "other").symlink_to(tmp_path / "outside" / "file")
    files.rmtree(tmp_path / "tree")
    assert str(tree) in opened and not [each for each in opened if "outside" in each]
    assert not (tmp_path / "tree").exists()
    assert (tmp_path / "outside" / "file").read_text() == "precious"
    files.rmtree(tmp_path / "tree")             # it may be gone already


def test_a_typed_path_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    files.save_typed(tmp_path / "link" / "a", "text", what="it")
    assert files.typed(tmp_path / "link" / "a").read_text() == "text"
    files.save_typed("/dev/null", "text", what="it")
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")


# ---- runs on another disk ----------------------------------------------------------------------

@pytest.mark.parametrize("place", some_or_all(["runs", "runs/squared"], 0))
@pytest.mark.parametrize("holds", ["runs", "nothing"])
def test_runs_may_be_a_link_to_runs_or_to_nothing(project, capsys, place, holds):
    disk = project.parent / "disk"
    if holds == "nothing":
        disk.mkdir()
    else:
        (project / place).rename(disk)
    replace_by_link(project / place, disk)
    status, out, said = puffer(capsys, "train", *SHORT)
    assert status == 0 and said.count(f"runs are in {disk}") == 1
    home = disk if place.endswith("squared") else disk / "squared"
    assert [run.number for run in runs.list_runs(home)] == ([1] if holds == "nothing" else [1, 2])
    assert len(puffer(capsys, "runs")[1].splitlines()) == (2 if holds == "nothing" else 3)


def refused_link(project, capsys, part: str) -> None:
    before = picture(project.parent)
    for command in ("train", "runs list squared", "sweep --show", "clean --runs --yes"):
        status, _, said = puffer(capsys, *command.split())
        assert status == 2 and "is a link that is not followed" in said and part in said, command
    def kept(found: dict) -> dict:
        return {key: facts for key, facts in found.items() if not key.startswith("squared/build")
                and key != "squared"}
    assert kept(picture(project.parent)) == kept(before)


def test_a_link_to_anything_else_is_refused(project, capsys):
    replace_by_link(project / "runs", project.parent / "outside")
    refused_link(project, capsys, "holds")


def test_a_link_that_git_tracks_is_refused(project, capsys):
    disk = project.parent / "disk"
    disk.mkdir()
    replace_by_link(project / "runs", disk)
    subprocess.run(["git", "-C", project, "add", "-f", "runs"], check=True)
    refused_link(project, capsys, "git tracks")


def test_a_link_to_the_folder_of_another_user_is_refused(project, capsys, monkeypatch):
    disk = project.parent / "disk"
    disk.mkdir()
    replace_by_link(project / "runs", disk)
    monkeypatch.setattr(paths.os, "getuid", lambda: disk.stat().st_uid + 1)
    refused_link(project, capsys, "somebody else")


def test_years_of_photos_are_no_runs(tmp_path):
    (tmp_path / "photos" / "2024").mkdir(parents=True)
    (tmp_path / "runs").symlink_to("photos")
    with pytest.raises(UsageError, match="not followed") as caught:
        paths.follow(tmp_path / "runs")
    assert "2024" in caught.value.actual
    (tmp_path / "photos" / "2024" / "run.json").write_text("{}")
    assert paths.follow(tmp_path / "runs") == tmp_path / "photos"


def test_the_watcher_of_a_stranger_s_repository_does_not_run(project, tmp_path):
    (project.parent / "disk").mkdir()
    replace_by_link(project / "runs", project.parent / "disk")
    subprocess.run(["git", "-C", project, "config", "core.fsmonitor",
                    f"touch {tmp_path}/ran; false"], check=True)
    paths.runs_dir(project)
    assert not (tmp_path / "ran").exists()


def test_tensors_are_where_the_project_says(project):
    """The fixture is what these tests take it for."""
    past = checkpoint.load(runs.Run(run_of(project)).checkpoints()[-1])
    assert past.step == 65536 and np.isfinite(past.tensors["encoder"]).all()


# ---- what goes out -----------------------------------------------------------------------------

def test_a_fix_is_not_written_through_a_link(project):
    replace_by_link(project / "more.h", project.parent / "outside" / "precious")
    before = picture(project.parent / "outside")
    with pytest.raises(files.Refused):
        fixing._replace(project, {"more.h": b"precious"}, {"more.h": b"fixed"})
    assert picture(project.parent / "outside") == before


@pytest.mark.parametrize("place, command", some_or_all([
    ("squared_policy.bin", "export"), ("sweeps.html", f"sweep {SWEEP} --map"),
    ("squared_policy.onnx", "export --to onnx"), ("squared_ocean", "export --ocean")], 0, 2))
def test_a_name_that_nobody_typed_may_not_be_a_link(project, capsys, place, command):
    replace_by_link(project / place, project.parent / "outside" / "new")
    before = picture(project.parent / "outside")
    status, _, said = puffer(capsys, *command.split())
    assert status == 2 and "link" in said
    assert picture(project.parent / "outside") == before


def test_a_linked_header_does_not_go_into_an_export(project, capsys):
    replace_by_link(project / "notes.h", project.parent / "outside" / "precious")
    status, _, said = puffer(capsys, "export", "--ocean")
    assert status == 2 and "notes.h" in said and not (project / "squared_ocean").exists()
