"""PUF114: settings that overrun one array at one line are one cause."""
from __future__ import annotations

from types import SimpleNamespace

from helpers.rule_facts import facts_of, found

from puffer_sdk.checking.rules.settings import settings


def test_settings_that_overrun_at_one_line_are_one_finding(monkeypatch):
    lines = {"rows": 4, "cols": 4, "walls": 9}
    variants = [SimpleNamespace(key=key, value=12.0) for key in lines]
    monkeypatch.setattr(settings, "played", lambda facts: variants)
    monkeypatch.setattr(settings, "_is_swept", lambda facts, variant: False)
    monkeypatch.setattr(settings, "_past_the_end", lambda facts, variant: (
        "the env writes past its observations", {"file": "g.h", "line": lines[variant.key]}))
    facts = facts_of()
    facts.config = SimpleNamespace(env=dict.fromkeys(lines, 6))
    assert [finding.message for finding in found(facts, "PUF114")] == [
        "with rows = 12 or cols = 12 the env writes past its observations",
        "with walls = 12 the env writes past its observations"]
