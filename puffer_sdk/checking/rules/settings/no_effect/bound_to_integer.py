"""PUF113: fractions that my_init stores to fields of whole numbers."""
import re

from ....collect.c.source.model import INTEGER
from ....core.vocabulary import Facts, Findings, detector, present
from .cut_short import whole

# env->pay = dict_get(kwargs, "pay")->value; as it is, and not in a comment
_STORED = re.compile(r'^[^/\n]*(?:->|\.)\s*(\w+)\s*=\s*(?:\(\w+\)\s*)?'
                     r'dict_get\([^;"]*"(\w+)"\s*\)(?:\s*->\s*value)?\s*;', re.MULTILINE)


@detector("PUF113", "bound-to-integer")
def bound_to_integer(facts: Facts) -> Findings:
    """The value in the ini has a fraction, and my_init stores it to a field of a whole number."""
    if not facts.handwritten:
        return
    types = {field.name: field.type for field in present(facts.spec).settable}
    binding = facts.source.binding_text
    for store in _STORED.finditer(binding):
        field, key = store.groups()
        if INTEGER.fullmatch(types.get(field, "")):
            line = binding.count("\n", 0, store.start(1)) + 1
            yield from whole(facts, key, facts.source.binding, line, f"{types[field]} {field}",
                             "should the field be a float?")
