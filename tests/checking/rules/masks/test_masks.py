"""PUF412, PUF413: masks that allow nothing, or tell of another moment or action; games in which it
looks so."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.check_fixtures import changed
from helpers.rule_facts import facts_of
from helpers.short_or_long import LONG, short_or_long
from helpers.turns import WHOSE, write_turns

import puffer_sdk
from puffer_sdk.checking.core import registry

SKATERS = Path(__file__).parent / "puf413_skaters"
LATE = "    allow(env);\n    if (below(&env->rng, 4) == 0) blow(env);\n"
GUST = "    if (below(&env->rng, 4) == 0) blow(env);\n"
MENDED = (LATE, f"{GUST}    allow(env);\n")
FIRST = ("int over", "allow(env);\n    int over")
ROW = "        unsigned char* mask"
TURNS = (ROW, f"        if (env->tick > 0 && i != env->tick % 2) continue;\n{ROW}")
MIRRORED = ("- ACT_STAY,", "- ACT_STAY, turned = i == 1 ? way = -way : 0,")
KINDER = ("way != 0 && !allowed ? -0.1f : 0", "0")
FAULTS = {
    "stale": [(), ((LATE, ""), FIRST), (MENDED, TURNS, KINDER)],
    "of-the-start": [((LATE, GUST),)],
    "of-another-action": [(MENDED, MIRRORED)],
    # each skater may take the place where the other one wants to go; a gust that comes before the
    # move; a mask that is stricter than the code, and a move that fails at times
    "": [(MENDED,), (MENDED, ("    env->tick++;\n", f"    env->tick++;\n{GUST}")),
         (MENDED, ("if (allowed)", "if (allowed && below(&env->rng, 3) > 0)"),
          ("is_free(env, env->at[i] + 1);\n    }",
           "is_free(env, env->at[i] + 1) && env->at[i] < LANE - 2;\n    }"))],
}


@pytest.mark.long
@pytest.mark.parametrize("detector, changes", [
    (detector, changes) for detector, several in FAULTS.items()
    for changes in short_or_long(several[:1], several)])
def test_a_mask_of_another_moment_or_action(detector, changes, play, tmp_path):
    folder = changed(SKATERS, tmp_path, *changes)
    outcome = play(folder, "masks", envs=8, agents=2, steps=2048 if LONG else 768)
    found = spoken(outcome.facts)
    assert [finding.detector for finding in found] == [detector] * bool(detector), found


def spoken(masks: list) -> list:
    facts = facts_of(agents=2, masks=masks)
    facts.shape.mask = 3
    facts.spec = SimpleNamespace(functions={})
    return list(registry.load()["PUF413"].look(facts))


@pytest.mark.parametrize("acts, codes", [(WHOSE, []), ("env->tick % 3 == i", ["PUF412"])])
def test_who_waits_needs_somebody_who_acts(acts, codes, tmp_path):
    """A game of turns; and one in which nobody can act in each third tick."""
    folder = write_turns(tmp_path / "turns", (f"i * 11, {WHOSE}, 11", f"i * 11, {acts}, 11"))
    found = puffer_sdk.check(folder, budget=0.05).findings
    assert [each.code for each in found if each.code in ("PUF412", "PUF413")] == codes, found
