"""`puffer-sdk doctor`: parse, examine the machine, print installed and missing dependencies."""
from __future__ import annotations

import json
import os
import platform
from typing import TYPE_CHECKING

import click

from .. import __version__
from ..base import errors, ui
from .options import format_option
from .pages import Page

if TYPE_CHECKING:
    from ..projects.probe_program import Finding

STYLES = {"ok": None, "missing": "bold red", "old": "bold yellow", "optional": "dim"}


@click.command(cls=Page, examples=[
    ("puffer-sdk doctor", "one line per dependency, and how to install missing ones"),
    ("puffer-sdk doctor --format json", "for a bug report")],
    statuses={0: "all required dependencies are installed", 1: "a dependency is missing"})
@format_option
def command(format_: str) -> int:
    """Show installed and missing dependencies, and how to install them.

    The status is 0 if all required dependencies are installed, and 1 if not.
    """
    from ..projects import doctor

    findings = doctor.examine()
    healthy = doctor.is_healthy(findings)
    if format_ == "json":
        rows = [item.to_dict() for item in findings]
        ui.out(json.dumps({"version": __version__, "ok": healthy, "findings": rows}, indent=2))
    else:
        _print(findings, healthy)
    return errors.OK if healthy else errors.FINDINGS


def _print(findings: list[Finding], healthy: bool) -> None:
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    ui.out(f"puffer-sdk {__version__} on {system}\n")
    width = max(len(item.name) for item in findings)
    for item in findings:
        style = STYLES[item.status]
        ui.out(f"  {item.status:<8}  {item.name:<{width}}  {item.found}", style=style)
        if item.get and item.status != "ok":
            ui.out(f"  {'':<8}  {'':<{width}}  get it: {item.get}", style=style)
        for line in (item.detail or "").splitlines():
            ui.out(f"  {'':<8}  {'':<{width}}  | {line}", style=style)
    lacking = [item.name for item in findings if item.status in ("missing", "old")]
    ui.out("")
    if healthy:
        ui.out("all required dependencies are installed", style="green")
    else:
        ui.out(f"fix first: {', '.join(lacking)}", style="bold red")
