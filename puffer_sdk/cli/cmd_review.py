"""`puffer-sdk review`: parse, check untrusted code in a sandbox, print the verdict."""
from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from ..base import paths, ui
from ..base.errors import UsageError
from .options import format_option
from .pages import Page

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size(text: str) -> int:
    """4G, 512M: bytes in powers of 1024."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    count = int(float(match[1]) * UNITS[match[2]]) if match else 0
    if count < 1 << 20:
        raise click.BadParameter(f"'{text}' is not a size: write 512M or 4G, at least 1M")
    return count


@click.command(
    cls=Page, examples=[
        ("puffer-sdk review their_env", "check it, in a sandbox"),
        ("puffer-sdk review change.patch --base .", "check what a patch does to this checkout"),
        ("puffer-sdk review their_env --report", "also write the page for a pull request")],
    statuses={0: "no errors", 1: "check found errors"})
@click.argument("source", metavar="FOLDER|PATCH")
@click.option("--base", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="The base folder of a patch.  [default: the current git checkout]")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--budget", type=click.FloatRange(0.01, 1000), default=1.0, show_default=True,
              help="Factor for the length of check's experiments.")
@click.option("--build", is_flag=True, help="Also build it.")
@click.option("--train", type=click.IntRange(1), metavar="STEPS", default=None,
              help="Also train on it for STEPS steps.")
@click.option("--report", is_flag=True, help="Also write its report, into --output.")
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              default=Path("review"), show_default=True,
              help="With --report: the folder for reports.")
@click.option("--memory", type=size, default="4G", show_default=True,
              help="Memory limit of all processes in the sandbox.")
@click.option("--disk", type=size, default="1G", show_default=True,
              help="Size limit of written files, which are kept in memory.")
@click.option("--seconds", type=click.FloatRange(1), default=600, show_default=True,
              help="Time limit for each environment.")
@click.option("--processes", type=click.IntRange(8), default=256, show_default=True,
              help="Limit of simultaneous processes.")
@click.option("--sandbox", "wanted", type=click.Choice(["auto", "bwrap", "unshare"]),
              default="auto", show_default=True, help="The sandbox to use.")
@click.option("--no-sandbox", is_flag=True,
              help="Run the code without isolation, with your files and your network.")
@format_option
def command(source: str, base: Path | None, strict: bool, budget: float, build: bool,
            train: int | None, report: bool, output: Path, memory: int, disk: int, seconds: float,
            processes: int, wanted: str, no_sandbox: bool, format_: str) -> int:
    """Check an environment that somebody else wrote, in a sandbox.

    FOLDER is an environment, or contains some. PATCH is a file of git format-patch or git diff, or
    - for standard input. The command applies a patch to a copy of --base and reviews the
    environments that it changes. The sandbox has no network, no access to your files, and only a
    small writable /tmp. The status is that of check, or 4 if a limit was exceeded.
    """
    from ..reviewing import sandbox, text
    from ..reviewing.resource_meter import Limits
    from ..reviewing.review import review

    if no_sandbox and wanted != "auto":
        raise UsageError("--no-sandbox and --sandbox cannot be combined", where="command line")
    if no_sandbox:
        box = sandbox.Sandbox("none")
        ui.warn("--no-sandbox: this runs untrusted code as you; it can read your files, use your "
                "network and delete what you can delete")
    else:
        box = sandbox.find(wanted)
    given = sys.stdin.buffer.read() if source == "-" else source
    with ui.Progress() as progress:
        done = review(given, base=base, box=box, strict=strict, budget=budget,
                      build=build, train=train or 0, report=report,
                      on_progress=progress.update,
                      limits=Limits(memory=memory, disk=disk, seconds=seconds,
                                    processes=processes))
    if format_ == "json":
        ui.out(json.dumps(done.to_dict(), indent=2))
    else:
        for line, style in text.lines(done):
            ui.out(line, style=style)
    if report:
        for path in text.write_reports(done, output):
            ui.say(f"report in {paths.shown(path)}")
    return done.exit_status
