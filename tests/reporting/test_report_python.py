"""`report` on environments in Python: what the page holds and leaves out, what is kept, faults."""
import json
import re
import shutil

import numpy as np
import pytest
from helpers.page_reader import Reader
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env.obs_spec import ObsField
from puffer_sdk.reporting import comparing, measuring, report_page, stages, summary
from puffer_sdk.reporting.keeping import Keeper
from puffer_sdk.reporting.subject import open_subject

GAMES = SPECIMENS / "python_envs" / "games.py"
GIF = {"random": b"GIF89a", "trained": b"GIF89a"}
QUICK = {"train.horizon": 16, "train.minibatch_size": 128, "vec.total_agents": 16,
         "policy.hidden_size": 16, "train.total_timesteps": 16 * 16 * 4, "eval.episodes": 8,
         "vec.num_workers": 1, "env.length": 4}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("python")
    shutil.copy(GAMES, folder / "games.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for module, name, value in ((measuring, "ROUNDS", 2), (measuring, "STEPPING", 0.02),
                                    (measuring, "TRAINING", 0.02), (stages, "BUDGET", 0.02),
                                    (stages, "PROFILE", 0.2)):
            patch.setattr(module, name, value)
        yield folder


@pytest.fixture(scope="module")
def made(home):
    return puffer_sdk.report("games.py:Count", QUICK, seeds=1)


def test_the_page_lies_beside_the_runs_and_hides_what_it_keeps(made, home):
    place = home / "runs" / "games" / "Count"
    assert made.html == place / "report.html" and made.json.is_file() and made.markdown.is_file()
    assert sorted(path.name for path in place.iterdir()) == [
        ".report", "report.html", "report.json", "report.md"]


def test_it_holds_what_makes_sense_and_no_heading_for_the_rest(made):
    html = made.html.read_text()
    Reader(html)
    assert re.findall("<h2>(.*?)</h2>", html) == [
        "What it is", "What it looks like", "Learning", "Evaluation", "Speed",
        "Where training time goes", "Observations and rewards", "Check", "Determinism", "Settings",
        "Environment and machine"]
    assert not re.search(r"</h2>\s*</section>", html)
    for word in ("Squared", "sanitizer", "c_step", "c_reset", "binding", "flags"):
        assert word not in html, word
    assert html.count('src="data:image/gif;base64') == 2
    assert len(re.findall(r'class="spark"', html)) == 4         # three numbers and the reward
    assert "rollout: environments" in html and "two worker processes" in html


def test_what_draws_nothing_has_no_heading_for_pictures(made):
    data = json.loads(json.dumps(made.data))
    data["environment"]["render_modes"] = ["ansi"]
    html = report_page.render(data, {})
    assert "What it looks like" not in html and "ansi: a picture needs rgb_array" in html


def test_the_data_say_what_it_is(made):
    data = json.loads(made.json.read_text())
    about = data["environment"]
    assert about["obs_parts"] == [{"name": "", "first": 0, "last": 2, "described": "3 numbers"}]
    assert about["act_parts"] == [{"name": "", "width": 3}] and about["act_sizes"] == [3]
    assert "gymnasium" in about["packages"] and about["render_modes"] == ["rgb_array"]
    assert {"episode_return", "levers"} <= set(about["log_names"])
    assert data["determinism"]["same"] is True and data["determinism"]["spread"] == \
        "worker processes"
    by_name = {row["name"]: row for row in data["settings"]}
    assert by_name["train.learning_rate"]["default"] == by_name["train.learning_rate"]["value"]
    assert by_name["train.total_timesteps"]["default"] == "500000"
    assert set(data["timings"]["rates"]["stepping"]) == {"own", "low", "high"}
    assert "web" not in data and str(made.html.parent) not in made.html.read_text()


def test_the_summary_has_no_row_for_what_is_left_out(made):
    labels = [row.label for row in summary.rows(made.data)]
    assert [label for label in labels if label != "why"] == [
        "check", "solved", "reached", "speed", "same seed"]
    assert "### games.py:Count: " in made.markdown.read_text()
    assert "Squared" not in made.markdown.read_text()


def test_a_second_report_takes_what_is_kept_until_the_file_changes(made, home, tmp_path):
    again = puffer_sdk.report("games.py:Count", QUICK, seeds=1, output=tmp_path)
    assert again.kept == ["check", "trajectories", "training", "evaluation", "picture", "picture",
                          "rates", "profile"] or made.data["check"].get("failed")
    assert (tmp_path / "report.html").read_bytes() == made.html.read_bytes()
    before = open_subject("games.py:Count", QUICK, verbose=False)
    games = home / "games.py"
    text = games.read_text()
    games.write_text(text + "\n# a word\n")
    after = open_subject("games.py:Count", QUICK, verbose=False)
    games.write_text(text)
    assert before.key != after.key and before.key == open_subject(
        "games.py:Count", QUICK, verbose=False).key


