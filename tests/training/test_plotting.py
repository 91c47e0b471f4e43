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
    assert first.label == "runs 1, 2, 3 (3 seeds): learning_rate 0.01"
    assert second.label == "run 4: learning_rate 0.02" and second.low == second.high
    _, apart = plotting.curves(found, together=False)
    assert [curve.label for curve in apart] == ["run 1", "run 2", "run 3"]


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
    assert "<svg" in text and "runs 1, 2 (2 seeds)" in text and "<script" not in text


@pytest.mark.parametrize("name, says", [("a.pdf", "one of these suffixes"),
                                        ("no/such/a.svg", "output folder does not exist")])
def test_places_that_cannot_be_written(name, says, home, capsys):
    run(home, 1, [0.1])
    assert cli.main(["runs", "plot", "-o", name]) == 2
    assert says in capsys.readouterr().err
