"""PUF423: fields of Log that are 0 or the same in every entry, and those that may be."""
from __future__ import annotations

import pytest
from helpers.check_fixtures import short_check
from helpers.places import broken
from helpers.short_or_long import some_or_all

AFTER = ("        begin(a);\n        add_log(a, paid, perf, snags);",
         "        add_log(a, paid, perf, snags);")
SCORE = "    a->log.score += (float)a->net.caught;"
FIELD = ("    int caught;", "    int caught, lost;")
SNAGS = "a->log.snags += (float)snags;"


@pytest.mark.parametrize("changes, told", some_or_all([
    # set to 0 before the entry
    ([], ["set-to-zero"]),
    ([AFTER], []),
    ([(SCORE, "    Net* net = &a->net;\n    a->log.score += (float)net->caught;")],
     ["set-to-zero"]),
    ([("    Net net;", "    Net net[2];"), ("a->net.", "a->net[0]."),
      ("    a->net[0].caught = 0;", "    a->net[0].caught = a->net[1].caught = 0;")], []),
    ([("(float)a->net.caught;", "0.1f * (float)a->net.caught / 2.0f;")], ["set-to-zero"]),
    ([("    a->log.score +=", "    if (perf > 2.0f) a->log.score +=")], []),
    ([AFTER, (SNAGS, "a->log.snags += (float)a->line;"), (" >= 40 + draw(a, 20)", " >= 900")], []),
    ([("(float)a->net.caught;", "(float)(a->net.caught > 30);")], []),
    # nothing counts it
    ([AFTER, FIELD, (SNAGS, "a->log.snags += (float)a->net.lost;")], ["never-counted"]),
    ([AFTER, FIELD, (SNAGS, "a->log.snags += (float)a->net.lost;"),
      ("    a->net.caught = 0;", "    a->net.caught = a->net.lost = 0;")], ["never-counted"]),
    ([AFTER, FIELD, (SNAGS, "a->log.snags += (float)a->net.lost;"),
      ("a->line -= !hit;", "a->line -= !hit; if (a->tick > 900) a->net.lost++;")], []),
    ([AFTER, (SNAGS, "a->log.snags += 0.0f;")], ["never-counted"]),
    # the same in every entry
    ([AFTER, ("a->log.perf += perf;", "a->log.perf += perf > -1.0f ? 1.0f : 0.0f;")],
     ["same-value"]),
    ([AFTER, ("a->log.perf += perf;", "a->log.perf += perf > 2.0f ? 1.0f : 0.0f;")], []),  # hard
    ([AFTER, (SNAGS, "a->log.snags += 4.0f;")], []),        # says nothing, and nobody compares it
], 1, 8, 10, 12), ids=lambda each: None if isinstance(each, list) else "-".join(each) or "silent")
def test_fields_that_never_vary(changes, told, tmp_path):
    env = tmp_path / "puf423_anglers"
    env.mkdir()
    text = (broken(env.name) / f"{env.name}.h").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (env / f"{env.name}.h").write_text(text)
    findings = [f for f in short_check(env).findings if f.code.startswith("PUF4")]
    assert [f.detector for f in findings] == told
    assert all(f.severity == "warning" and "of" in f.message for f in findings)