def test_reports_are_compared_by_their_own_rates(made):
    faster = json.loads(json.dumps(made.data))
    rates = faster["timings"]["rates"]["stepping"]
    rates["own"] = [9 * rate for rate in rates["own"]]
    found = comparing.compare(made.data, faster, "before")
    changed = [row["name"] for row in found["rows"] if row["changed"]]
    assert changed == ["stepping, steps/s"]
    assert "steps/s" in report_page.render({**faster, "comparison": found}, GIF)
    compiled = json.loads(json.dumps(made.data))
    for kind in ("stepping", "training"):
        compiled["timings"]["rates"][kind]["ratio"] = 1.0
    assert comparing.compare(compiled, made.data, "C")["same_machine"]
    alone = json.loads(json.dumps(made.data))
    alone["determinism"]["spread"] = ""
    html = report_page.render(alone, GIF)
    assert "each in its own process.</p>" in html


@long_only
def test_code_that_fails_is_a_problem_and_not_the_end(home, tmp_path):
    """An environment that raises in its fourth step: the report says where, and has no page of
    what was never reached."""
    done = puffer_sdk.report("games.py:Count", {**QUICK, "env.fault": "raise"}, seeds=1,
                             output=tmp_path)
    assert done.exit_status == 1 and "no such lever" in done.data["training"]["failed"]
    assert any("training failed: " in text for text in done.problems)
    Reader(done.html.read_text())


def test_an_environment_that_cannot_be_made_gets_its_report(home, tmp_path):
    (home / "broken.py").write_text("def make():\n    raise ValueError('no levers')\n")
    done = puffer_sdk.report("broken.py:make", seeds=1, output=tmp_path)
    assert done.exit_status == 1 and "no levers" in done.data["determinism"]["failed"]
    Reader(done.html.read_text())


@long_only
def test_copies_that_are_stepped_together_are_not_dealt_anew(home):
    """Gymnasium's own CartPole of many copies has one seed for all of them."""
    name = "gymnasium.vector:CartPole-v1"
    subject = open_subject(name, {"vec.num_workers": 1}, verbose=False)
    keeper = Keeper(subject.kept)
    assert stages._trajectories(subject, keeper).facts["same"] is True
    checked = stages._check(subject, keeper, False).facts
    assert checked["verdict"] == "pass" and checked["env_steps"] > 100


@long_only
def test_dice_that_are_dealt_to_a_process_are_a_problem(home):
    """A generator that all copies of a worker share: with two workers, others are drawn."""
    shutil.copy(GAMES, home / "games_of_levers.py")
    (home / "dice.py").write_text(
        "import random\nfrom games_of_levers import Count\n\n\nclass Dice(Count):\n"
        "    def look(self):\n"
        "        found = super().look()\n        found[0] = random.random()\n"
        "        return found\n")
    subject = open_subject("dice.py:Dice", QUICK, verbose=False)
    found = stages._trajectories(subject, Keeper(subject.kept)).facts
    assert found["same"] is False and len(set(found["hashes"][:2])) == 1


@pytest.mark.parametrize(("name", "settings", "says"), [
    ("gymnasium:NoSuch-v0", {}, "Gymnasium has no environment"),
    ("no_package.envs:make", {}, "there is no module no_package"),
    ("games.py:Count", {"env.lenght": 3}, "takes no keyword 'lenght'"),
    ("games.py:Count", {"train.gama": 1}, "no setting 'gama'")])
def test_what_is_refused_is_refused_before_anything_runs(home, name, settings, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        puffer_sdk.report(name, settings)


def test_few_numbers_have_a_line_each_and_many_share_one():
    parts = (ObsField("where", 0, 2, None, None, "", 0), ObsField("", 2, 1, None, None, "", 0),
             ObsField("map", 3, 50, None, None, "", 0))
    rows = np.arange(53 * 4, dtype=np.float32).reshape(4, 53)
    rows[0, 0] = np.nan
    found = measuring.quantities(parts, rows, np.array([0.0, 0.0, 1.0, 0.0]))
    assert [row["name"] for row in found] == [
        "where[0]", "where[1]", "observation[0]", "map, 50 numbers", "reward"]
    assert found[0]["low"] == 53 and sum(found[0]["histogram"]) == 3
    assert found[3]["high"] == 53 * 4 - 1 and sum(found[3]["histogram"]) == 200
    assert found[4]["zeros"] == 0.75 and found[4]["element"] is None
