"""The parts of a report: curves, charts, comparison, and texts that nobody may break out of."""
import copy
import json
import math
import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest
from helpers.page_reader import Reader
from markdown_it import MarkdownIt

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.reporting import axes, charts, comparing, curves, report_page, summary
from puffer_sdk.reporting.context import settings_table
from puffer_sdk.settings import config

GIF = {"trained": b"GIF89a"}
FINDING = {"code": "PUF302", "name": "reset-is-partial", "severity": "error", "file": "ant.h",
           "message": "c_reset leaves a field as it was", "line": 7, "env": 0, "agent": None,
           "step": 3, "element": None, "expected": "0", "actual": "4", "seed": 42,
           "repro": "build/check/repro_PUF302.c"}


def training(*values: float, goal_step: int | None = 200, first: int = 42) -> dict:
    """The facts of a few seeds that end at these values."""
    return {"goal": "perf >= 0.9", "metric": "perf", "least_is_best": False, "timesteps": 300,
            "median_seed": first, "seeds": [
                {"seed": first + i, "steps": 300, "epochs": 3, "goal_step": goal_step,
                 "weights": f"{i}" * 64, "final": {"perf": value, "score": 9 * value},
                 "curves": {"step": [100, 200, 300], "perf": [None, 0.2, value]}}
                for i, value in enumerate(values)]}


def score(policy: str, mean: float, half: float | None = 0.1) -> dict:
    return {"policy": policy, "unit": "per episode", "count": 9, "ticks": 99, "unfinished": 0,
            "mean": {"perf": mean, "episode_length": 5.0},
            "interval": {"perf": half, "episode_length": 0.5}}


@pytest.fixture
def data(squared) -> dict:
    """A report's data, small and made by hand."""
    rates = {"own": [1e6, 2e6], "squared": [2e6, 4e6], "ratio": 0.5, "low": 0.4, "high": 0.6}
    clock = {"seconds": 2.0, "goal_seconds": 1.5, "steps_per_second": 1e6}
    about = {"agents_per_env": 1, "obs_size": 3, "obs_dtype": "float32", "act_sizes": [1, 4],
             "mask_size": 0, "has_truncations": False, "log_names": ["perf", "score"]}
    return {
        "format": 1, "version": "0.1.0", "env": "ant", "source": "0123456789abcdef",
        "check": {"verdict": "fail", "findings": [FINDING], "rules": 52, "env_steps": 1000,
                  "envs": 4, "terminals": 3, "sanitized": True, "not_tested": {"PUF1": "no log"},
                  "more": {}, "notes": [], "asked": [
                      {"call": "connect", "what": "10.0.0.1:80", "denied": "No route to host"},
                      {"call": "fopen", "what": "/tmp/x", "denied": ""}], "suppressed": [
                      {"code": "PUF2", "message": "so", "reason": "because",
                       "allowed_at": "ant.h:3"}],
                  "lines": {"reached": 1, "total": 2, "missed": ["ant.h:9"], "skipped": None},
                  "statistics": [{"name": "reward", "element": None, "low": 0.0, "high": 1.0,
                                  "mean": 0.5, "zeros": 0.5, "histogram": [3, 0, 1]}]},
        "training": training(0.9, 0.95, 0.99),
        "evaluation": {"goal": "perf >= 0.9", "solved": True, "seed": 42, "policies": {
            "trained": score("trained", 0.95), "random": score("random", 0.1)},
            "histograms": {"episode_length": {"low": 0.5, "high": 6.5, "counts": {
                "trained": [1, 2, 3], "random": [3, 2, 1]}}}},
        "pictures": {"random": {"failed": "c_render draws nothing"}, "trained": {
            "frames": 2, "seconds": 1.0, "fps": 2.0, "width": 4, "height": 4, "bytes": 6,
            "episodes": 1}},
        "determinism": {"hash": "ab" * 32, "hashes": ["ab" * 32] * 3, "same": True, "envs": 4,
                        "ticks": 9, "about": about},
        "rates": {"threads": 2, "agents": 64, "squared_agents": 1024},
        "web": {"bytes": 1234567, "zipped": 400000, "files": {"index.html": 7}, "warnings": 0},
        "settings": settings_table(config.resolve(squared)),
        "environment": {**about, "struct": "Ant", "binding": "generated", "spec_hash": "ff",
                        "flags": ["-O3"]},
        "machine": {"cpu": "Z80", "cores": 2, "memory_gib": 1, "system": "Linux", "python": "3",
                    "compiler": "cc 1", "numpy": "2", "puffer_sdk": "0.1.0"},
        "timings": {"check": {"seconds": 1.0}, "training": [clock] * 3,
                    "rates": {"stepping": rates, "training": rates}}}


