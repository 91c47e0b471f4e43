"""Plays under other values of [env], for PUF113 and PUF114."""
from __future__ import annotations

import os

from ....settings.config import find_ini
from ...core.facts import Facts, Variant
from ...core.registry import DEADLY, NotTested, need
from ..contract.contract_rules import key_lines


def played(facts: Facts) -> list[Variant]:
    """Plays under other values, none if [env] gives no key that anything reads."""
    need(facts, "probe")
    others = [variant for variant in facts.variants if variant.key]
    if any(not v.outcome.ended for v in facts.variants if v.key is None):
        raise NotTested("the environment did not survive its own settings", *DEADLY)
    return others


def ini_place(facts: Facts, key: str) -> dict:
    ini = find_ini(facts.folder)
    if ini is None:
        return {}
    return {"file": os.path.relpath(ini, facts.folder), "line": key_lines(ini).get(key)}
