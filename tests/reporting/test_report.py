"""`report` as a whole: what the page holds, that it is stable, what is kept, what may lack."""
import json
import re
import shutil
import signal
import time

import pytest
from helpers.check_fixtures import build_twice
from helpers.page_reader import Reader
from helpers.places import ROOT, broken
from helpers.playground import FAULTS, alive, descendants, flags, leftovers, wait_until
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.raylib import recipes
from puffer_sdk.reporting import measuring, report_page, stages
from puffer_sdk.reporting.keeping import Keeper
from puffer_sdk.reporting.subject import hash_files, open_subject
from puffer_sdk.training import runs

pytest_plugins = ["helpers.playground_fixtures"]

QUICK = {"train.total_timesteps": 4 * 65536, "eval.episodes": 50}
SEEDS = 2
FILES = ("report.html", "report.md", "report.json")


@pytest.fixture(scope="module", autouse=True)
def hurry():
    """Rates and check in a fraction of their time: nothing here is about how good they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "ROUNDS", 2)
        patch.setattr(stages, "BUDGET", 0.05)
        build_twice(patch)
        yield


@pytest.fixture(scope="module")
def home(squared, tmp_path_factory):
    """A Squared of our own."""
    folder = tmp_path_factory.mktemp("report") / "squared"
    shutil.copytree(squared, folder, ignore=shutil.ignore_patterns("build", "runs"))
    return folder


@pytest.fixture(scope="module")
def made(home):
    return puffer_sdk.report(home, QUICK, seeds=SEEDS)


def mask(html: str) -> str:
    """The page without what differs from one measurement to the next."""
    html = re.sub(r'<span class="timing">[^<]*</span>', "#", html)
    return re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)


def facts(data: dict) -> dict:
    return {key: value for key, value in data.items() if key != "timings"}


# -- what it holds ---------------------------------------------------------------------------


def test_the_page_holds_all_that_a_reviewer_asks_for(made):
    html = made.html.read_text()
    read = Reader(html)
    assert made.exit_status == 0 and made.problems == []
    assert [name for name in ("What it looks like", "Learning", "Evaluation", "Speed",
                              "Observations and rewards", "Check", "Determinism", "Web page",
                              "Settings", "Environment and machine")
            if f"<h2>{name}</h2>" not in html] == []
    assert len(read.all("img")) == 2 and all(image["alt"] for image in read.all("img"))
    charts = [svg for svg in read.all("svg") if svg.get("role") == "img"]
    assert len(charts) >= 4 + 2 + 4 and all(svg["aria-label"] for svg in charts)
    assert made.data["determinism"]["hash"] in html
    assert "train.learning_rate" in html and made.data["machine"]["compiler"] in html


def test_the_page_needs_nothing_from_elsewhere(made):
    html = made.html.read_text()
    read = Reader(html)
    for tag, attrs in read.tags:
        for name in ("src", "href", "data", "srcset", "action"):
            assert attrs.get(name, "data:").startswith("data:"), (tag, attrs)
        assert not any(name.startswith("on") for name in attrs)
    assert [tag.get("type") for tag in read.all("script")] == ["application/json"]
    assert not re.search(r"https?://|@import|url\(", html)
    assert any("default-src 'none'" in meta.get("content", "") for meta in read.all("meta"))


def test_the_data_is_in_the_page_and_beside_it(made):
    beside = json.loads(made.json.read_text())
    inside = re.search(rf'id="{report_page.DATA_ID}">(.*?)</script>', made.html.read_text(),
                       re.DOTALL)
    assert beside == json.loads(inside[1]) == json.loads(json.dumps(made.data))
    assert [seed["seed"] for seed in beside["training"]["seeds"]] == [42, 43]
    assert beside["determinism"]["same"] and beside["check"]["verdict"] == "pass"
    assert beside["environment"]["obs_size"] == 121 and beside["environment"]["act_sizes"] == [5]
    assert beside["web"]["bytes"] == sum(beside["web"]["files"].values())
    assert beside["timings"]["rates"]["stepping"]["ratio"] > 0
    differs = {row["name"] for row in beside["settings"] if row["differs"]}
    assert {"train.total_timesteps", "policy.hidden_size", "train.gamma", "eval.goal"} <= differs
    assert not {"train.beta1", "base.env_name", "vec.num_threads"} & differs
    assert str(made.html.parent) not in made.html.read_text()


def test_the_summary_is_short_and_can_be_found_again(made):
    text = made.markdown.read_text()
    assert text.startswith("<!-- puffer-sdk report: squared -->\n### squared: pass\n")
    assert len(text) < 3000 and 7 <= text.count("\n| ") <= 9
    assert re.search(r"\| check \| pass: nothing found by \d+ rules in ", text)


def test_a_reader_finds_the_goal_reached_or_not(made):
    """65536 steps an epoch: four of them solve nothing."""
    assert "0 of 2 seeds reach perf >= 0.95" in made.markdown.read_text()
    assert all(seed["goal_step"] is None for seed in made.data["training"]["seeds"])


# -- the same bytes --------------------------------------------------------------------------


def test_from_what_is_kept_it_is_the_same_to_the_byte(made, home, tmp_path):
    again = puffer_sdk.report(home, QUICK, seeds=SEEDS, output=tmp_path)
    assert made.kept == [] and again.kept == [
        "check", "trajectories", *["training"] * SEEDS, "evaluation", "picture", "picture",
        "rates", "web"]
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (made.html.parent / name).read_bytes(), name


@long_only
def test_measured_anew_it_is_the_same_but_for_timings(made, home, tmp_path):
    again = puffer_sdk.report(home, QUICK, seeds=SEEDS, fresh=True, output=tmp_path)
    assert again.kept == []
    assert facts(again.data) == facts(made.data)
    assert again.data["timings"] != made.data["timings"]
    assert mask(again.html.read_text()) == mask(made.html.read_text())
    assert again.html.read_text() != made.html.read_text()
    swapped = {**again.data, "timings": made.data["timings"]}
    assert report_page.markdown(swapped, "report.html") == made.markdown.read_text()


# -- what is kept ----------------------------------------------------------------------------


def test_another_setting_measures_again_what_depends_on_it(made, home, tmp_path):
    """The trajectories do not know of training; the page and the evaluation do."""
    subject = open_subject(home, {**QUICK, "train.gamma": 0.9}, verbose=False)
    keeper = Keeper(subject.kept)
    stages._trajectories(subject, keeper)
    assert keeper.taken == ["trajectories"]
    (other,) = stages._trainings(subject, keeper, 1, False)
    assert keeper.measured == ["training"]
    assert other.facts["weights"] != made.data["training"]["seeds"][0]["weights"]


def test_a_changed_file_changes_every_key_and_a_made_one_none(home):
    before = hash_files(home)
    (home / "notes.md").write_text("later")
    (home / "squared.gif").write_bytes(b"GIF")
    assert hash_files(home) == before
    header = home / "squared.h"
    text = header.read_text()
    header.write_text(text + "\n// a word\n")
    assert hash_files(home) != before
    header.write_text(text)
    assert hash_files(home) == before


def test_a_damaged_result_is_measured_again(tmp_path, home):
    env = tmp_path / "squared"
    shutil.copytree(home, env, ignore=shutil.ignore_patterns("build", "runs"))
    calls = []

    def work(entry):
        calls.append(entry)
        entry.path(".gif").write_bytes(b"picture")
        return {"value": float("nan")}, {"seconds": 1.0}

    for _ in range(2):
        entry = Keeper(env / "kept").stage("x", "x", 1, work, ".gif")
    assert len(calls) == 1 and entry.facts == {"value": None} and entry.timings == {"seconds": 1.0}
    entry.path(".gif").write_bytes(b"half")
    Keeper(env / "kept").stage("x", "x", 1, work, ".gif")
    entry.record.write_text(entry.record.read_text()[:20])
    Keeper(env / "kept").stage("x", "x", 1, work, ".gif")
    Keeper(env / "kept", fresh=True).stage("x", "x", 1, work, ".gif")
    Keeper(env / "kept").stage("x", "x", 2, work, ".gif")
    assert len(calls) == 5


def test_what_came_with_a_clone_is_measured_anew(tmp_path, monkeypatch):
    """Another user's entry, and one whose facts are others."""
    calls = []

    def work(entry):
        calls.append(entry)
        return {"value": {10: 1, 9: 2}}, {}

    def kept(home: str):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / home))
        return Keeper(tmp_path / "kept").stage("x", "x", 1, work)

    kept("theirs"), kept("theirs")
    assert len(calls) == 1
    entry = kept("ours")
    assert len(calls) == 2
    entry.record.write_text(entry.record.read_text().replace(": 2", ": 3"))
    kept("ours")
    assert len(calls) == 3


