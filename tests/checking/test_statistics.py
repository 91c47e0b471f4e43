"""What a long run shows: names and bounds of observations, the table, and rules that must tell
an unusual environment from a faulty one."""
from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import check_fixtures
from helpers.check_fixtures import short_check
from helpers.places import broken, environment
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.checking.core import statistics
from puffer_sdk.checking.report import terminal
from puffer_sdk.checking.rules.masks.ignored import ignored_values as ignored
from puffer_sdk.checking.rules.observations.constant import same_things
from puffer_sdk.checking.rules.observations.twice import same_part
from puffer_sdk.env import header, obs_comments, obs_spec


@pytest.fixture
def changed(tmp_path):
    """A copy of an environment of tests/ with texts of its header replaced."""
    def make(name: str, *changes: tuple[str, str], ini: str | None = None) -> Path:
        target = check_fixtures.changed(environment(name), tmp_path, *changes)
        if ini is not None:
            (target / f"{target.name}.ini").write_text(ini)
        return target
    return make


def codes(folder: Path) -> dict:
    return {finding.code: finding for finding in short_check(folder).findings}


# -- names and bounds

@pytest.mark.parametrize("comment, bounds", [
    ("// [0, 1]", (0, 1)), ("/* [-1, 1] */", (-1, 1)), ("// [ 0.0, 1.0]  share", (0, 1)),
    ("// [0, 1] 8 values", (0, 1)), ("// [0, 1)", (0, 1)), ("// fuel in [0..2.5]", (0, 2.5)),
    ("// [-pi, pi]", (-math.pi, math.pi)), ("// [0, 2*pi]", (0, 2 * math.pi)),
    ("// [0, inf]", (0, math.inf)), ("// [-1e3, 1e3]", (-1000, 1000)),
    ("// [0, 1] also -1", (-1, 1)), ("// [0, 1] also 2.5 far away", (0, 2.5)),
    ("// [0, 1], -1 if nothing is in sight", (0, 1)), ("// [0, 1] also seen from above", (0, 1)),
    ("// [0, 255] scaled", (0, 255)), ("// dx, dy", None), ("// [0, WIDTH]", None),
    ("// (3, 5) cells", None), ("// [1, 0]", None), ("// obs[3]", None), ("", None),
    ("// pixels in [0, WIDTH], here [0, 1]", (0, 1)),
])
def test_bounds_are_read_from_comments(comment, bounds):
    assert obs_comments.parse_bounds(comment) == (None if bounds is None else pytest.approx(bounds))


def test_fields_have_names_extents_bounds_and_lines():
    spec = header.read(broken("puf306_rocket"))
    found = obs_spec.read(spec, 8).parts
    assert [(f.name, f.first, f.count, f.low, f.high) for f in found] == [
        ("OBS_HEIGHT", 0, 1, 0, 2), ("OBS_SPEED", 1, 1, -3, 3), ("OBS_FUEL", 2, 1, 0, 1),
        ("OBS_BEAMS", 3, 4, 0, 1), ("OBS_WIND", 7, 1, -1, 1)]
    assert found[0].file == "puf306_rocket.h" and found[0].line == 7
    assert obs_spec.title(found, 2, 2) == "OBS_FUEL (element 2)"
    assert obs_spec.title(found, 4, 5) == "OBS_BEAMS (elements 4-5)"
    assert obs_spec.title([], 4, 5) == "elements 4-5 of the observation"


def test_several_enumerators_on_a_line_have_their_own_comments():
    spec = header.read(broken("puf306_divers"))
    assert [(f.name, f.high) for f in obs_spec.read(spec, 3).parts] == [
        ("OBS_DEPTH", 11), ("OBS_BAG", 6), ("OBS_AIR", 40)]


def test_what_a_cell_may_hold_is_no_field(changed):
    mower = changed("correct/mower", ("GRASS", "OBS_GRASS"), ("STONE", "OBS_STONE"))
    assert obs_spec.read(header.read(mower), 64).parts == ()


# -- the table

def test_table_is_aligned_and_degrades_to_ascii():
    rows = [{"name": "OBS_X", "element": 0, "low": -1.0, "high": 1.0, "mean": 0.25, "zeros": 0.5,
             "histogram": [0, 1, 8] + [0] * 12 + [4]},
            {"name": "reward", "element": None, "low": 0.0, "high": None, "mean": 1e-5,
             "zeros": 0.9999, "histogram": [0] * 16}]
    lines = statistics.table(rows)
    assert lines == ["          min   mean  max  zero",
                     "  OBS_X    -1   0.25    1   50%  | ▁█            ▄|",
                     "  reward    0  1e-05  inf  >99%  |                |"]
    assert statistics.table(rows, "ascii")[1].endswith("| .@            =|")
    assert statistics.table(rows, None) == statistics.table(rows, "ascii")


