"""docs/reference/rules.md: every rule in one table.  python -m puffer_sdk.checking.rules"""
from __future__ import annotations

from .registry import load


def page() -> str:
    """The page, from the rules' own docstrings."""
    rules = load().values()
    out = ["# Rules of check", "",
           ("<!-- Made by `python -m puffer_sdk.checking.rules > docs/reference/rules.md`. "
            "Do not edit. -->"), "",
           (f"{len(rules)} rules. `puffer-sdk explain CODE` shows a rule's page: what it means, "
            "why it ruins training, a bad and a good example, the fix. "
            "[check.md](../guides/check.md) is the command's manual."), "",
           "| code | name | severity | what it means |", "|---|---|---|---|"]
    for rule in rules:
        meaning = rule.summary.replace("|", "\\|").replace("*", "\\*")
        out.append(f"| {rule.code} | {rule.name} | {rule.severity} | {meaning} |")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    import sys
    sys.stdout.write(page())
