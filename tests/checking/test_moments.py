"""check: what it learns by playing moments on, and from the words of the state."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers.check_fixtures import short_check
from helpers.places import SPECIMENS, broken

SIEGE = SPECIMENS / "correct" / "siege"


@pytest.fixture
def changed(tmp_path):
    """Checks a copy of an env with texts of its header replaced: changed(folder, (old, new))."""
    def make(folder: Path, *changes: tuple[str, str]):
        target = tmp_path / folder.name
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("build"))
        header = target / f"{folder.name}.h"
        text = header.read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        header.write_text(text)
        return short_check(target)
    return make


def codes(result) -> set[str]:
    return {finding.code for finding in result.findings}


def test_a_field_on_the_heap_that_a_reset_forgets_is_named(changed):
    result = changed(SIEGE, (
        "s->wall[i] = (Archer){.place = 2.0f * chance(s) - 1.0f, .arrows = 10.0f};",
        "s->wall[i].place = 2.0f * chance(s) - 1.0f; s->wall[i].down = 0; "
        "s->wall[i].last_reward = s->wall[i].last_action = 0; s->wall[i].arrows += 3.0f;"))
    assert "PUF404" in codes(result)
    (leak,) = [f for f in result.findings if f.code == "PUF404"]
    assert "].arrows kept" in leak.message


def test_survivors_need_their_terminal_too(changed):
    result = changed(SIEGE, ("if (!s->wall[i].down) s->terminals[i] = 1.0f;", ";"))
    assert "PUF406" in codes(result)
    finding = next(f for f in result.findings if f.code == "PUF406")
    assert finding.agent is not None and finding.env is not None and finding.step > 0


def test_one_agent_whose_choices_do_nothing(changed):
    result = changed(SPECIMENS / "correct" / "drones", (
        "env->actions[2 * i]));", "i == 1 ? 0.5f : env->actions[2 * i]));"), (
        "env->actions[2 * i + 1]));", "i == 1 ? 0.5f : env->actions[2 * i + 1]));"))
    assert codes(result) == {"PUF411"}
    assert {finding.agent for finding in result.findings} == {1}


def test_an_observation_before_the_reset_is_an_old_one(changed):
    result = changed(broken("puf302_plough"),
                     ("        morning(p);\n    }\n}", "        c_reset(p);\n    }\n}"))
    assert codes(result) == set()       # the fault of that specimen, mended
    assert result.verdict == "pass"


def test_the_forgotten_terminal_mended(changed):
    ladder = broken("puf406_ladder")
    assert codes(changed(ladder, ("    } else if (l->tick == 40) {\n",
                                  "    } else if (l->tick == 40) {\n"
                                  "        l->terminals[0] = 1;\n"))) == set()


def test_a_secret_that_is_played_is_no_leak(changed):
    result = changed(SPECIMENS / "correct" / "poker")
    assert result.findings == [] and "PUF506" not in result.not_tested