def test_a_share_that_is_not_all_is_never_shown_as_all():
    def shown(zeros):
        row = statistics.Quantity("reward", 0.0, 1.0, 0.0, zeros, [0] * 16).to_dict()
        return statistics.table([row])[1].split()[4]

    assert [shown(zeros) for zeros in (0.0, 1e-9, 0.5, 0.99, 0.999, 1 - 1e-9, 1.0)] == [
        "0%", "<1%", "50%", "99%", ">99%", ">99%", "100%"]


def test_report_shows_a_short_table_and_a_long_one_on_demand(changed):
    result = short_check(changed("correct/bandit"), budget=0.1)
    text = [line for line, _ in terminal.lines(result)]
    assert any(line.startswith("  obs[0]") for line in text)
    assert any(line.startswith("  reward") and "0%" not in line[:4] for line in text)
    rows = [row for row in result.coverage["statistics"] if row["name"] == "obs[0]"]

    def shown(count: int, **options) -> int:
        result.coverage["statistics"] = rows * count
        return sum(line.startswith("  obs[0]") for line, _ in terminal.lines(result, **options))

    assert shown(11) == 11          # 12 lines, with that of the titles
    assert shown(12) == 0
    assert shown(12, stats=True) == 12


def test_statistics_are_what_happened(changed):
    result = short_check(changed("correct/foragers"), budget=1)
    json.dumps(result.to_dict(), allow_nan=False)
    seen = {q["name"]: q for q in result.coverage["statistics"]}
    assert list(seen)[-3:] == ["reward", "return", "length"]
    assert seen["OBS_BIAS"]["low"] == seen["OBS_BIAS"]["high"] == 1 == seen["OBS_BIAS"]["mean"]
    assert seen["OBS_PLANTS"]["element"] == "8-19" and seen["OBS_PLANTS"]["zeros"] > 0.33
    assert 200 <= seen["length"]["high"] < 240
    runs, agents = result.coverage["envs"], result.coverage["agents_per_env"]
    assert (runs, agents) == (64, 1)
    share = result.coverage["nonzero_rewards"] / 2 ** 20
    assert seen["reward"]["zeros"] == pytest.approx(1 - share, rel=1e-4)


def rows_of(result) -> dict[str, list[str]]:
    """{name: [min, mean, max, zero]} of the table."""
    lines = statistics.table(result.coverage["statistics"])
    return {line.split()[0]: line.partition("  |")[0].split()[1:] for line in lines[1:]}


@long_only
def test_nan_is_called_nan_and_rewards_of_zero_have_their_row(changed):
    result = short_check(changed("puf303_comet", ("o[0] = dx / distance", "o[0] = NAN"),
                           ("o[1] = dy / distance", "o[1] = INFINITY"),
                           ("4 ? 0.1f : 0.0f", "4 ? 0.0f : 0.0f")), budget=0.1)
    json.dumps(result.to_dict(), allow_nan=False)
    rows = rows_of(result)
    assert rows["obs[0]"] == ["nan", "nan", "nan", "0%"]
    assert rows["obs[1]"] == ["inf", "inf", "inf", "0%"]
    assert rows["reward"] == ["0", "0", "0", "100%"]
    assert list(rows)[3:] == ["reward", "return", "length"]
    assert {q["name"]: q for q in result.coverage["statistics"]}["obs[0]"]["low"] is None


@long_only
def test_rewards_that_are_never_finite_have_their_row(changed):
    result = short_check(changed("puf303_comet", ("4 ? 0.1f : 0.0f", "4 ? NAN : 0.0f")),
                   budget=0.1)
    low, mean, high, zeros = rows_of(result)["reward"]
    assert (low, mean, high) == ("nan", "nan", "nan") and zeros not in ("0%", "100%")


# -- constants

@long_only
def test_a_bias_and_a_bandit_need_no_excuse(changed):
    assert codes(changed("correct/bandit", ("// puffer: allow(PUF305) constant bias input", ""))) \
        == {}


FULL = ("o[OBS_BIAS] = 1.0f", "o[OBS_BIAS] = (float)env->num_agents")


@long_only
def test_a_number_that_is_stored_as_it_is_was_never_meant_to_move(changed):
    """Whatever it is called."""
    assert codes(changed("correct/foragers", ("OBS_BIAS", "OBS_FUEL"))) == {}


