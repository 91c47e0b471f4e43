"""PUF113: fractions that are made whole numbers before they are used."""
from __future__ import annotations

import re

from ....collect.c.source import fractions
from ....collect.c.source.model import INTEGER
from ....core.facts import Facts
from ....core.finding import Finding
from ....core.registry import detector

# env->pay = dict_get(kwargs, "pay")->value; as it is, and not in a comment
_STORED = re.compile(r'^[^/\n]*(?:->|\.)\s*(\w+)\s*=\s*(?:\(\w+\)\s*)?'
                     r'dict_get\([^;"]*"(\w+)"\s*\)\s*->\s*value\s*;', re.MULTILINE)


@detector("PUF113", "cut-short")
def cut_short(facts: Facts):
    """The value in the ini has a fraction that no line of the game ever sees, or becomes 0."""
    values = facts.config.env if facts.config else {}
    whole = {name: (*place, "multiply first, then cast: (int)(env->share * 1000.0f)")
             for name, place in fractions.cut_short(facts.source).items()}
    if facts.handwritten:
        whole |= _bound_to_integers(facts)
    for key, (file, line, text, hint) in whole.items():
        value = float(values.get(key, 0))
        if value % 1:
            yield Finding("PUF113", f"[env] {key} = {value:g} counts as {int(value)}: it is made a "
                                    "whole number before it is used", file=file, line=line,
                          expected=f"{value:g}", actual=f"{text}, which is {int(value)}", hint=hint)
    for key, divisor, file, line, text in fractions.divided(facts.source):
        value = float(values.get(key, 0))
        if 0 < value < divisor:
            yield Finding("PUF113", f"[env] {key} = {value:g} counts as 0: it is divided as an "
                                    "integer", file=file, line=line,
                          expected=f"{value / divisor:g}", actual=f"{text}, which is 0",
                          hint=f"divide floats: (float)env->{key} / {divisor}")


def _bound_to_integers(facts: Facts) -> dict[str, tuple[str, int, str, str]]:
    """Keys that my_init stores to fields of whole numbers, as they are."""
    types = {field.name: field.type for field in facts.spec.settable}
    binding = facts.source.files.get("binding.c", "")
    return {key: ("binding.c", binding.count("\n", 0, store.start(1)) + 1,
                  f"{types[field]} {field}", "should the field be a float?")
            for store in _STORED.finditer(binding)
            for field, key in [store.groups()] if INTEGER.fullmatch(types.get(field, ""))}
