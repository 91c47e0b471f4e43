"""sweep.html and the map, in a headless Chromium with the mouse; their sizes and edge cases."""
import configparser
import json
import math
import re
import time

import numpy as np
import pytest
from helpers.browser import Browser
from helpers.short_or_long import long_only

from puffer_sdk.reporting.axes import LOG, LOGIT, Axis, spanning
from puffer_sdk.sweeping.page.importance import Models
from puffer_sdk.sweeping.page.sweep_charts import axis_of
from puffer_sdk.sweeping.page.sweep_page import render, render_map
from puffer_sdk.sweeping.space import Space

ROWS = {"train.learning_rate": {"distribution": "log_normal", "min": 1e-4, "max": 1.0},
        "train.horizon": {"distribution": "uniform_pow2", "min": 8, "max": 128},
        "train.gamma": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999},
        "env.bonus": {"distribution": "uniform", "min": 0.0, "max": 1.0},
        "env.kind": {"distribution": "choice", "choices": ["a", "b", "c"]}}


def made(count: int, rows=ROWS, verdict: bool = True, **plan) -> dict:
    """A sweep of random trials of a smooth function."""
    space, rng = Space(rows), np.random.default_rng(0)
    trials = []
    for number in range(count):
        point = rng.random(len(space))
        failed = number % 17 == 16
        score = math.exp(-4 * (point[0] - 0.6) ** 2) * (0.5 + point[1] / 2)
        trials.append({
            "number": number, "state": "failed" if failed else "done",
            "settings": space.settings(point), "score": None if failed else score,
            "cost": None if failed else 0.2 * 30 ** point[1], "reason": "drawn & <b>bold</b>",
            "seed": number, "start": number == 0 or None, "repeats": None, "verdict": None,
            "error": "it <crashed>" if failed else None, "run": None, "steps": 1000,
            "reached": None, "wall": 1.0, "ended": float(number)})
    done = [each for each in trials if each["state"] == "done"]
    best = max(done, key=lambda each: each["score"])["number"] if done else None
    edge, highest = [], -1.0
    for each in sorted(done, key=lambda one: one["cost"]):
        if each["score"] > highest:
            highest = each["score"]
            edge.append(each["number"])
    judged = {"sentence": "better: trial 3 reaches score 0.9, the CPU default 0.5", "trial": best,
              "seeds": [1, 2, 3], "best": [0.9, 0.92, 0.88], "default": [0.5, 0.52, 0.47],
              "difference": 0.4, "low": 0.3, "high": 0.5} if verdict and done else None
    return {"env": "toy <x>", "folder": "runs/toy/sweeps/0001", "best": best, "front": edge,
            "verdict": judged, "unjudged": "" if judged else "the <time> was over",
            "untried": "" if judged else "runs of more than 1,000 steps", "trials": trials,
            "plan": {"rows": rows, "start": {}, "method": "gp", "metric": "score", "cost": "cpu",
                     "minimize": False, "goal": "", **plan}}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = Browser(tmp_path_factory.mktemp("profile"))
    yield program
    program.close()


@pytest.fixture
def show(browser, tmp_path):
    """show(html, width) -> the page of a browser."""
    opened = []

    def go(html: str, width: int = 1200, height: int = 900):
        file = tmp_path / f"{len(opened)}.html"
        file.write_text(html)
        opened.append(browser.open(file.as_uri(), width=width, height=height))
        opened[-1].wait_for("document.readyState == 'complete' && document.querySelector('main')")
        return opened[-1]

    yield go
    for page in opened:
        page.close()


def mouse(page, kind: str, x: float, y: float, **more) -> None:
    page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, **more)


def drag(page, start, end) -> None:
    mouse(page, "mousePressed", *start)
    for share in (0.3, 0.6, 1.0):
        mouse(page, "mouseMoved", *(a + share * (b - a) for a, b in zip(start, end)), buttons=1)
    mouse(page, "mouseReleased", *end)


def box(page, selector: str) -> list[float]:
    """[x, y, width, height] of an element, scrolled into view."""
    return page.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                         "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                         "return [r.x, r.y, r.width, r.height]; })()")


# ---- the page ----------------------------------------------------------------------------------

