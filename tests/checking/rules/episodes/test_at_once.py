"""PUF408: which openings are lost, and which steps always end an episode."""
from __future__ import annotations

import pytest
from helpers.check_fixtures import short_check
from helpers.places import broken
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.checking.collect.c.source import beginnings, read
from puffer_sdk.checking.core.fact_kinds import OpeningsFact


@pytest.mark.parametrize("old, new, share", some_or_all([
    ("", "", 1 / 6),
    ("    l->y = draw(l, SIDE);\n",                 # the next tile may be lava
     "    l->y = draw(l, SIDE);\n    l->hot[SIDE * l->y] = 0;\n", 0),
    ("l->hot[SIDE * l->y + l->x] ||", "draw(l, 6) == 0 ||", 0),     # by chance, not by the opening
    ("finish(l, -1.0f);", "finish(l, -0.1f * l->actions[0]);", 0)],     # what is done still counts
    0, 3))
def test_openings_that_are_lost(old, new, share, play, tmp_path):
    env = tmp_path / "puf408_lava"
    env.mkdir()
    text = (broken(env.name) / f"{env.name}.h").read_text()
    assert old in text
    (env / f"{env.name}.h").write_text(text.replace(old, new) if old else text)
    found = play(env, "openings", envs=4, steps=256).first(OpeningsFact)
    assert found.tests == 256 and not found.fixed
    assert abs(found.lost / found.tests - share) < 0.08 * bool(share) + 1e-9




@long_only
@pytest.mark.parametrize("step, always", [
    ("env->terminals[0] = 1.0f;", True),
    ("for (int i = 0; i < env->num_agents; i++) env->terminals[i] = 1;", True),
    ("finish(env);", True),
    ("if (env->tick > 0) finish(env);", False),
    ("if (env->tick > 0) env->terminals[0] = 1.0f;", False),
    ("env->terminals[0] = env->tick > 0 ? 1.0f : 0.0f;", False),
    ("env->terminals[0] = env->tick > 0;", False),
    ("if (env->tick < 1) return; finish(env);", False),
    ("env->terminals[0] = 0.0f;", False)])
def test_steps_that_always_end_an_episode(step, always, probe):
    env = probe()
    text = (env / "probe.h").read_text()
    at = text.index("{", text.index("void c_step"))
    body = "{ env->terminals[0] = 0; " + step + " }\nvoid old_step(Probe* env) "
    text = text[:at] + body + text[at:]
    text = text.replace("void c_step", "static void finish(Probe* p) { p->terminals[0] = 1.0f; "
                        "c_reset(p); }\nvoid c_step")
    (env / "probe.h").write_text(text)
    assert read.read(env).always_sets("terminals") == always


@pytest.mark.parametrize("ending, tested", some_or_all([
    ("c_reset(env);", False), ("begin(env);", False), ("", False),
    ("if (env->tick > 0) c_reset(env);", True), ("if (env->tick > 0) begin(env);", True)], 0, 4))
def test_steps_that_begin_an_episode_by_a_test(ending, tested, probe):
    """A bandit begins its next episode on each step: so does what does all the work of c_reset."""
    env = probe()
    text = (env / "probe.h").read_text()
    at = text.index("{", text.index("void c_step"))
    text = text[:at] + "{ env->terminals[0] = 1; " + ending + " }\nvoid old_step(Probe* env) " + \
        text[at:]
    text = text.replace("void c_reset(", "static void begin(").replace(
        "void c_step", "static void leave(Probe* env) { env->tick = 3; }\n"
        "void c_reset(Probe* env) { begin(env); env->observations[0] = 0; }\nvoid c_step")
    (env / "probe.h").write_text(text)
    source = read.read(env)
    assert beginnings.beginnings(source) == ["begin"]
    assert beginnings.are_tested(source) == tested
    (env / "probe.h").write_text(text.replace("{ begin(env); env", "{ begin(env); leave(env); env"))
    assert beginnings.beginnings(read.read(env)) == []


def test_a_level_of_a_list_is_told_from_an_opening_that_is_drawn(play, tmp_path):
    """One of 32 is all lava."""
    env = tmp_path / "puf408_lava"
    env.mkdir()
    text = (broken(env.name) / f"{env.name}.h").read_text()
    text = text.replace("    int x, y, tick;", "    int x, y, tick, level;")
    text = text.replace("l->hot[i] = draw(l, 6) == 0;", "l->hot[i] = l->level == 9;")
    text = text.replace("void c_reset(Lava* l) {", "void c_reset(Lava* l) {\n"
                        "    l->level = (l->level + 1) % 32;")
    (env / f"{env.name}.h").write_text(text.replace("l->y = draw(l, SIDE);", "l->y = 0;"))
    found = play(env, "openings", envs=2, steps=256).first(OpeningsFact)
    assert (found.lost, found.fixed) == (8, 8)


@pytest.mark.parametrize("line", some_or_all(
    ["void c_step(Divers* d) {", "        d->terminals[0] = 1.0f;"], 0))
def test_a_bandit_that_has_a_test_declares_itself(line, tmp_path):
    env = tmp_path / "puf408_divers"
    env.mkdir()
    text = (broken(env.name) / f"{env.name}.h").read_text()
    assert text.count(line) == 1
    (env / f"{env.name}.h").write_text(text.replace(line, f"// puffer: bandit\n{line}"))
    result = short_check(env)
    assert result.verdict == "pass" and not result.findings
    assert [each.word for each in result.declared] == ["bandit"]
