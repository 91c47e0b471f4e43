"""`puffer-sdk ocean`: try every environment of a PufferLib checkout, print the table."""
from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base import paths, ui
from ..base.errors import FINDINGS
from .options import format_option
from .pages import Page

if TYPE_CHECKING:
    from ..reporting.survey import Row

HEAD = f"{'environment':<20} {'observation':>12} {'actions':>14} {'steps/s':>10}  verdict"


@click.command(
    cls=Page, examples=[
        ("puffer-sdk ocean ../PufferLib", "test all of ../PufferLib/ocean, and write a page"),
        ("puffer-sdk ocean ../PufferLib --only snake --only pong", "two of them"),
        ("puffer-sdk ocean ../PufferLib --programs --train 5000000", "also build programs and "
                                                                     "train")],
    statuses={0: "all environments passed", 1: "some did not"})
@click.argument("source", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="Test only this environment; can be "
                                                            "repeated.")
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              default=Path("ocean-survey"), show_default=True,
              help="Output folder for the page, the images and survey.json.")
@click.option("--budget", type=click.FloatRange(0.01, 1000), default=1.0, show_default=True,
              help="Factor for the length of check's experiments.")
@click.option("--programs", is_flag=True,
              help="Also compile the desktop, web and CUDA programs.")
@click.option("--train", type=click.IntRange(1), metavar="STEPS",
              help="Train each environment for STEPS agent steps; compare the policy with random "
                   "play, and eval with training.")
@format_option
def command(source: Path, only: tuple[str, ...], output: Path, budget: float, programs: bool,
            train: int | None, format_: str) -> None:
    """Test every environment of a PufferLib 4.0 checkout.

    Builds each environment in FOLDER/ocean, or in FOLDER itself, takes up to a million random
    steps, checks it and records it. An environment passes if all stages succeed and check finds no
    error; with --train, its policy must also beat random play, and eval must agree with training.
    """
    from ..reporting import survey

    shown: list[Row] = []

    def show(row: Row) -> None:
        if format_ == "text" and not shown:
            ui.out(HEAD)
        if format_ == "text":
            ui.out(_line(row))
        shown.append(row)

    done = survey.survey(source, output, only=only, budget=budget, programs=programs,
                         train=train, on_row=show)
    if format_ == "json":
        ui.out(json.dumps({"page": str(done.page), "rows": [row.to_dict() for row in done.rows]}))
    else:
        passed = sum(row.passed for row in done.rows)
        built = sum("build" not in row.problems for row in done.rows)
        ui.out(f"{built} of {len(done.rows)} built, {passed} passed; "
               f"page: {paths.shown(done.page)}")
    if not done.passed:
        sys.exit(FINDINGS)


def _line(row: Row) -> str:
    if "build" in row.problems:
        return _wrapped(f"{row.name:<20} not built: {row.problems['build']}")
    rate = f"{row.rate:,.0f}" if row.rate else "-"
    actions = row.actions or "-"
    actions = actions if len(actions) <= 14 else f"{actions.count('x') + 1} heads"
    codes = sorted({finding["code"] for finding in row.findings})
    why = f": {row.reason}" if row.reason else ""
    return _wrapped(
        f"{row.name:<20} {row.obs or '-':>12} {actions:>14} {rate:>10}  {row.verdict}{why}"
        + (f" ({' '.join(codes)})" if codes else ""))


def _wrapped(line: str) -> str:
    """A row of the table, as wide as the terminal."""
    return textwrap.fill(line, ui.width() or len(line), subsequent_indent=" " * 21,
                         break_on_hyphens=False, break_long_words=False)
