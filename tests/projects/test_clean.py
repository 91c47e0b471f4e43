"""`puffer-sdk clean`: what was made goes, whatever else lies there stays."""
import json
import os
import shutil
from pathlib import Path

import pytest
from helpers.short_or_long import long_only

from puffer_sdk import cli
from puffer_sdk.base import files, paths
from puffer_sdk.checking import check
from puffer_sdk.env import binding, header
from puffer_sdk.env import build as building
from puffer_sdk.projects import clean
from puffer_sdk.reporting import measuring, report, stages
from puffer_sdk.settings import config
from puffer_sdk.training import runs


@pytest.fixture
def env(squared, tmp_path) -> Path:
    folder = shutil.copytree(squared, tmp_path / "squared",
                             ignore=shutil.ignore_patterns("build", "runs", ".git"))
    (tmp_path / "pyproject.toml").touch()       # runs/ lies beside it
    return folder


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@long_only
def test_all_that_the_commands_make_goes(env, capsys):
    before = everything(env)
    spec = header.read(env)
    building.build(env, env_settings=config.resolve(env).env)
    binding.write_player(spec, env / "build" / "binding.c", env / "build")
    text = (env / "squared.h").read_text()
    (env / "squared.h").write_text(text.replace(
        "    env->tick += 1;\n", "    env->tick += 1;\n    env->observations[OBS_SIZE + 1] = 1;\n"))
    check.check(env, budget=0.1)
    assert list((env / "build" / "check").glob("repro_*.c"))
    cli.main(["debug", str(env), "--batch"])
    for target in ("local", "fast"):        # as programs.py calls its products and records
        (env / "build" / f"squared-{target}").write_bytes(b"\x7fELF")
        (env / "build" / f".squared-{target}.json").write_text("{}")
    (env / "build" / "web").mkdir()
    for name in ("index.html", "index.js", "index.wasm", "index.data"):
        (env / "build" / "web" / name).touch()
    (env / "build" / "squared_policy.bin").touch()
    capsys.readouterr()
    assert cli.main(["clean", str(env)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"deleted  {env}/build: ") and "kept" not in said
    assert everything(env) == before


@long_only
def test_reports_go_and_those_of_other_places_stay(env, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(stages, "BUDGET", 0.05)
    monkeypatch.setattr(measuring, "ROUNDS", 1)
    before = everything(env)
    quick = {"train.total_timesteps": 65536, "eval.episodes": 10}
    elsewhere = report.report(env, quick, seeds=1, output=tmp_path / "mine.html")
    report.report(env, quick, seeds=1)
    home = env / "build" / "report"
    assert {path.suffix for path in home.iterdir() if path.is_file()} >= {".json", ".safetensors"}
    (home / "runs" / env.name / "0001").mkdir(parents=True)     # as where a training was stopped
    for draft in ("report/.check-0123456789abcdef.json.77", ".report.html.77"):
        (env / "build" / draft).touch()
    capsys.readouterr()
    assert cli.main(["clean", str(env)]) == 0
    assert "kept" not in capsys.readouterr().out
    assert everything(env) == before
    assert elsewhere.html.is_file() and elsewhere.json.is_file()


def test_a_users_file_beside_a_report_stays(env, capsys):
    (env / "build" / "report").mkdir(parents=True)
    mine = [env / "build" / "thesis.html", env / "build" / "report" / "notes-2024.json"]
    for path in mine:
        path.touch()
    assert cli.main(["clean", str(env)]) == 0
    assert all(path.exists() for path in mine)
    assert capsys.readouterr().out.count("not created by puffer-sdk") == 2


def test_programs_leave_nothing_behind(games, make_program, tmp_path):
    made = make_program("cartpole", "fast").path
    copy = shutil.copytree(games["cartpole"], tmp_path / "cartpole")
    assert (copy / "build" / made.name).is_file()
    assert cli.main(["clean", str(copy)]) == 0
    assert not (copy / "build").exists()


def test_a_users_file_stays_and_links_are_not_followed(env, tmp_path, capsys):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index.html").write_text("mine")
    build = env / "build"
    (build / "web").mkdir(parents=True)
    (build / "check").symlink_to(outside)
    (build / "notes.txt").write_text("mine")
    (build / "binding.c").write_text("// mine now\n")
    (build / "other-0123456789ab.so").touch()
    (build / "squared-0123456789ab.so").symlink_to(outside / "index.html")
    (build / "squared-ba9876543210.so").touch()
    (build / "web" / "index.html").symlink_to(outside / "index.html")
    stays = everything(env) - {"build/squared-ba9876543210.so"}
    assert cli.main(["clean", str(env)]) == 0
    assert everything(env) == stays
    assert (outside / "index.html").read_text() == "mine"
    said = capsys.readouterr().out
    assert "deleted" in said and f"kept  {build}/check (not created by puffer-sdk, a link)" in said
    assert f"kept  {build}/binding.c (not created by puffer-sdk)" in said
    assert cli.main(["clean", str(env)]) == 0
    assert "nothing to delete" in capsys.readouterr().out


def test_a_build_folder_that_is_a_link_is_left_alone(env, tmp_path, capsys):
    real = tmp_path / "elsewhere"
    real.mkdir()
    (real / "squared-0123456789ab.so").touch()
    (env / "build").symlink_to(real)
    assert cli.main(["clean", str(env)]) == 0
    assert (real / "squared-0123456789ab.so").exists() and (env / "build").is_symlink()
    assert "a link" in capsys.readouterr().out


def finished(env: Path) -> runs.Run:
    run = runs.create_run(paths.runs_dir(env), total=10)
    (run.checkpoints_path / "000000000010.safetensors").write_bytes(b"x" * 5000)
    run.set_status("finished", step=10)
    return run


def test_runs_go_only_when_asked_and_agreed(env, monkeypatch, capsys):
    import io
    first, second = finished(env), finished(env)
    assert cli.main(["clean", str(env)]) == 0 and first.folder.exists()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert cli.main(["clean", str(env), "--runs"]) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert cli.main(["clean", str(env), "--runs"]) == 1
    assert first.folder.exists() and second.folder.exists()
    assert "delete these 2 runs permanently?" in capsys.readouterr().err
    assert cli.main(["clean", str(env), "--runs", "--dry-run"]) == 0
    assert "would delete" in capsys.readouterr().out and first.folder.exists()
    assert cli.main(["clean", str(env), "--runs", "--yes", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["bytes"] >= 10_000 and said["parts"][0]["runs"] == 2
    assert not paths.runs_dir(env).parent.exists()


def test_a_running_run_stops_all_of_it(env, capsys):
    finished(env)
    building.build(env)
    running = runs.create_run(paths.runs_dir(env))
    assert cli.main(["clean", str(env), "--all", "--yes"]) == 2
    assert "is running" in capsys.readouterr().err
    assert running.folder.exists() and list((env / "build").glob("*.so"))
    assert len(runs.list_runs(paths.runs_dir(env))) == 2


def test_the_cache_goes_only_when_asked(env, tmp_path, monkeypatch, capsys):
    cache = tmp_path / "cache"
    monkeypatch.setenv("PUFFER_CACHE", str(cache))
    for name in ("harness/0123456789ab/main.o", "raylib/lib/libraylib-desktop-1.a",
                 "raylib/source-6.0/src/raylib.h", "trainer/puffer_trainer-0123456789ab.so",
                 "toolchain/include-0123456789abcdef.json", "screen/notes.txt", "mine/file"):
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_text("x" * 100)
    (cache / "harness" / "ffffffffffff").symlink_to(tmp_path)
    monkeypatch.chdir(env)
    assert cli.main(["clean"]) == 0 and len(list(cache.iterdir())) == 6
    monkeypatch.chdir(tmp_path)                     # no environment is needed here
    assert cli.main(["clean", "--cache"]) == 0
    left = {path.relative_to(cache).as_posix() for path in cache.rglob("*")}
    assert left == {"harness", "harness/ffffffffffff", "screen", "screen/notes.txt", "mine",
                    "mine/file"}
    assert env.exists() and "deleted" in capsys.readouterr().out


def test_what_this_machine_keeps_is_known():
    """The cache that these tests have filled holds nothing that clean does not know."""
    (part,) = clean.find_cache()
    inside = {path.relative_to(part.folder).parts[0] for path in part.goes}
    assert {"raylib", "toolchain"} <= inside
    unknown = [path for path in part.kept if not path.is_symlink() and ".lock" not in path.name
               and path.parent.name in ("harness", "raylib", "screen", "toolchain")]
    assert not unknown


def test_a_folder_that_is_no_environment_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "binding.c").write_text("// Generated from x.h by puffer-sdk.\n")
    monkeypatch.chdir(tmp_path)
    for words in (["clean"], ["clean", "."], ["clean", "--runs"], ["clean", "--all", "--yes"]):
        assert cli.main(words) == 2
        assert "not an environment" in capsys.readouterr().err
    assert (tmp_path / "build" / "binding.c").exists()


def test_what_cannot_be_removed_is_named(env, monkeypatch, capsys):
    building.build(env)

    def refuse(path):
        raise PermissionError(13, os.strerror(13))
    monkeypatch.setattr(files, "remove", refuse)
    assert cli.main(["clean", str(env)]) == 4
    assert "cannot remove this" in capsys.readouterr().err
