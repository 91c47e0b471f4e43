"""`ocean`: a row, a picture and a verdict for each environment of a checkout."""
import json
import shutil
import signal
import subprocess
from unittest import mock

import pytest
from helpers.page_reader import Reader
from helpers.places import SPECIMENS, broken
from helpers.playground import COMMAND
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.reporting import survey, try_env

RENDER = "void c_render(Comet* env) { (void)env; }"
DRAWN = """\
#include "raylib.h"
void c_render(Comet* env) {
    static Texture2D tail;
    (void)env;
    if (!IsWindowReady()) {
        InitWindow(64, 64, "comet");
        tail = LoadTexture("resources/comet/tail.png");
    }
    BeginDrawing();
    DrawTexture(tail, 0, 0, WHITE);
    EndDrawing();
}"""


@pytest.fixture(scope="module")
def checkout(squared, tmp_path_factory):
    """One good environment, one that draws nothing, one with an error, one that does not build."""
    ocean = tmp_path_factory.mktemp("PufferLib") / "ocean"
    ocean.mkdir()
    for folder in (squared, SPECIMENS / "ocean/drum", broken("puf303_comet")):
        shutil.copytree(folder, ocean / folder.name,
                        ignore=shutil.ignore_patterns("build", "runs", ".git"))
    comet = ocean / "puf303_comet/puf303_comet.h"
    text = comet.read_text()
    assert text.count(RENDER) == 1
    comet.write_text(text.replace(RENDER, DRAWN))
    (ocean / "cut").mkdir()
    (ocean / "cut/cut.h").write_text("void c_step(\n")
    (ocean / "env_binding.h").touch()
    (ocean / "assets").mkdir()
    for name, header in (("python", "#include <Python.h>"), ("lacks", '#include "box2d.h"')):
        (ocean / name).mkdir()
        (ocean / name / f"{name}.h").write_text(f"{header}\n")
    return ocean.parent


@pytest.fixture(scope="module")
def done(checkout, tmp_path_factory):
    output = tmp_path_factory.mktemp("survey")
    process = subprocess.run([*COMMAND, "ocean", checkout, "--output", output, "--budget", "0.1"],
                             capture_output=True, text=True, check=False)
    return process, output, json.loads((output / "survey.json").read_text())


def test_it_passed_where_all_of_it_worked_and_check_found_no_error(done):
    process, output, data = done
    rows = {row["name"]: row for row in data["rows"]}
    assert {name: row["passed"] for name, row in rows.items()} == {
        "drum": False, "puf303_comet": False, "squared": True, "cut": False, "assets": False,
        "python": False, "lacks": False}
    assert process.returncode == 1 and "3 of 7 built, 1 passed" in process.stdout
    assert rows["drum"]["verdict"] == "recording failed" and rows["drum"]["check"] == "pass"
    assert "c_render draws nothing" in rows["drum"]["problems"]["recording"]
    assert rows["puf303_comet"]["verdict"] == "found 1 error"
    assert "found 1 error (PUF303)" in process.stdout       # not why a picture was not tested
    assert [f["code"] for f in rows["puf303_comet"]["findings"]] == ["PUF303"]
    assert list(rows["cut"]["problems"]) == ["build"] and not rows["cut"]["picture"]
    assert rows["puf303_comet"]["problems"] == {
        "drawing": "not tested: no texture resources/comet/tail.png"}
    assert not rows["puf303_comet"]["picture"]
    assert rows["squared"]["rate"] > 0 and rows["squared"]["obs"] == "121 u8"


def test_each_folder_that_is_not_built_says_why_in_a_sentence(done):
    lines = dict(line.split(" not built: ") for line in done[0].stdout.splitlines()
                 if " not built: " in line)
    assert {name.strip(): why for name, why in lines.items() if name.strip() != "cut"} == {
        "assets": "it needs a header named assets.h, and has no header at all",
        "lacks": "lacks.h:1 includes box2d.h, which is not in the checkout; [build] include of the "
                 "ini names the folder that has it",
        "python": "this binding is for PufferLib 3 or older (Python.h); puffer-sdk bind python "
                  "--upgrade rewrites it"}
    assert len(lines) == 4


