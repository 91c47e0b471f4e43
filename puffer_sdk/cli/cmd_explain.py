"""puffer-sdk explain: the page of a rule."""
from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import click

from ..base import ui
from ..base.errors import UsageError, did_you_mean
from . import completing
from .options import format_option
from .pages import Page

if TYPE_CHECKING:
    from ..checking.core.registry import Rule

WIDEST = 79             # columns of prose: what every terminal shows


@click.command(cls=Page, examples=[
    ("puffer-sdk explain PUF302", "meaning, importance and fix of one rule"),
    ("puffer-sdk explain", "list all rules")])
@click.argument("code", required=False, metavar="[CODE]",
                shell_complete=completing.rule_codes)
@format_option
def command(code: str | None, format_: str) -> None:
    """Explain a rule of check: what it means, why it ruins training, how to fix it.

    Without CODE, list all rules.
    """
    from ..checking.core import registry

    known = registry.load()
    if code is None and format_ == "json":
        ui.out(json.dumps({"rules": [_facts(rule) for rule in known.values()]}, indent=2))
        return
    if code is None:
        for rule in known.values():
            ui.out(f"{rule.code}  {rule.severity:<8} {rule.name}")
        return
    wanted = code.upper() if code.upper().startswith("PUF") else f"PUF{code}"
    found = known.get(wanted) or next((r for r in known.values() if r.name == code), None)
    if found is None:
        raise UsageError(f"there is no rule '{code}'",
                         hint=did_you_mean(wanted, known) or "puffer-sdk explain lists all rules")
    if format_ == "json":
        ui.out(json.dumps({**_facts(found), "page": found.page, "detectors": [
            {"name": each.name, "level": each.level, "summary": each.summary,
             "rate": str(each.rate), "missed": list(each.rate.missed)}
            for each in found.detectors]}, indent=2))
        return
    ui.out(f"{found.code} {found.name} ({found.severity})\n", style="bold")
    ui.out("\n\n".join(
        paragraph if paragraph.startswith("    ") else
        textwrap.fill(paragraph, WIDEST, break_on_hyphens=False)
        for paragraph in found.page.split("\n\n")))
    ui.out("\nFaults found in games that it had not been shown"
           + (", by detector:\n" if found.is_family else ":\n"))
    for each in found.detectors:
        name = f"{each.name}: " if found.is_family else ""
        level = "" if each.level == registry.STABLE else f"; needs {each.level}"
        said = f"  {name}{each.rate}{level}." + (f" {each.summary}" if found.is_family else "")
        for text in (said, *(f"    missed: {one}" for one in each.rate.missed)):
            ui.out(textwrap.fill(text, WIDEST, subsequent_indent="      ", break_on_hyphens=False))


def _facts(rule: Rule) -> dict[str, str]:
    return {"code": rule.code, "name": rule.name, "severity": rule.severity}
