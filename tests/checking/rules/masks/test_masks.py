"""PUF413: masks that tell of another moment or action; games in which it looks so."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.check_fixtures import changed
from helpers.rule_facts import facts_of
from helpers.short_or_long import LONG, short_or_long

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
