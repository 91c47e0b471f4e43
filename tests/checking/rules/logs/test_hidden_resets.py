"""PUF422, 406: calls of c_reset in c_step, where no terminal is ever set."""
from __future__ import annotations

from types import SimpleNamespace

import pytest
from helpers.check_fixtures import changed, short_check
from helpers.places import broken
from helpers.rule_facts import fact, facts_of, found
from helpers.short_or_long import some_or_all

from puffer_sdk.checking.core import registry
from puffer_sdk.checking.rules.logs.mismatch import never_set_back

SILENT = ("        l->terminals[0] = 1;\n", "")
RETURN = ("    l->ret = 0;\n", "")
TICK = ("    l->tick = 0;\n", "")
ANY_TICK = ("l->tick == 40", "l->tick % 40 == 0")
FIRST = ("    l->rewards[0] = 0;\n    l->terminals[0] = 0;\n    l->tick++;\n",
         "    l->tick++;\n    if (l->at == l->rungs) finish(l, 1);\n"
         "    l->rewards[0] = 0;\n    l->terminals[0] = 0;\n")
PAID_LATER = ("        l->rewards[0] = 1;\n        l->ret += 1;\n        finish(l, 1);\n",
              "        l->rewards[0] = 1;\n        l->ret += 1;\n")


@pytest.mark.parametrize("changes, told", some_or_all([
    pytest.param([], [], id="set-back"),
    pytest.param([RETURN], ["episode_return"], id="return"),
    pytest.param([TICK, ANY_TICK], ["episode_length"], id="length"),
    pytest.param([FIRST, PAID_LATER], [], id="first"),      # the reset opens the next step
    pytest.param([FIRST, PAID_LATER, RETURN], ["episode_return"], id="first-return"),
], 2, 3, 4))
def test_sums_that_go_on_over_resets_without_a_terminal(changes, told, tmp_path):
    ladder = changed(broken("puf406_ladder"), tmp_path, SILENT, *changes)
    findings = short_check(ladder).findings
    assert [f.element for f in findings if f.code == "PUF422"] == told
    assert "PUF406" in {f.code for f in findings}


@pytest.mark.parametrize("judged, grown, back, told", [
    (3, 3, 0, True), (2, 2, 0, False), (40, 36, 35, True), (40, 35, 0, False), (0, 0, 0, False),
    (40, 40, 36, False)])
def test_three_entries_that_hold_those_before_are_no_accident(judged, grown, back, told):
    facts = facts_of(hidden=[fact("grown", name="episode_return", judged=judged, grown=grown,
                                  back=back)])
    facts.spec = SimpleNamespace(functions={})
    assert bool(list(never_set_back.never_set_back(facts))) == told


@pytest.mark.parametrize("seen, restarts, told", [(0, 4, True), (0, 0, False), (2, 4, False)])
def test_resets_that_the_short_play_does_not_reach(seen, restarts, told):
    """Entries without a terminal: a longer run counts the calls of c_reset."""
    facts = facts_of(run=[fact("run", entries=9)],
                     audit=[fact("restarts", restarts=seen), fact("endings")],
                     hidden=[fact("restarts", restarts=restarts, hidden=restarts)])
    facts.spec = None
    try:
        findings = found(facts, "PUF406")
    except registry.NotTested:
        findings = []
    assert [f.code for f in findings] == (["PUF406"] if told else [])
