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


GATES = [
    ("    float height, speed,", "    float gate[3], middle[3], height, speed,"),
    ("    g->tick = 0;\n", "    g->tick = 0;\n    for (int i = 0; i < 3; i++) {\n"
     "        g->gate[i] = 60.0f + 40.0f * (float)i;\n"
     "        g->middle[i] = roll(&g->rng);\n    }\n"),
    ("    g->tick++;", "    g->tick++;\n    for (int i = 0; i < 3; i++) {\n"
     "        g->gate[i] -= g->speed;\n        if (g->gate[i] < -10.0f) {\n"
     "            g->gate[i] += 120.0f;\n"
     "            g->middle[i] = roll(&g->rng);\n        }\n    }"),
    ("    g->observations[2] = g->speed;\n    observe(g);\n}", "    observe(g);\n}"),
]
NEXT = """    int next = 0;
    for (int i = 1; i < 3; i++) {
        int nearer = g->gate[next] < 0.0f || g->gate[i] < g->gate[next];
        next = g->gate[i] >= 0.0f && nearer ? i : next;
    }
    g->observations[2] = g->speed;
"""
SHOW = "    g->observations[3] = fminf(g->distance / 100.0f, 2.0f);"


@pytest.mark.parametrize("shown, told", [
    (NEXT + "    g->observations[3] = g->middle[next];", []),      # mostly the first one's
    ("    g->observations[2] = g->speed;\n    if (g->gate[0] < 105.0f || g->tick == 0) {\n"
     "        g->observations[3] = g->middle[0];\n    }", ["behind-the-state"]),
], ids=["chosen", "stale"])
def test_an_element_that_shows_another_word_is_not_stale(shown, told, tmp_path):
    folder = changed(broken("puf302_glider"), tmp_path, *GATES, (SHOW, shown))
    findings = [f for f in short_check(folder, budget=1.0).findings if f.code == "PUF302"]
    assert sorted(f.detector for f in findings) == told