@long_only
def test_brushing_an_axis_filters_every_chart_and_the_table(show):
    data = made(60)
    page = show(render(data))
    x, y, width, height = box(page, '.axis[data-axis="0"] .grip')
    drag(page, (x + width / 2, y + 4), (x + width / 2, y + height / 2))
    kept = page.evaluate("[...kept]")
    space = Space(ROWS)
    high = [each["number"] for each in data["trials"] if each["state"] == "done"
            and space.point(each["settings"])[0] > 0.55]
    low = [each["number"] for each in data["trials"] if each["state"] == "done"
           and space.point(each["settings"])[0] < 0.45]
    assert set(high) <= set(kept) and not set(low) & set(kept)
    shown = page.evaluate("document.querySelectorAll('.way:not(.out)').length")
    assert shown == len(kept)
    counts = page.evaluate("[...document.querySelectorAll('.chart .dots:not(.best, .edge, "
                           ".default)')].map(e => e.getAttribute('d').split('h0').length - 1)")
    assert len(counts) == 7 and set(counts) == {len(kept)}
    assert page.evaluate("document.querySelectorAll('tr[data-n]:not(.out)').length") == len(kept)
    assert f"{len(kept)} of" in page.evaluate("document.getElementById('kept').textContent")
    page.evaluate("document.getElementById('clear').click()")
    assert page.evaluate("document.querySelectorAll('.way.out').length") == 0
    assert not page.problems


def test_a_click_on_a_dot_shows_its_ini_and_copies_it(show):
    data = made(40)
    page = show(render(data))
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite",
                                                      "clipboardSanitizedWrite"])
    box(page, ".chart.wide .dots.best")
    place = page.evaluate("""(() => {
        const dots = document.querySelector('.chart.wide .dots.best');
        const [, x, y] = dotsOf(dots)[0];
        const p = new DOMPoint(x, y).matrixTransform(dots.closest('svg').getScreenCTM());
        return [p.x, p.y]; })()""")
    mouse(page, "mousePressed", *place)
    mouse(page, "mouseReleased", *place)
    card = page.evaluate("document.getElementById('card').innerText")
    best = data["trials"][data["best"]]
    assert f"trial {data['best']}" in card and "drawn & <b>bold</b>" in card
    x, y, width, height = box(page, "#copy")
    mouse(page, "mousePressed", x + width / 2, y + height / 2)
    mouse(page, "mouseReleased", x + width / 2, y + height / 2)
    page.wait_for("document.getElementById('copy').textContent == 'Copied'")
    ini = page.evaluate("iniOf(data.names.map((n, k) => [n, trials.get("
                        f"{data['best']})[VALUES][k]]))")
    parser = configparser.ConfigParser()
    parser.read_string(ini)
    found = {f"{section}.{name}": parser[section][name] for section in parser.sections()
             for name in parser[section]}
    wanted = best["settings"]
    assert found.keys() == wanted.keys() and found.pop("env.kind") == wanted["env.kind"]
    assert all(float(value) == wanted[name] for name, value in found.items())
    page.key(True, 27, "Escape")
    assert page.evaluate("document.getElementById('card').hidden")


def test_the_table_sorts_and_rows_open_with_the_keyboard(show):
    page = show(render(made(30)))
    page.evaluate("document.querySelectorAll('#trials th button')[2].click()")
    costs = page.evaluate("[...document.querySelectorAll('#trials tbody tr')]"
                          ".map(r => +r.cells[2].textContent)")
    assert costs == sorted(costs)
    page.evaluate("document.querySelector('tr[data-n]').focus()")
    page.key(True, 13, "Enter")
    assert not page.evaluate("document.getElementById('card').hidden")