def test_a_failure_is_not_kept(tmp_path, home):
    env = tmp_path / "squared"
    shutil.copytree(home, env, ignore=shutil.ignore_patterns("build", "runs"))
    results = iter([({"failed": "no emcc"}, {}), ({"bytes": 1}, {})])
    found = [Keeper(env / "kept").stage("x", "x", 1, lambda entry: next(results)).facts
             for _ in range(3)]
    assert found == [{"failed": "no emcc"}, {"bytes": 1}, {"bytes": 1}]


EPOCH = 65536
LONG = {"train.total_timesteps": 96 * EPOCH, "base.checkpoint_interval": 16}


@pytest.fixture(scope="module")
def uninterrupted(home, tmp_path_factory):
    """A training of a few seconds: its facts."""
    env = tmp_path_factory.mktemp("whole") / "squared"
    shutil.copytree(home, env, ignore=shutil.ignore_patterns("build", "runs"))
    subject = open_subject(env, LONG, verbose=False)
    return stages._trainings(subject, Keeper(subject.kept), 1, False)[0].facts


@long_only
@pytest.mark.parametrize("number", some_or_all([signal.SIGKILL, signal.SIGINT], 0))
def test_interrupted_it_goes_on_and_ends_as_if_it_had_not_been(number, uninterrupted, home, start,
                                                               tmp_path):
    """Stopped in the training: after a checkpoint, and anywhere."""
    env = tmp_path / "squared"
    shutil.copytree(home, env, ignore=shutil.ignore_patterns("build", "runs"))
    process = start("report", env, "--seeds", 1, *flags(LONG))
    begun = env / "build" / "report" / "runs" / "squared"
    sign = "*/checkpoints/0*[1-9]*.safetensors" if number == signal.SIGKILL else "*/metrics.jsonl"
    wait_until(lambda: any(path.stat().st_size for path in begun.glob(sign)), 60)
    helpers = descendants(process.pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == (-9 if number == signal.SIGKILL else 130)
    assert "Traceback" not in err and "determinism" in err and "evaluation" not in err
    if number == signal.SIGINT:
        assert "run the same command again to continue" in err
    wait_until(lambda: not any(map(alive, helpers)))
    assert not [name for name in FILES if (env / "build" / name).exists()]
    assert not list((env / "build" / "report").glob("training-*"))
    (run,) = runs.list_runs(begun)
    assert run.checkpoints()

    subject, keeper = open_subject(env, LONG, verbose=False), Keeper(env / "build" / "report")
    stages._check(subject, keeper, False)
    stages._trajectories(subject, keeper)
    assert keeper.taken == ["check", "trajectories"]
    _, resumes = stages._unfinished(begun, run.tag)
    assert resumes and any(int(path.stem) for path in run.checkpoints())
    (again,) = stages._trainings(subject, keeper, 1, False)
    assert again.facts == uninterrupted
    assert list(begun.iterdir()) == [] and leftovers(env / "build" / "report") == []


@long_only
def test_a_training_that_was_done_but_not_gathered_is_not_done_again(uninterrupted, home, tmp_path,
                                                                     monkeypatch):
    """Killed between the end of a training and its result."""
    env = tmp_path / "squared"
    shutil.copytree(home, env, ignore=shutil.ignore_patterns("build", "runs"))
    subject = open_subject(env, LONG, verbose=False)
    with monkeypatch.context() as patch:
        patch.setattr(stages, "_hash_tensors", lambda tensors: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stages._trainings(subject, Keeper(subject.kept), 1, False)
    monkeypatch.setattr("puffer_sdk.training.train.train",
                        lambda *_, **__: pytest.fail("trained again"))
    (found,) = stages._trainings(subject, Keeper(subject.kept), 1, False)
    assert found.facts == uninterrupted


# -- what may be missing ---------------------------------------------------------------------


def test_without_emcc_it_says_so_in_a_sentence(made, home, monkeypatch, tmp_path):
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, *rest, **more: None if name == "emcc"
                        else real(name, *rest, **more))
    with pytest.raises(puffer_sdk.BuildError):
        recipes.find_emcc()
    done = puffer_sdk.report(home, QUICK, seeds=SEEDS, output=tmp_path / "x.html")
    assert done.exit_status == 0 and done.data["web"].keys() == {"failed"}
    for text in (done.html.read_text(), done.markdown.read_text()):
        assert re.search(r"[Nn]ot built: \w.*emscripten", text)


def test_an_env_that_breaks_the_contract_gets_its_report(probe, capsys):
    folder = probe(("float n;", "int n;"))
    done = puffer_sdk.report(folder, seeds=1)
    assert done.exit_status == 1 and done.data["check"]["verdict"] == "fail"
    codes = [finding["code"] for finding in done.data["check"]["findings"]]
    assert codes and all(f"<strong>{code}</strong>" in done.html.read_text() for code in codes)
    assert all("failed" in done.data[name] for name in ("determinism", "training", "rates", "web"))
    assert "### probe: fail" in done.markdown.read_text() and codes[0] in done.markdown.read_text()
    assert "Traceback" not in capsys.readouterr().err
    Reader(done.html.read_text())


@long_only
def test_an_env_that_draws_nothing_and_states_no_goal(probe):
    done = puffer_sdk.report(probe(), {"train.total_timesteps": 4 * 16384, "eval.episodes": 20,
                                       "vec.total_agents": 256,
                                       "policy.hidden_size": 16, "policy.num_layers": 1}, seeds=1)
    html = done.html.read_text()
    Reader(html)
    assert "No picture of random play: c_render draws nothing" in html
    assert "states no goal" in html and "states no goal" in done.markdown.read_text()
    assert done.data["web"]["failed"].startswith("there is no probe.c")
    assert done.data["training"]["metric"] == "score"
    assert str(done.html.parents[1]) not in html


@long_only
def test_an_env_that_dies_is_a_problem_and_not_the_end(faulty, tmp_path):
    env = tmp_path / "faulty"
    shutil.copytree(faulty, env, ignore=shutil.ignore_patterns("build", "runs"))
    done = puffer_sdk.report(env, {"env.fault": FAULTS["SEGFAULT"], "env.at": 3}, seeds=SEEDS)
    assert done.exit_status == 1 and done.data["check"]["verdict"] == "fail"
    assert "the environment failed in c_step: SIGSEGV" in done.data["training"]["failed"]
    assert done.data["training"]["seeds"] == []
    assert any(text.startswith("training failed: ") for text in done.problems)
    Reader(done.html.read_text())


@long_only
def test_dice_of_ones_own_are_a_problem(tmp_path):
    env = tmp_path / "puf501_dice"
    shutil.copytree(broken("puf501_dice"), env)
    subject = open_subject(env, None, verbose=False)
    found = stages._trajectories(subject, Keeper(subject.kept)).facts
    assert found["same"] is False and len(set(found["hashes"])) > 1


# -- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "message"), [
    ({"seeds": 0}, "--seeds is out of range"),
    ({"output": "nowhere/x.html"}, "the output folder does not exist"),
    ({"output": "x.pdf"}, "invalid report file name"),
    ({"settings": {"train.gama": 1}}, "no setting 'gama'"),
    ({"compare": "nothing_here"}, "--compare nothing_here: there is no environment"),
])
def test_what_is_refused_is_refused_before_anything_runs(options, message, home, monkeypatch,
                                                         tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stages, "measure", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(UsageError, match=re.escape(message)):
        puffer_sdk.report(home, **options)


@long_only
def test_the_docs_commands_run_and_print_what_they_show(made, home, cli, tmp_path):
    """With the settings whose results are kept; before/my_env is a copy of it."""
    text = (ROOT / "docs" / "share" / "report.md").read_text()
    (session,) = re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
    for place in ("", "before"):
        shutil.copytree(home, tmp_path / place / "squared")
    steps = [part.splitlines() for part in session.split("$ puffer-sdk ")[1:]]
    for command, *shown in steps:
        words = command.replace("my_env", "squared").split()
        done = cli(*words, "--seeds", SEEDS, *flags(QUICK), timeout=120)
        assert done.returncode == 0, done.stderr
        labels = [line[:11] for line in done.stdout.splitlines()]
        assert set(line[:11] for line in shown) <= set(labels)
        if "--compare" in words:
            assert "compared   " in labels and "changed    " not in labels
    assert [words.split()[2:3] for words, *_ in steps] == [[], ["--output"], *[["--compare"]] * 2]
    assert made.markdown.read_text().splitlines()[0].replace("squared", "my_env") in text
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert "puffer_sdk.report(\"my_env\", seeds=3)" in code
    for name in re.findall(r"done\.(\w+)", code):
        assert hasattr(made, name), name


def test_the_command_prints_the_summary_or_the_data(made, home, cli, tmp_path):
    words = ["report", home, "--seeds", SEEDS, *flags(QUICK)]
    began = time.monotonic()
    done = cli(*words, "--output", tmp_path / "a.html", timeout=120)
    assert done.returncode == 0, done.stderr
    labels = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert [label for label in labels if label not in ("kept", "why")] == [
        "check", "solved", "reached", "speed", "same seed", "web page", "report", "summary"]
    assert done.stderr.count(": kept") >= 7 and time.monotonic() - began < 100
    done = cli(*words, "--format", "json", "-o", tmp_path / "b.html", timeout=120)
    assert facts(json.loads(done.stdout)) == facts(json.loads(made.json.read_text()))