def test_a_sentence_names_the_upgrade_and_the_folder_of_a_header(tmp_path):
    folder = tmp_path / "ocean/nim"
    for each in (folder, tmp_path / "src", tmp_path / "ocean/shared"):
        each.mkdir(parents=True)
    (tmp_path / "ocean/shared/rules.h").touch()
    older = BuildError("Nim.actions has the wrong type", where="nim.h:4",
                       hint="puffer-sdk bind nim --upgrade rewrites it, and more")
    lacking = BuildError("'rules.h' file not found", where="binding.c:1")
    older.upgrade, lacking.header = "puffer-sdk bind nim --upgrade", "rules.h"
    assert survey.why_not_built(older, folder) == (
        "Nim.actions has the wrong type; puffer-sdk bind nim --upgrade rewrites it")
    assert survey.why_not_built(lacking, folder) == (
        "binding.c:1 includes rules.h, which is in ocean/shared; [build] include = ocean/shared "
        "of the ini finds it there")


def test_a_sentence_of_an_older_binding_names_the_headers_that_are_nowhere(tmp_path):
    folder = tmp_path / "ocean/nim"
    for each in (folder, tmp_path / "src"):
        each.mkdir(parents=True)
    (folder / "nim.h").write_text('#include <math.h>\n#include "lemon/solver.h"\n')
    (folder / "binding.c").write_text('#include "nim.h"\n#include "../env_binding.h"\n')
    row = survey.try_one(folder, tmp_path, tmp_path)
    assert row.problems["build"].endswith(
        "puffer-sdk bind nim --upgrade rewrites it; it also includes lemon/solver.h (nim.h:2), "
        "not in the checkout")
    (folder / "binding.c.orig").touch()
    assert "--upgrade" not in survey.try_one(folder, tmp_path, tmp_path).problems["build"]


def test_a_sentence_has_the_words_of_an_environment_that_ended_itself(tmp_path):
    """As one whose maps are not there: what it prints says more than that it ended."""
    folder = tmp_path / "ocean/lost"
    shutil.copytree(SPECIMENS / "ocean/drum", folder, ignore=shutil.ignore_patterns("build"))
    header = folder / "drum.h"
    header.write_text(header.read_text().replace(
        "    env->beat = 0;\n", '    puts("no map in maps/");\n    fflush(stdout);\n    abort();\n'
    ).replace("#include <stdint.h>", "#include <stdint.h>\n#include <stdio.h>"))
    row = survey.try_one(folder, tmp_path, tmp_path, budget=0.01)
    assert row.verdict == "stepping failed"
    assert row.problems["stepping"].startswith("the environment failed in init: SIGABRT (env 0, ")
    assert row.problems["stepping"].endswith("): no map in maps/")


def test_the_page_shows_each_row_with_its_picture(done):
    _, output, _ = done
    html = (output / "index.html").read_text()
    assert [image["src"] for image in Reader(html).all("img")] == ["squared.gif"]
    assert (output / "squared.gif").read_bytes()[:4] == b"GIF8"
    assert "1 of 7 passed" in html and "build failed" in html and "no picture" in html
    assert '<div class="none">not tested</div>' in html
    assert not any(attrs.get("src", "").startswith("http") for _, attrs in Reader(html).tags)


@pytest.fixture(scope="module")
def tried(checkout, tmp_path_factory):
    output = tmp_path_factory.mktemp("tried")
    process = subprocess.run(
        [*COMMAND, "ocean", checkout, "--output", output, "--budget", "0.1", "--only", "squared",
         "--programs", "--train", "1000000"], capture_output=True, text=True, check=False)
    return process, output, json.loads((output / "survey.json").read_text())


@long_only
def test_a_trial_has_programs_a_training_and_a_comparison(tried, checkout):
    process, output, data = tried
    [row] = data["rows"]
    assert row["programs"] == {"local": "", "fast": "", "web": "", "cuda": ""}, process.stderr
    last = row["training"][-1]
    assert last["learnt"] and last["measure"] == "score"
    assert last["trained"][0] - last["trained"][1] > last["random"][0] + last["random"][1]
    assert last["curve"]["measure"] == "score"
    assert len(last["curve"]["steps"]) == len(last["curve"]["values"]) > 3
    assert {each["name"] for each in row["agreement"]} >= {"perf", "score", "episode_length"}
    assert row["passed"] and row["verdict"] == "passed" and process.returncode == 0
    html = (output / "index.html").read_text()
    assert "local, fast, web, cuda" in html and "of random play" in html
    header = checkout / "ocean/squared/squared.h"
    said = subprocess.run(["git", "hash-object", header], capture_output=True, text=True).stdout
    assert row["files"]["squared.h"] == said.strip()