@pytest.mark.parametrize("width", [380, 1400])
def test_it_fits_narrow_and_wide(show, width):
    page = show(render(made(40)), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not page.problems


def test_dark_and_light_differ_in_colour_alone(show):
    page = show(render(made(20)))
    colours = []
    for scheme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        colours.append(page.evaluate("[getComputedStyle(document.body).backgroundColor, "
                                     "getComputedStyle(document.body).color]"))
    assert colours[0][0] == "rgb(255, 255, 255)" and colours[1][0] != colours[0][0]
    assert colours[0][1] != colours[1][1]


def test_it_can_be_read_without_scripts():
    text = re.sub(r"<script.*?</script>", "", render(made(40)), flags=re.S)
    assert text.count("<svg") >= 9 and "Better." in text and "the CPU default" in text
    assert "M" in re.search(r'class="dots [^"]*" d="([^"]+)"', text)[1]


def test_what_others_named_is_escaped():
    text = render(made(40))
    assert "toy <x>" not in text and "<b>bold" not in text and "it <crashed>" not in text
    assert "it &lt;crashed&gt;" in text


@long_only
def test_a_thousand_trials_stay_below_a_megabyte():
    rows = {f"train.setting_{k}": {"distribution": "log_normal", "min": 1e-4, "max": 1.0}
            for k in range(15)}
    began = time.process_time()
    size = len(render(made(1000, rows)).encode())
    assert size < 1_000_000, size
    assert time.process_time() - began < 60


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_few_trials_make_a_page(show, count):
    page = show(render(made(count, verdict=False)))
    text = page.evaluate("document.body.innerText")
    assert "No verdict" in text and "the <time> was over" in text
    assert "Not tried: runs of more than 1,000 steps." in text
    assert not page.problems


def test_equal_scores_and_forty_settings(show):
    data = made(30, {f"train.a_rather_long_name_of_a_setting_{k}": {
        "distribution": "uniform", "min": 0.0, "max": 1.0} for k in range(40)})
    for each in data["trials"]:
        each["score"] = each["score"] and 0.5
    page = show(render(data), width=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= 800 and not page.problems
    assert "NaN" not in page.evaluate("document.documentElement.outerHTML").replace("isNaN", "")


def test_a_time_to_goal_is_minimised_on_the_page():
    text = render(made(30, metric="time_to_goal", minimize=True))
    assert "the least CPU seconds to the goal" in text


# ---- the map -----------------------------------------------------------------------------------

def test_the_map_zooms_filters_and_copies(show):
    first, second = made(40), made(30)
    second["env"] = "other"
    page = show(render_map([first, second]), height=1000)
    total = page.evaluate("data.rows.length")
    assert page.evaluate("drawn.length") == total == 38 + 29
    x, y, width, height = box(page, "#map")
    drag(page, (x + width * 0.3, y + height * 0.2), (x + width * 0.7, y + height * 0.6))
    zoomed = page.evaluate("drawn.length")
    assert 0 < zoomed < total
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x + width / 2, y=y + height / 2,
              deltaX=0, deltaY=400)
    page.wait_for(f"drawn.length > {zoomed}")
    page.evaluate("document.getElementById('map').dispatchEvent(new Event('dblclick'))")
    assert page.evaluate("drawn.length") == total
    page.evaluate("(() => { const f = filters[0]; f.field.value = 4; f.low.value = '0.01';"
                  "f.low.dispatchEvent(new Event('input')); })()")
    rates = [each["settings"]["train.learning_rate"] for data in (first, second)
             for each in data["trials"] if each["state"] == "done"]
    assert page.evaluate("drawn.length") == sum(rate >= 0.01 for rate in rates)
    place = page.evaluate("(() => { const p = new DOMPoint(drawn[0][1], drawn[0][2])"
                          ".matrixTransform(svg.getScreenCTM()); return [p.x, p.y]; })()")
    mouse(page, "mousePressed", *place)
    mouse(page, "mouseReleased", *place)
    assert "learning_rate = " in page.evaluate("document.getElementById('card').innerText")
    page.evaluate("byId('x').value = 5; byId('x').onchange()")
    assert "train.horizon" in page.evaluate("svg.textContent") and not page.problems


# ---- axes and models ---------------------------------------------------------------------------

def test_axes_place_values_and_round_their_ticks():
    axis = Axis(0.001, 1.0, LOG)
    assert [round(axis.share(value), 3) for value in (0.001, 0.01, 1.0)] == [0, 0.333, 1]
    assert [text for _, text in axis.ticks()] == ["0.001", "0.01", "0.1", "1"] or len(
        axis.ticks()) <= 7
    assert Axis(0.5, 0.999, LOGIT).share(0.5) == 0
    assert all(0 <= share <= 1 for row in ROWS.values() for share, _ in axis_of(row).ticks())
    assert spanning([3, 3]).share(3) == 0.5


def test_importance_finds_what_matters():
    data = made(120)
    done = [each for each in data["trials"] if each["state"] == "done"]
    models = Models(ROWS, [each["settings"] for each in done], [each["score"] for each in done],
                    [each["cost"] for each in done])
    score, cost = zip(*models.importance())
    assert score[0] > 0.5 and max(score[2:]) < 0.1 and cost[1] > 0.8 and cost[0] < 0.1
    assert all(0 <= share <= 1 for pair in models.importance(top=True) for share in pair)
