"""Learning curves of runs: what is drawn, grouped and refused."""
from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from puffer_sdk import cli
from puffer_sdk.base.errors import UsageError
from puffer_sdk.training import plotting
from puffer_sdk.training.runs import create_run


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path / "runs" / "grid"


def run(home, seed: int, values, rate: str = "0.01", n=None):
    """A finished run whose epochs of 100 steps logged these values of perf."""
    made = create_run(home)
    made.config_path.write_text(f"[train]\nlearning_rate = {rate}\nseed = {seed}\n"
                                "[eval]\ngoal = perf >= 0.5\n")
    rows = [{"step": 100 * i, "env/score": 2 * value, "env/perf": value,
             "env/n": (n or {}).get(i, 1.0), "loss/value": 0.1 * i}
            for i, value in enumerate(values, 1)]
    made.metrics_path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made.set_status("finished")
    return made


def test_seeds_of_the_same_settings_are_one_curve_in_a_band(home):
    found = [run(home, seed, [0.1 * seed, 0.2 * seed]) for seed in (1, 2, 3)]
    other = run(home, 1, [0.5, 0.5], rate="0.02")
    metric, (first, second) = plotting.curves([*found, other])
    assert metric == "perf" and first.steps == [100, 200]
    assert first.mean == pytest.approx([0.2, 0.4]) and second.mean == [0.5, 0.5]
    assert (first.low, first.high) == (pytest.approx([0.1, 0.2]), pytest.approx([0.3, 0.6]))
    assert first.label == "runs 1, 2, 3 (mean of 3 seeds, 95 % interval): learning_rate 0.01"
    assert second.label == "run 4: learning_rate 0.02" and second.low == second.high
    _, apart = plotting.curves(found, together=False)
    assert [curve.label for curve in apart] == ["run 1", "run 2", "run 3"]


def test_a_band_is_the_interval_of_the_mean_over_seeds(home):
    values = [0.1, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.9]
    _, (curve,) = plotting.curves([run(home, seed, [value]) for seed, value in enumerate(values)])
    half = 1.96 * math.sqrt(sum((value - curve.mean[0]) ** 2 for value in values)) / 8
    assert curve.low[0] == pytest.approx(curve.mean[0] - half, abs=0.03)
    assert curve.high[0] == pytest.approx(curve.mean[0] + half, abs=0.03)
    assert min(values) < curve.low[0] < curve.mean[0] < curve.high[0] < max(values)


def test_the_same_seed_counts_once(home):
    found = [run(home, seed, [value]) for seed, value in ((1, 0.1), (1, 0.2), (2, 0.4))]
    _, (curve,) = plotting.curves(found)
    assert curve.label.startswith("runs 2, 3 (mean of 2 seeds") and curve.mean == [
        pytest.approx(0.3)]


def test_runs_of_a_tag_are_plotted_listed_and_given_as_records(home, capsys, squared, monkeypatch):
    import puffer_sdk

    for seed in (1, 2, 3):
        made = run(home, seed, [0.1 * seed] * 2)
        made.set_status("finished", tag="five" if seed < 3 else "other")
    assert cli.main(["runs", "plot", "--env", "grid", "--tag", "five"]) == 0
    assert "runs 1, 2 (mean of 2 seeds" in capsys.readouterr().out
    assert cli.main(["runs", "plot", "--env", "grid", "--tag", "none"]) == 2
    capsys.readouterr()
    assert cli.main(["runs", "grid", "--format", "csv", "--tag", "five"]) == 0
    names, *lines = capsys.readouterr().out.splitlines()
    assert names.startswith("env,number,status,tag") and len(lines) == 2
    records = puffer_sdk.runs(squared, tag="other", runs_dir=home.parent) or []
    assert records == []
    home.rename(home.with_name("squared"))
    table = puffer_sdk.runs(squared, runs_dir=home.parent)
    assert [(row["number"], row["tag"], row["train.seed"], row["train.learning_rate"])
            for row in table] == [(1, "five", 1, 0.01), (2, "five", 2, 0.01), (3, "other", 3, 0.01)]
    assert all(row.keys() == table[0].keys() for row in table)      # columns of a table
    five = puffer_sdk.runs(squared, tag="five", runs_dir=home.parent)
    assert [point["env/perf"] for row in five for point in row["curve"]] == pytest.approx(
        [0.1, 0.1, 0.2, 0.2])