@long_only
def test_ctrl_c_ends_it_all_and_keeps_the_rows_that_are_done(checkout, tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "ocean", checkout, "--output", tmp_path, "--budget", "0.1",
         "--only", "cut", "--only", "squared", "--train", "1000000000"], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
    lines = iter(process.stderr.readline, "")
    assert any(line.startswith("training squared") for line in lines)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    rows = json.loads((tmp_path / "survey.json").read_text())["rows"]
    assert [row["name"] for row in rows] == ["cut"]


def test_a_curve_is_of_what_training_logs():
    logged = {"step": [1, 2], "perf": [None, 0.123456], "score": [1.0, 2.0]}
    assert try_env.curve_of(logged, "score") == {
        "measure": "score", "steps": [1, 2], "values": [1.0, 2.0]}
    assert try_env.curve_of(logged, "return_per_1000_ticks") == {
        "measure": "perf", "steps": [1, 2], "values": [None, 0.1235]}
    assert try_env.curve_of({"step": []}, None) == {"measure": None, "steps": [], "values": []}


def test_where_too_little_ends_fewer_agents_are_compared(monkeypatch, tmp_path):
    asked = []

    def compare(folder, settings, *, agents, shared, runs_dir):
        asked.append((agents, shared))
        return [try_env.agreement.Measure("perf", 0.5, 0.5, 0.1)] if agents < most else []

    monkeypatch.setattr(try_env.agreement, "compare", compare)
    most = 200
    assert try_env.agree(tmp_path, 7, tmp_path)[0]["agrees"]
    assert asked == [(511, True), (126, True)]
    asked.clear()
    most = 20
    assert try_env.agree(tmp_path, 1, tmp_path)[0]["agrees"]
    assert asked == [(512, False), (128, False), (16, False)]
    asked.clear()
    assert try_env.agree(tmp_path, 1000, tmp_path) == [] and asked == [(1000, True)]


def test_what_cannot_be_stepped_is_not_trained(checkout, monkeypatch, tmp_path):
    def dies(folder, source, output, budget):
        return survey.Row(folder.name, "", problems={"stepping": "it dies"})

    monkeypatch.setattr(survey, "try_one", dies)
    monkeypatch.setattr(survey, "try_training", lambda *given: pytest.fail("it was trained"))
    done = survey.survey(checkout, tmp_path, only=["squared"], train=1000)
    assert done.rows[0].verdict == "stepping failed"


def test_a_failed_training_has_a_page(tmp_path):
    row = survey.Row("cut", "ocean/cut", check="pass",
                     training=[{"settings": "its ini", "problem": "the env died"}])
    survey.judge(row)
    assert row.verdict == "training failed"
    page = survey.report_page.template("reporting/survey.html.jinja")
    html = page.render(rows=[row], passed=0, source="x")
    assert "the env died" in html


def test_hashes_are_those_of_the_files_before_an_upgrade(tmp_path):
    folder = tmp_path / "ocean/old"
    folder.mkdir(parents=True)
    (tmp_path / "config/ocean").mkdir(parents=True)
    old = {"old.h.orig": "1", "binding.c.orig": "2", "../../config/ocean/old.ini": "3"}
    for name, text in {**old, "old.h": "new", "binding.c": "new", "old.ini": "new"}.items():
        (folder / name).write_text(text)
    files = try_env.files_of(folder)
    for name, text in zip(("old.h", "binding.c", "old.ini"), "123"):
        said = subprocess.run(["git", "hash-object", "--stdin"], input=text, text=True,
                              capture_output=True).stdout
        assert files[name] == said.strip(), name


def test_hashes_are_of_the_shared_ini_and_of_resources_too(tmp_path):
    folder = tmp_path / "ocean/maze"
    for name in ("ocean/maze", "config", "resources/maze", "resources/other"):
        (tmp_path / name).mkdir(parents=True)
    used = ("resources/maze/wall[1].png", "resources/maze/map_0.bin", "resources/maze/map_12.bin")
    for name in (*used, "resources/maze/README", "resources/other/x.png"):
        (tmp_path / name).write_text(name)
    (folder / "maze.h").write_text(
        'a("resources/maze/wall[1].png"); b("./resources/maze/map_%02d.bin");\n'
        'c("resources/no.png");')
    (tmp_path / "config/maze.ini").write_text("[env]\n")
    (tmp_path / "config/default.ini").write_text("[vec]\n")
    assert set(try_env.files_of(folder)) == {"maze.h", "maze.ini", "default.ini", *used}
    (folder / "maze.ini").write_text("[env]\n")        # an ini of its own: default.ini is not read
    assert "default.ini" not in try_env.files_of(folder)


