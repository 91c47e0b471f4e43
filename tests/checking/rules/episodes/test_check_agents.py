"""check with a variable number of agents: empty rows are nobody's, such envs' faults are found."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers import check_fixtures
from helpers.places import SPECIMENS, broken
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base.errors import FINDINGS
from puffer_sdk.checking.check import check
from puffer_sdk.checking.collect.c.driver import OURS, Kind, Runner, build_library, build_program
from puffer_sdk.checking.core.fact_kinds import MaskRowFact
from puffer_sdk.checking.prove.replaying import replay
from puffer_sdk.env import header
from puffer_sdk.settings import config

BATTLE, HARBOUR = (SPECIMENS / "correct" / name for name in ("battle", "harbour"))


@pytest.fixture
def changed(tmp_path):
    """Copies a specimen with other lines in its header, and returns the copy."""
    def make(folder: Path, *changes: tuple[str, str]) -> Path:
        return check_fixtures.changed(folder, tmp_path, *changes)
    return make


def short_check(folder: Path, **options):
    return check(folder, **{"budget": 0.1, "prove": False, **options})


@pytest.mark.parametrize("folder, old, new, code, says", some_or_all([
    (BATTLE, "env->alive[i] = me->health > 0;", "env->alive[i] = 1;", "PUF303", "nan"),
    (BATTLE, "env->rewards[foe - env->all] -= 1.0f;", "env->rewards[foe - env->all] = NAN;",
     "PUF312", "nan"),
    (BATTLE, "env->alive[i] = me->health > 0;", "env->alive[i] = 3 * (me->health > 0);", "PUF322",
     "a byte of alive is 3"),
    (BATTLE, "env->alive[i] = me->health > 0;",
     "env->alive[i] = me->health > 0; env->alive[i + 1] = 0;", "PUF203", "alive"),
    (BATTLE, "env->alive[i] = me->health > 0;", "env->alive[i] = 0;", "PUF402", "no row ever has"),
    (BATTLE, "if (me->health == 0 || env->tick >= env->length) add_log(env, i);",
     "if (me->health == 0) add_log(env, i);", "PUF406", "without a terminal of agent"),
    (HARBOUR, "int sailing = env->num_agents;",
     "int sailing = env->num_agents; if (env->max_agents > 4) env->max_agents--;", "PUF407",
     "max_agents became 4"),
    (HARBOUR, "env->terminals[i] = 1.0f;", "env->terminals[env->max_agents] = 1.0f;", "PUF203",
     "terminals"),
    (HARBOUR, "o[OBS_WAITED] = ", "if (ship->waited) o[OBS_WAITED] = ", "PUF302", "c_reset leaves"),
], 4, 6), ids=lambda part: part if str(part).startswith("PUF") else "")
def test_faults_of_agents_that_come_and_go(folder, old, new, code, says, changed):
    findings = [f for f in short_check(changed(folder, (old, new))).findings if f.code == code]
    assert findings and findings[0].severity == "error"
    assert says in f"{findings[0].message} {findings[0].actual}"


@long_only
def test_an_agent_that_comes_has_to_be_observed(changed):
    late = changed(HARBOUR, ("env->observations[i] = INFINITY;", ";"), (
        "arrive(env);\n    observe(env);\n}\n\nvoid c_render",
        "{ observe(env); arrive(env); }\n    else observe(env);\n}\n\nvoid c_render"))
    (finding,) = check(late, budget=0.25).findings
    assert finding.code == "PUF302" and finding.repro
    assert "comes, its observation is not written" in finding.message


@long_only
def test_a_last_reward_is_the_agents_own_and_rows_of_nobody_are_not_counted():
    result = short_check(BATTLE)
    shown = {q["name"]: q for q in result.coverage["statistics"]}
    assert result.findings == []
    assert shown["reward"]["low"] == -1.0           # of the step on which an agent dies
    assert shown["OBS_HEALTH"]["low"] > 0           # the dead are not looked at
    assert shown["length"]["low"] >= 1


@long_only
def test_padding_may_hold_anything(changed):
    padded = changed(HARBOUR, ("env->observations[i] = INFINITY;",
                               "env->observations[i] = (float)(long)&env->ships;"))
    assert short_check(padded).findings == []


@long_only
def test_a_number_called_alive_is_the_authors(changed):
    mower = changed(SPECIMENS / "correct" / "mower", ("unsigned int rng;",
                                                      "unsigned int rng;\n    int alive;"))
    assert short_check(mower).findings == []


@long_only
def test_a_program_shows_that_num_agents_left_its_rows(tmp_path):
    bees = shutil.copytree(broken("puf407_swarm"), tmp_path / "puf407_swarm")
    (finding,) = check(bees, budget=0.1).findings
    shown = replay(finding.repro, bees)
    assert shown.exit_status == FINDINGS
    assert "num_agents is 7, expected 0 to 6 (max_agents)" in shown.lines[0][0]


OWN_LIVES = (
    ("    int tick;\n", "    int tick, clock[2];\n    unsigned char* action_mask;\n"),
    ("void c_reset", "static void show(Probe* env, int a) {\n"
     "    for (int k = 0; k < 3; k++) env->action_mask[3 * a + k] = env->clock[a] >= k;\n}\n\n"
     "void c_reset"),
    ("    env->tick = 0;\n",
     "    for (int a = 0; a < 2; a++) { env->clock[a] = 0; show(env, a); }\n"),
    ("env->observations[2 * a] = env->tick;", "env->observations[2 * a] = env->clock[a];"),
    ("env->rewards[a] += ", "env->rewards[a] = "),
    ("        env->terminals[a] += env->tick == env->limit;\n",
     "        env->terminals[a] = ++env->clock[a] >= env->limit + a;\n"
     "        if (env->terminals[a]) env->clock[a] = 0;\n        if (SHOWN) show(env, a);\n"),
    ("env->tick >= env->limit", "env->terminals[0]"), ("        c_reset(env);\n", ""))


@pytest.mark.parametrize("shown, written", [("1", True), ("!env->terminals[a]", False)])
def test_a_mask_is_new_where_an_agents_own_episode_begins(shown, written, probe, tmp_path):
    folder = probe(*OWN_LIVES, ("SHOWN", shown), ini="[env]\nlimit = 5\nnum_agents = 2\n")
    spec = header.read(folder)
    settings = config.resolve(folder, None, spec).env
    runner = Runner(spec, tmp_path, 42, settings, {}, 10.0, {})
    plain = Kind("plain", ("-O1", OURS))
    outcome = runner.run("masks", build_program(plain), build_library(spec, plain, tmp_path),
                         "masks", agents=4, envs=2, steps=64)
    rows = outcome.all(MaskRowFact)
    assert len(rows) == 2 and all(row.ends > 50 and row.written == row.steps for row in rows)
    assert all(row.ends_written == (row.ends if written else 0) for row in rows)