@pytest.mark.parametrize(("value", "text"), [
    (999_950, "1M"), (999_400, "999k"), (1234, "1.23k"), (12, "12"), (0.25, "0.25"), (None, "-"),
    (1.5e9, "1.5G"), (999.9, "1k")])
def test_amounts_have_three_digits_and_a_unit(value, text):
    assert plotting.amount(value) == text


def test_a_point_is_a_mean_weighted_by_entries(home, monkeypatch):
    monkeypatch.setattr(plotting, "POINTS", 1)
    _, (curve,) = plotting.curves([run(home, 1, [0.0, 1.0], n={1: 3.0})])
    assert curve.mean == [0.25]


def test_the_metric_is_what_is_asked_for(home):
    one = run(home, 1, [0.1, 0.2])
    assert plotting.curves([one], "score")[1][0].mean == pytest.approx([0.2, 0.4])
    assert plotting.curves([one], "loss/value")[1][0].mean == pytest.approx([0.1, 0.2])
    with pytest.raises(UsageError, match="have logged no 'pref'") as caught:
        plotting.curves([one], "pref")
    assert "perf" in caught.value.hint


def test_values_that_are_no_numbers_are_left_out(home):
    one = run(home, 1, [0.1, 0.2, 0.3])
    rows = one.metrics()
    rows[1]["env/perf"] = None
    one.metrics_path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, (curve,) = plotting.curves([one])
    assert curve.mean == pytest.approx([0.1, 0.3]) and all(map(math.isfinite, curve.steps))


def test_in_the_terminal(home, capsys):
    run(home, 1, [i / 40 for i in range(41)])
    assert cli.main(["runs", "plot"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and max(map(len, out.splitlines())) <= 80
    assert "run 1" in out and "agent steps" in out and "perf" in out.splitlines()[0]
    heights = [line for line in out.splitlines() if re.match(r"\d\.\d+┤", line.strip())]
    assert heights[0].startswith("1.00") and heights[-1].startswith("0.00")


def test_comparing_shows_both_curves(home, capsys):
    for seed in (1, 2):
        run(home, seed, [0.1 * seed] * 5)
    assert cli.main(["runs", "compare", "1", "2", "--env", "grid"]) == 0
    out = capsys.readouterr().out
    assert out.index("last metrics") < out.index("run 1") < out.index("run 2")


def test_files(home, capsys):
    for seed in (1, 2):
        run(home, seed, [0.1 * seed, 0.5])
    for name in ("a.svg", "a.png", "a.html"):
        assert cli.main(["runs", "plot", "1", "2", "--env", "grid", "-o", name]) == 0
        assert capsys.readouterr().out == f"plotted  {name}\n"
    picture = Image.open("a.png")
    assert picture.size == (900, 500) and len(picture.getcolors(1 << 20)) > 20
    assert ET.parse("a.svg").getroot().tag.endswith("svg")
    with open("a.html") as page:
        text = page.read()
    assert "<svg" in text and "runs 1, 2 (mean of 2 seeds" in text and "<script" not in text


@pytest.mark.parametrize("name, says", [("a.pdf", "one of these suffixes"),
                                        ("no/such/a.svg", "output folder does not exist")])
def test_places_that_cannot_be_written(name, says, home, capsys):
    run(home, 1, [0.1])
    assert cli.main(["runs", "plot", "-o", name]) == 2
    assert says in capsys.readouterr().err