def test_lines_are_those_of_the_files_before_an_upgrade(tmp_path):
    old = "struct A {\n  int x;\n};\nvoid c_step() {\n  old();\n  go();\n}\n"
    new = "struct A {\n  int n;\n  int rng;\n  int x;\n};\nvoid c_step() {\n  anew();\n  go();\n}\n"
    assert try_env.lines_before(old, new) == [1, 1, 1, 2, 3, 4, 5, 6, 7]
    assert try_env.lines_before("b\nc\n", "a\nb\nx\ny\n") == [1, 1, 2, 2]
    folder = tmp_path / "old"
    folder.mkdir()
    for name, text in {"old.h.orig": old, "old.h": new, "old.c": "x"}.items():
        (folder / name).write_text(text)
    row = survey.Row("old", "", problems={"stepping": "it died (old.h:8); old.c:8"},
                     programs={"web": "old.h:6: no"}, training=[{"problem": "at old.h:7", "n": 1}],
                     findings=[{"message": "set in old.h:4", "place": "old.h:8"},
                               {"message": "nothing", "place": None}])
    survey.number_as_before(folder, row)
    assert row.problems == {"stepping": "it died (old.h:6); old.c:8"}
    assert row.programs == {"web": "old.h:4: no"} and row.training[0]["problem"] == "at old.h:5"
    assert [f["place"] for f in row.findings] == ["old.h:6", None]
    assert row.findings[0]["message"] == "set in old.h:2"
    (folder / "old.h.orig").unlink()
    assert try_env.before_upgrade(folder)("old.h:8") == "old.h:8"


def test_what_was_not_learnt_and_what_differs_is_no_pass():
    attempt = {"settings": "its ini", "steps": 1000, "measure": "score", "learnt": False,
               "trained": [1.0, 0.1], "random": [1.0, 0.1]}
    row = survey.Row("still", "ocean/still", check="pass", training=[attempt])
    survey.judge(row)
    assert row.verdict == "does not beat random play" and not row.passed
    assert "too little was logged" in row.problems.pop("compared")
    assert row.problems["learning"] == "after 1,000 steps, score is 1; of random play it is 1"
    row = survey.Row("apart", "ocean/apart", check="pass", training=[{**attempt, "learnt": True}],
                     agreement=[{"name": "perf", "training": 0.5, "eval": 0.9, "within": 0.1,
                                 "agrees": False}])
    survey.judge(row)
    assert row.verdict == "eval differs from training" and not row.passed


def test_what_is_not_there_is_refused(checkout, tmp_path):
    with pytest.raises(UsageError, match="there is no environment pong"):
        survey.survey(checkout, tmp_path / "out", only=["pong"])
    with pytest.raises(UsageError, match="no environments found"):
        survey.survey(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_ini_that_asks_for_ten_thousand_games_makes_no_trial_longer(monkeypatch, tmp_path):
    asked = []

    def stops(env, settings, **options):
        asked.append(settings["eval.episodes"])
        raise KeyError

    monkeypatch.setattr(try_env, "train", lambda *args, **options: mock.Mock(checkpoint=tmp_path))
    monkeypatch.setattr(try_env, "evaluate", stops)
    monkeypatch.setattr(survey.record, "record", stops)
    monkeypatch.setattr(survey.paths, "find_env", lambda folder: folder)
    monkeypatch.setattr(survey.build, "build", mock.Mock())
    monkeypatch.setattr(survey.EnvJob, "of", mock.Mock())
    monkeypatch.setattr(survey.config, "resolve", mock.Mock())
    monkeypatch.setattr(survey.child_process, "run", lambda *args, **options: dict.fromkeys(
        ("obs", "actions", "agents", "rate")))
    monkeypatch.setattr(survey.check, "check", lambda *args, **options: mock.Mock(findings=[]))
    with pytest.raises(KeyError):
        try_env._attempt(tmp_path, {"eval.episodes": 10_000}, 1, tmp_path)
    with pytest.raises(KeyError):
        survey.try_one(tmp_path, tmp_path, tmp_path)
    assert asked == [try_env.EPISODES, 1]