# -- hostile texts ---------------------------------------------------------------------------

HOSTILE = ("</script><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload=\"x\" "
           "{{ 7*7 }} -->`|*_b_*~~s~~ [l](http://evil.example) ![i](http://evil.example/x.png) "
           "@octocat #12 www.evil.example\n\n# head\n| a | b |\n- item &lt;")
KEPT = {"goal", "obs_dtype", "unit", "severity", "verdict", "metric"}  # chosen among our own words


def poisoned(value, name: str = ""):
    """The same data with every text made hostile, and names of measures as well."""
    if isinstance(value, str):
        return value if name in KEPT else value + HOSTILE
    if isinstance(value, dict):
        ours = name in ("mean", "interval", "not_tested", "files")
        return {key + HOSTILE if ours else key: poisoned(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, name) for item in value]
    return value


@pytest.fixture
def compared(data) -> dict:
    before = copy.deepcopy(data)
    before["training"] = training(0.1, 0.2, 0.3)
    return {**data, "comparison": comparing.compare(before, data, "old.html")}


def test_no_text_gets_out_of_the_page(compared):
    tame, wild = (Reader(report_page.render(data, GIF)) for data in (compared, poisoned(compared)))

    def skeleton(read):
        return [(tag, sorted(attrs), attrs.get("class")) for tag, attrs in read.tags]

    assert skeleton(tame) == skeleton(wild)
    text = "".join(wild.text)
    assert "<script>alert(1)</script>" in text and "{{ 7*7 }}" in text      # shown as it is
    embedded = re.search(rf'id="{report_page.DATA_ID}">(.*?)</script>',
                         report_page.render(poisoned(compared), GIF), re.DOTALL)[1]
    assert json.loads(embedded) == poisoned(compared)


