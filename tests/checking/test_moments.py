"""check: what it learns by playing moments on, and from the words of the state."""
from __future__ import annotations

from pathlib import Path

import pytest
from helpers import check_fixtures
from helpers.check_fixtures import short_check
from helpers.places import SPECIMENS, broken
from helpers.short_or_long import long_only

from puffer_sdk.checking.collect.c.driver import FAST
from puffer_sdk.checking.collect.c.plan import Plan
from puffer_sdk.checking.collect.c.source import read
from puffer_sdk.checking.core.fact_kinds import CostFact
from puffer_sdk.checking.core.facts import Facts
from puffer_sdk.settings.config import resolve

SIEGE = SPECIMENS / "correct" / "siege"


@pytest.fixture
def changed(tmp_path):
    """Checks a copy of an env with texts of its header replaced: changed(folder, (old, new))."""
    def make(folder: Path, *changes: tuple[str, str]):
        return short_check(check_fixtures.changed(folder, tmp_path, *changes))
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


@long_only
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


@long_only
def test_an_observation_before_the_reset_is_an_old_one(changed):
    result = changed(broken("puf302_plough"),
                     ("        morning(p);\n    }\n}", "        c_reset(p);\n    }\n}"))
    assert codes(result) == set()       # the fault of that specimen, mended
    assert result.verdict == "pass"


@long_only
def test_the_forgotten_terminal_mended(changed):
    ladder = broken("puf406_ladder")
    assert codes(changed(ladder, ("    } else if (l->tick == 40) {\n",
                                  "    } else if (l->tick == 40) {\n"
                                  "        l->terminals[0] = 1;\n"))) == set()


@long_only
def test_a_secret_that_is_played_is_no_leak(changed):
    result = changed(SPECIMENS / "correct" / "poker")
    assert result.findings == [] and "PUF506" not in result.not_tested


@long_only
def test_what_a_game_leaves_behind_is_no_other_opening(probe):
    """The seed moves what follows, not the opening; that differs by the game before it alone."""
    result = short_check(probe(
        ("env->tick++;", "env->tick++;\n    env->kept = env->rng >> 8 & 3;\n"
                         "    env->rng = env->rng * 1664525u + 1013904223u;"),
        ("int tick;", "int tick, kept;"),
        ("env->observations[2 * a] = env->tick;", "env->observations[2 * a] = env->kept;"),
        ("env->observations[i] = 0;", "env->observations[i] = i % 2 ? 0 : env->kept;")))
    assert "PUF404" in codes(result) and "PUF502" not in codes(result)


def test_tilings_are_tried_in_processes_of_their_own(probe, tmp_path):
    """What my_vec_init leaves behind where it makes nothing is gone; and its time is init's."""
    folder = probe(binding_c="""\
#include "probe.h"
#define OBS_TENSOR_T FloatTensor
#define MY_VEC_INIT
#define Env Probe
#include "vecenv.h"
Env* my_vec_init(int* n, int* starts, int* counts, Dict* vec, Dict* env) {
    static int calls;
    if (calls++) abort();
    volatile unsigned int spun = 0;
    for (unsigned int i = 0; i < 100000000u; i++) spun += i;
    *n = (int)dict_get(vec, "total_agents")->value / 3;
    Env* envs = (Env*)calloc((size_t)*n + 1, sizeof(Env));
    for (int i = 0; i < *n; i++) {
        envs[i].num_agents = 3;
        envs[i].limit = (int)dict_get(env, "limit")->value;
    }
    starts[0] = 0;
    counts[0] = *n;
    return envs;
}
void my_log(Log* log, Dict* out) { dict_set(out, "score", log->score); }
""")
    spec, problems, source = read.examine(folder)
    config = resolve(folder, None, spec, warn_unread=False)
    facts = Facts(folder, spec, config, problems, source, 42)
    lab = Plan(facts, tmp_path, 0.25, False)
    lab.build(FAST)
    lab.probe()
    assert facts.shape.agents == 3 and facts.fact("probe", CostFact).init > 0.02