def test_an_element_that_promises_to_move(changed):
    found = codes(changed("correct/foragers", FULL))
    assert set(found) == {"PUF305"}
    assert "OBS_BIAS (element 2) is always 1" in found["PUF305"].message
    assert found["PUF305"].file == "foragers.h" and found["PUF305"].element == 2


@long_only
def test_a_constant_that_is_declared(changed):
    folder = changed("correct/foragers", FULL, (
        "OBS_BIAS,                       // [0, 1]", "OBS_BIAS,   // puffer: constant [0, 1]"))
    result = short_check(folder)
    assert result.findings == []
    assert [(finding.code, word, where) for finding, word, where in result.declared] == [
        ("PUF305", "constant", "foragers.h:12")]


@long_only
def test_one_element_too_many(changed):
    found = codes(changed("puf403_orbit", ("#define OBS_SIZE 4", "#define OBS_SIZE 5"),
                          ("    o->observations[0]", "    o->observations[4] = 0.0f;\n"
                           "    o->observations[0]"), ini="[env]\nmax_ticks = 90\n"))
    assert {c: f.element for c, f in found.items()} == {"PUF305": 4}


# -- bounds

@long_only
def test_not_a_number_leaves_no_bounds(changed):
    found = codes(changed("puf306_rocket", ("r->fuel / 50.0f", "0.0f / 0.0f")))
    assert set(found) == {"PUF303"}


@long_only
def test_what_leaves_its_bounds_is_not_reported_twice(changed):
    found = codes(changed("puf306_rocket", ("r->fuel / 50.0f", "r->fuel")))
    assert set(found) == {"PUF306"}


# -- bytes

@pytest.mark.parametrize("old, new, expected", some_or_all([
    ("env->tick / 4", "6 * (env->tick % 40)", set()),       # a timer that starts again at 240
    ("env->tick / 4", "env->tick * 3", {"PUF307"}),         # 450 at the end
    ("env->tick / 4", "env->tick * 3 & 255", set()),        # and on purpose
], 1, 2))
def test_timers(changed, old, new, expected):
    right = ("env->chest_x - env->x)", "env->chest_x - env->x + WIDTH)")
    other = ("env->chest_y - env->y)", "env->chest_y - env->y + WIDTH)")
    assert set(codes(changed("puf307_digger", right, other, (old, new)))) == expected


# -- logs

FIXED = (("        b->ticks++;\n", ""), ("150 * ROWERS", "150"),
         ("    b->x += speed", "    b->ticks++;\n    b->x += speed"))


@pytest.mark.parametrize("changes, expected", some_or_all([
    ([], set()),                                                        # one rower's return
    ([("+= b->paid", "+= b->paid * ROWERS")], set()),                   # the sum of all
    ([("log.n += 1.0f", "log.n += ROWERS"), ("+= b->paid", "+= b->paid * ROWERS"),
      ("+= (float)b->ticks", "+= (float)(b->ticks * ROWERS)"),
      ("+= (float)goal", "+= (float)(goal * ROWERS)")], set()),         # an entry for each
    ([("b->paid += reward;", "b->paid += reward * (b->ticks % 2);")], {"PUF422"}),
    ([("    b->ticks = 0;\n", "")], {"PUF404", "PUF422"}),              # grows for ever
    ([("log.n += 1.0f", "log.n += 0.0f")], {"PUF421"}),
    ([("+= b->paid", "+= 2.0f * b->paid")], {"PUF422"}),
], 0, 3), ids=some_or_all(
    ["one", "sum", "entries", "half", "grows", "empty", "double"], 0, 3))
def test_conventions_of_logs(changed, changes, expected):
    assert set(codes(changed("puf422_rowers", *FIXED, *changes))) == expected


@long_only
def test_an_agent_that_waits_to_come_back(changed):
    """Ten ticks pass between the death of a hermit and its next life: no part of either."""
    waits = (("int at, herb, patience, tick;", "int at, herb, patience, tick, away;"),
             ("250, 0, 0.0f}", "250, 0, 10, 0.0f}"),
             ("        h->tick++;", "        if (h->away-- > 0) continue;\n        h->tick++;"))
    assert codes(changed("correct/hermits", *waits)) == {}


@long_only
def test_entries_per_goal_are_said_to_be_untested(changed):
    folder = changed("correct/rally", (
        "env->log.n++;", "env->log.n++;\n            env->terminals[a] = car->ticks % 50 == 0;"))
    result = short_check(folder)
    assert "PUF422" not in {f.code for f in result.findings}
    assert "per goal" in result.not_tested["PUF422"]


# -- endings