def test_no_text_gets_out_of_the_summary(compared):
    """Read by a Markdown parser: the same structure, whatever the texts are."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

    def structure(text: str) -> list[str]:
        found = []
        for token in parser.parse(text):
            found.append(token.type)
            if token.type == "html_block":
                found[-1] += token.content.split(":")[0]
            found += [child.type + (child.content if child.type == "html_inline" else "")
                      for child in token.children or [] if child.type != "text_special"
                      and child.type != "text"]
        return found

    tame, wild = (report_page.markdown(data, "report.html")
                  for data in (compared, poisoned(compared)))
    assert structure(wild) == structure(tame)
    assert "\n| " in wild and len(wild.splitlines()) == len(tame.splitlines())
    for word in ("@octocat", "#12", "http://", "www.", "<script", "<img"):
        assert word not in wild.partition("\n")[2], word
    assert wild.startswith("<!-- puffer-sdk report: ant_script_script_alert_1_")
    assert wild.splitlines()[0].count("-->") == 1 and len(wild) < 20_000


def test_plain_texts_stay_readable():
    assert report_page.plain("my_env reaches perf >= 0.95 at ant.h:7") == \
        "my_env reaches perf >= 0.95 at ant.h:7"
    assert report_page.plain("-0.41") == "-0.41"
    assert len(report_page.plain("x" * 999)) == report_page.MOST_TEXT


# -- what the documents say ------------------------------------------------------------------


def test_findings_and_what_is_missing_are_said(data):
    html, text = report_page.render(data, GIF), report_page.markdown(data, "report.html")
    assert summary.problems(data) == ["check fails: 1 error"]
    assert "<strong>PUF302</strong>" in html and "c_reset leaves a field as it was" in html
    assert "No picture of random play: c_render draws nothing." in html
    assert "- **PUF302** (error): c_reset leaves a field as it was, ant.h:7" in text
    assert "3 of 3 seeds reach perf >= 0.9, after 200 steps (median), 1.5 s" in text
    assert "training 0.50 x Squared (1.5M steps/s)" in text


def test_what_it_asked_of_the_machine_is_said(data):
    html, text = report_page.render(data, GIF), report_page.markdown(data, "report.html")
    assert "<li><code>connect 10.0.0.1:80: No route to host</code></li>" in html
    assert "<li><code>fopen /tmp/x: done</code></li>" in html
    asked = "it acts outside its game (PUF115) and asked for connect 10.0.0.1:80: "
    assert f"| outside | {asked}No route to host, fopen /tmp/x: done |" in text
    del data["check"]["asked"]
    assert "beyond its game" not in report_page.render(data, GIF)
    assert "outside" not in {row.label for row in summary.rows(data)}
    data["check"]["suppressed"][0]["code"] = "PUF115"
    (row,) = [row for row in summary.rows(data) if row.label == "outside"]
    assert row.text == "it acts outside its game (PUF115, 1 place)" and row.good is False


def test_many_findings_are_cut_and_counted(data):
    data["check"]["findings"] = [FINDING] * 30
    data["check"]["more"] = {"PUF302": 5}
    text = report_page.markdown(data, "report.html")
    assert text.count("**PUF302**") == report_page.MOST_LISTED and "- and 18 more" in text
    assert "30 errors, and 5 more of the same rules" in text


def test_unsteady_trajectories_are_a_problem(data):
    data["determinism"].update(same=False, hashes=["a" * 64, "b" * 64, "a" * 64])
    assert "the same seed does not give the same trajectories" in summary.problems(data)
    assert "b" * 64 in report_page.render(data, GIF)


def test_a_goal_that_nobody_reaches(data):
    data["training"] = training(0.1, 0.2, goal_step=None)
    data["timings"]["training"] = [{"seconds": 2.0, "goal_seconds": None,
                                    "steps_per_second": 1.0}] * 2
    assert "0 of 2 seeds reach perf >= 0.9 |" in report_page.markdown(data, "x.html")
    assert report_page.render(data, GIF).count("<td>not reached</td>") == 2


# -- comparing -------------------------------------------------------------------------------


@pytest.mark.parametrize(("base", "now", "word", "apart"), [
    ([1, 2, 3], [3, 2, 1], "the same", False),
    ([1, 2, 3], [3, 4, 5], "within the spread of the seeds", False),
    ([1, 2, 3], [4, 5, 6], "every seed above the base's; by chance 1 time in 10", True),
    ([4, 5, 6, 7, 8], [1, 2, 3, 3, 3], "every seed below the base's; by chance 1 time in 126",
     True),
    ([math.inf] * 3, [10, 20, 30], "every seed below the base's; by chance 1 time in 10", True),
    ([1], [2], "one seed: noise is not known", True)])
def test_seeds_say_whether_a_difference_is_noise(base, now, word, apart):
    assert comparing.compare_seeds(base, now) == (word, apart)


def test_a_report_compared_with_itself_has_no_changes(data):
    found = comparing.compare(data, data, "itself")
    assert len(found["rows"]) > 8 and not any(row["changed"] for row in found["rows"])
    text = report_page.markdown({**data, "comparison": found}, "report.html")
    assert f"None of {len(found['rows'])} numbers stands out of its noise." in text


def test_a_comparison_names_each_change_and_its_noise(data):
    before = copy.deepcopy(data)
    before["training"] = training(0.1, 0.2, 0.3, goal_step=None)
    before["check"]["findings"] = [{**FINDING, "code": "PUF999"}]
    before["evaluation"]["policies"]["trained"] = score("trained", 0.93)
    before["determinism"]["hash"] = "cd" * 32
    before["environment"]["obs_size"] = 4
    before["settings"] = [{**row, "value": "0.5"} if row["name"] == "train.gamma" else row
                          for row in before["settings"]]
    rows = {row["name"]: row for row in comparing.compare(before, data, "x")["rows"]}
    assert {name: (row["base"], row["now"], row["word"]) for name, row in rows.items()
            if row["changed"]} == {
        "train.gamma": ("0.5", "0.995", "a setting"),
        "finding PUF302": ("-", "found", "new"), "finding PUF999": ("found", "-", "fixed"),
        "perf, median of seeds": ("0.2", "0.95",
                                  "every seed above the base's; by chance 1 time in 10"),
        "score, median of seeds": ("1.8", "8.55",
                                   "every seed above the base's; by chance 1 time in 10"),
        "steps to the goal": ("never", "200",
                              "every seed below the base's; by chance 1 time in 10"),
        "observations": ("4", "3", "exact"),
        "trajectories of random play": ("cdcdcdcd", "abababab", "the game has changed")}
    assert rows["trained play: perf"]["word"] == "within the 95 % intervals"


def test_seconds_of_another_machine_are_not_compared(data):
    before = copy.deepcopy(data)
    before["machine"]["cpu"] = "6502"
    names = [row["name"] for row in comparing.compare(before, data, "x")["rows"]]
    assert "seconds to the goal" not in names and "training, relative to Squared" in names
    assert "another machine" in report_page.markdown(
        {**data, "comparison": comparing.compare(before, data, "x")}, "x.html")


def test_a_page_and_its_data_are_the_same_base(data, tmp_path):
    (tmp_path / "a.html").write_text(report_page.render(data, GIF))
    (tmp_path / "a.json").write_text(json.dumps(data))
    assert comparing.load(tmp_path / "a.html") == comparing.load(tmp_path / "a.json") == data


@pytest.mark.parametrize("text", ["", "{}", "<html></html>", "[1]", '{"format": 99}', "\x00"])
def test_what_is_no_report_is_refused(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match="not a report|another version"):
        comparing.load(tmp_path / "a.json")


@pytest.mark.parametrize("spoil", [
    lambda d: d.pop("training"), lambda d: d["training"].update(seeds=[{}]),
    lambda d: d.update(settings="x"), lambda d: d["check"].update(findings=[1]),
    lambda d: d["training"]["seeds"][0]["curves"].update(perf=["x", "y", "z"])])
def test_a_damaged_base_is_named(spoil, data):
    before = copy.deepcopy(data)
    spoil(before)
    with pytest.raises(UsageError, match="damaged"):
        comparing.compare(before, data, "old.json")


# -- curves and charts -----------------------------------------------------------------------


def rows(*values: float | None) -> list[dict]:
    return [{"epoch": i + 1, "step": 64 * (i + 1),
             **({} if value is None else {"env/perf": value, "env/n": i + 1.0})}
            for i, value in enumerate(values)]


def settings(epochs: int, goal: str = "") -> SimpleNamespace:
    return SimpleNamespace(vec=SimpleNamespace(total_agents=8),
                           train=SimpleNamespace(horizon=8, total_timesteps=64 * epochs),
                           eval=SimpleNamespace(goal=goal))


def test_a_curve_weighs_by_entries_and_leaves_gaps():
    found = curves.sample(rows(0.0, None, 1.0), settings(3))
    assert found == {"step": [64, 128, 192], "perf": [0.0, None, 1.0]}
    many = curves.sample(rows(*[1.0] * 200), settings(200))
    assert len(many["step"]) == curves.POINTS and many["step"][-1] == 200 * 64
    halves = curves.sample(rows(*([0.0, 3.0] * curves.POINTS)), settings(2 * curves.POINTS))
    assert halves["perf"][0] == pytest.approx(2.0)          # weights 1 and 2
    assert curves.sample(rows(1.0), settings(5))["step"] == [64]    # it ended early
    assert curves.sample([], settings(5)) == {"step": []}
    rated = [{**row, "selfplay/elo": 4.0 * row["epoch"]} for row in rows(0.0, None, 1.0)]
    assert curves.sample(rated, settings(3))["elo"] == [4.0, 8.0, 12.0]     # at the ends, not means


def test_median_and_worst_wait_for_every_seed():
    seeds = [{"curves": {"perf": [None, 1.0, None]}}, {"curves": {"perf": [0.0, 0.5, 0.6]}},
             {"curves": {"perf": [3.0, 3.0, 3.0, 3.0]}}]
    assert curves.middle_and_worst(seeds, "perf", False) == ([None, 1.0, 1.0], [None, 0.5, 0.6])
    assert curves.middle_and_worst(seeds, "perf", True)[1] == [None, 3.0, 3.0]


def test_the_seed_in_the_middle_is_the_one_that_is_shown():
    trained = training(0.5, 0.9, 0.7, 0.8)["seeds"]
    assert curves.gather(trained, settings(3))["median_seed"] == 44     # of four the lower middle
    found = curves.gather([*trained, {"failed": "it died"}], settings(3, "perf <= 0.2"))
    assert (found["median_seed"], found["failed"], found["least_is_best"]) == (45, "it died", True)
    assert curves.gather([{"failed": "x"}], settings(3))["metric"] is None


def test_histograms_of_episodes_share_their_bins():
    episodes = {"trained": {"episodes": [{"episode_length": n, "episode_return": n / 7}
                                         for n in range(1, 46)]},
                "random": {"episodes": [{"episode_length": 3, "episode_return": 0.0}]},
                "idle": {"episodes": []}}
    found = curves.of_episodes(episodes)
    lengths = found["episode_length"]
    assert (lengths["low"], lengths["high"]) == (0.5, 45.5) and lengths["counts"]["trained"] == [
        3] * 15
    assert sum(found["episode_return"]["counts"]["trained"]) == 45
    assert lengths["counts"]["random"][0] == 1 and sum(lengths["counts"]["idle"]) == 0
    assert curves.of_episodes({"trained": {"episodes": []}}) == {}


@pytest.mark.parametrize(("value", "text"), [
    (0.98312, "0.983"), (0, "0"), (1.0, "1"), (12.3456, "12.35"), (1234.5, "1,234"),
    (99_949, "99,949"), (250_000, "250k"), (999_999_999, "1G"), (2_359_296, "2.36M"),
    (41e6, "41M"), (123e9, "123G"), (-0.5, "-0.5"), (1e-5, "1.00e-05"), (None, "-"),
    (math.nan, "-")])
def test_numbers_are_short(value, text):
    assert axes.number(value) == text


@pytest.mark.parametrize(("low", "high", "expected"), [
    (0, 1, [0, .25, .5, .75, 1]), (0, 6e6, [0, 2e6, 4e6, 6e6]), (-1, 1, [-1, -.5, 0, .5, 1]),
    (5, 5, [5]), (0.3, 0.9, [0.4, 0.6, 0.8])])
def test_ticks_are_round(low, high, expected):
    assert axes.ticks(low, high) == pytest.approx(expected)


def test_charts_are_whole_and_inside_their_frame():
    svg = charts.learning([1, 2, 3], [[0.1, None, 0.3], [5, 6, 7]], [None, 2.0, 3.0],
                          [0.1, 0.1, 0.3], goal=9.0, alt='a "b" <c>',
                          base={"step": [1, 5], "median": [-4.0, 8.0]})
    root = ET.fromstring(svg)
    assert root.get("aria-label") == 'a "b" <c>'
    for line in root.iter("polyline"):
        for pair in line.get("points").split():
            x, y = map(float, pair.split(","))
            assert charts.LEFT <= x <= charts.WIDTH and 0 <= y <= charts.HEIGHT
    assert len([dot for dot in root.iter("circle")]) == 2       # points on either side of a gap
    assert charts.learning([1], [[None]], [None], [None], goal=1.0, alt="") is None
    for shape in (charts.spark([0, 0], "x"), charts.spark([5], "x"),
                  charts.histogram(2, 2, {"random": [4, 0]}, "x", "y"),
                  charts.learning([1], [[2.0]], [2.0], [2.0], goal=None, alt="")):
        ET.fromstring(shape)
        assert "nan" not in shape and "inf" not in shape


def test_settings_that_differ_are_marked(squared):
    found = {row["name"]: row for row in settings_table(puffer_sdk.configure(
        squared, {"train.gamma": 0.5, "train.beta1": 0.95}))}
    assert found["train.gamma"]["differs"] and found["train.gamma"]["default"] == "0.99"
    assert not found["train.beta1"]["differs"]          # given, and the same
    assert not found["vec.num_threads"]["differs"] and found["env.size"]["default"] is None


# -- in a browser ----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_light_and_dark(scheme, compared, browser, tmp_path):
    (tmp_path / "a.html").write_text(report_page.render(poisoned(compared), GIF))
    shown = browser.open("about:blank", width=390, height=844, scale=2, mobile=True)
    try:
        shown.call("Emulation.setEmulatedMedia",
                   features=[{"name": "prefers-color-scheme", "value": scheme}])
        shown.call("Page.navigate", url=(tmp_path / "a.html").as_uri())
        shown.wait_for("document.querySelector('footer') && document.readyState === 'complete'")
        assert shown.evaluate("document.documentElement.scrollWidth") == 390
        background = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background))) < 120) == (scheme == "dark")
        assert shown.evaluate("performance.getEntriesByType('resource')"
                              ".filter(e => !e.name.startsWith('data:')).length") == 0
        assert shown.problems == []
    finally:
        shown.close()
