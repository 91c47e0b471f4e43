"""PUF302: elements that show a word of the state, and words that lag behind what is shown."""
from __future__ import annotations

import pytest
from helpers.check_fixtures import changed, short_check
from helpers.places import broken

SHOWN = ("    g->observations[3] = fminf(g->distance / 100.0f, 2.0f);",
         "    g->observations[2] = g->speed;\n    g->observations[3] = g->goal - g->height;")
FIELDS = ("    float height, speed,", "    float goal, gap, height, speed,")
GOAL = ("    g->tick = 0;\n", "    g->tick = 0;\n    g->goal = 2.0f * roll(&g->rng);\n")
SCRATCH = ("    g->tick++;", "    g->tick++;\n    g->gap = g->goal - g->height;")
STATE = (GOAL[1], GOAL[1] + "    g->gap = g->goal - g->height;\n")
EARLY = ("    } else {\n        observe(g);\n    }", "    }")
BEFORE = ("    if (down || late) {", "    observe(g);\n    if (down || late) {")
BLIND = ("    g->observations[2] = g->speed;\n    observe(g);\n}", "}")


@pytest.mark.parametrize("changes, told", [
    ([], []),                                           # gap lags behind what c_reset shows
    ([STATE], []),
    ([STATE, EARLY, BEFORE, BLIND], ["behind-the-state", "left-by-reset"]),
    ([EARLY, BEFORE, BLIND], ["behind-the-state", "left-by-reset"]),    # by the height
], ids=["scratch", "set", "old", "old-scratch"])
def test_a_word_that_no_reset_sets_is_no_measure_of_an_ending(changes, told, tmp_path):
    glider = changed(broken("puf302_glider"), tmp_path, SHOWN, FIELDS, GOAL, SCRATCH, *changes)
    findings = [f for f in short_check(glider).findings if f.code == "PUF302"]
    assert sorted(f.detector for f in findings) == told