@long_only
def test_lockstep_needs_long_episodes(changed):
    short = changed("puf403_orbit", ini="[env]\nmax_ticks = 120\n")
    assert codes(short) == {}
    ini = short / "puf403_orbit.ini"
    ini.write_text("[env]\nmax_ticks = 120\n[train]\nhorizon = 16\n")
    assert set(codes(short)) == {"PUF403"}


@long_only
def test_a_rover_that_is_pulled_out_is_not_stuck(changed):
    """The same craters; but after 300 ticks without a sample a rover starts elsewhere."""
    found = codes(changed("puf402_rover", (
        "        r->since++;\n",
        "        if (++r->since % 300 == 0) {\n            r->x = roll(f);\n"
        "            r->y = roll(f);\n            r->trapped = false;\n        }\n")))
    assert found == {}


@pytest.mark.parametrize("rates, moments, found", [
    ([0.5, 0.5, 0.75, 0.75], 43, True),         # two of four are one
    ([0.25, 0.25, 0.25, 0.25, 1.0], 64, True),  # one of five is handled
    ([0.2] * 2 + [0.25] * 46, 43, False),       # most swaps of a board do nothing, most of the time
    ([0.2] * 2 + [0.25] * 46, 400, True)])
def test_values_that_seldom_matter_take_more_moments(rates, moments, found):
    fact = SimpleNamespace(rates=rates, width=len(rates), values=len(rates), head=0,
                           same=[[0, 1, moments]])
    facts = SimpleNamespace(at_macro=lambda name: {}, at=lambda name: {}, seed=1, spec=None,
                            source=None)
    assert bool(list(ignored._same_values(facts, fact, "the action", set()))) == found


def test_values_whose_conditions_were_not_met_are_not_told(monkeypatch):
    monkeypatch.setattr(ignored.conditional, "ids", lambda source, spec: {(0, 1), (1, 0)})
    fact = SimpleNamespace(rates=[0.5] * 4, width=4, values=4, head=0,
                           same=[[0, 1, 400], [2, 3, 400]])
    facts = SimpleNamespace(at_macro=lambda name: {}, at=lambda name: {}, seed=1, spec=None,
                            source=None)
    unmet: set = set()
    (told,) = ignored._same_values(facts, fact, "the action", unmet)
    assert "3" in told.message and unmet == {(0, 1)}


@pytest.mark.parametrize("row_of, found", [
    (lambda t: [1, 0, 0, t % 2, t, -t], [(1, 2)]),              # oneself, and another
    (lambda t: [t % 9 == 0, 0, 0, t % 2, t, -t], []),           # seldom there
    (lambda t: [1, 0, t, t % 2, t, -t], []),                    # differs in something
    (lambda t: [1, 0, 0, 1, 0, t], [])])                        # a number that no thing shows
def test_a_thing_of_a_list_that_is_always_the_same(row_of, found):
    part = obs_spec.ObsField("OBS_MATES", 0, 6, None, None, "dock.h", 1, "list", (2, 3), mask=0)
    rows = np.array([row_of(t) for t in range(300)], float)
    stats = SimpleNamespace(low=rows.min(axis=0), high=rows.max(axis=0), rows=rows)
    assert same_things._same(stats, part) == found


def test_numbers_that_are_told_twice():
    """The same, or in another unit; not the opposite, not alike by chance, no flags."""
    from puffer_sdk.checking.rules.observations.twice.obs_duplicate import pairs

    draw = np.random.default_rng(1)
    wind, gust = draw.normal(size=(2, 600)).astype(np.float32)
    near = wind.copy()
    near[300] += 0.01
    flag = (wind > 0).astype(np.float32)
    rows = np.stack([wind, gust, flag, 4 * wind, -gust, near, flag, gust], axis=1)
    assert pairs(rows, list(range(8))) == [(0, 3, 4.0), (1, 7, 1)]
    rows[7, 2] = np.nan
    assert pairs(rows, [0, 2]) == []


@pytest.mark.parametrize("values, same, told", [(9, True, True), (7, True, False),
                                                (9, False, False)])
def test_a_part_that_is_told_twice(values, same, told):
    """Of as many contents as tell more than chance."""
    rows = np.zeros((600, 2 * values))
    at = np.arange(600)
    rows[at, at % values] = 1
    rows[at, values + (at if same else at + at // 300) % values] = 1
    part = obs_spec.ObsField("OBS_MINE", 0, values, None, None, "dock.h", 1)
    facts = SimpleNamespace(
        outcome=lambda name: True, seed=1, statistics=SimpleNamespace(rows=rows),
        row=SimpleNamespace(parts=(part, replace(part, name="OBS_FOE", first=values))))
    assert [finding.message for finding in same_part.same_part(facts)] == (
        ["OBS_FOE always holds what OBS_MINE holds"] if told else [])
