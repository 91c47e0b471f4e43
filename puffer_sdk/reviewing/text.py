"""What people see of a Review: lines with styles, and report files that are safe to open."""
from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

from ..base import files
from ..base.errors import OK, UsageError
from ..checking.report import beyond
from .review import DONE_WORDS, EnvReview, Review, plain
from .reviewed_copy import for_assistants

Line = tuple[str, str | None]
MOST_ASKED = 20         # lines of what an environment asked the machine for
MOST_SHOWN = 100        # characters of what it asked for, in the verdict

# The report was made where untrusted code ran. A frame without allow-scripts runs no script, and
# the policy allows no fetch
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
media-src data:; font-src data:; style-src 'unsafe-inline'; frame-src 'self' data:">
<title>Review of {name}</title>
<style>html, body {{ margin: 0; height: 100% }} iframe {{ border: 0; width: 100%; height: 100% }}
</style></head><body>
<iframe sandbox title="Report of {name}" srcdoc="{page}"></iframe>
</body></html>
"""


def lines(review: Review) -> Iterator[Line]:
    """Each environment's steps, then what else the patch changes, then the verdict."""
    for env in review.envs:
        yield from _env_lines(env, alone=len(review.envs) == 1)
    for text in review.beside:
        why = "assistants do what it says" if for_assistants(text) else \
            "it belongs to no environment"
        yield f"also changes {text}: {why}; read it", "yellow"
    failed = [env.name for env in review.envs if env.verdict == "fail"]
    count = len(review.envs)
    what = f"{count} environment{'s' * (count > 1)}"
    beyond = [_beyond(env) for env in review.envs if env.asked or env.outside]
    yield (f"review: {review.verdict}, {what}" + (f", failed: {', '.join(failed)}" if failed
                                                  else "") + f", {_where(review)}"
           + "".join(f"; {said}" for said in beyond),
           "bold red" if failed else "bold yellow" if beyond else "bold green")


def _beyond(env: EnvReview) -> str:
    """What an environment does beyond its game, for the verdict: what it tried, and the answers."""
    half = MOST_SHOWN // 2              # the answer stands at the end
    said = [one if len(one) <= MOST_SHOWN else f"{one[:half]}...{one[-half:]}"
            for one in env.asked]
    return f"{env.name} {beyond.says(env.outside, said)}"


def _where(review: Review) -> str:
    return "without a sandbox" if review.sandbox == "none" else f"in a sandbox ({review.sandbox})"


def _env_lines(env: EnvReview, alone: bool) -> Iterator[Line]:
    if not alone:
        yield f"== {env.folder}", "bold"
    for step in env.steps:
        if step.name != "check":
            yield (f"{step.name:<7} {DONE_WORDS[step.status]} in {step.seconds:.1f} s",
                   None if step.status == OK else "bold red")
        for text, style in step.lines:
            yield (text if step.name == "check" else f"  | {text}"), style
    for one in env.named:
        yield f"named   {one}", "yellow"
    if env.cause:
        yield f"error: the review of {env.name} was ended: {env.cause}", "bold red"
    used = (f"used    {env.peak_memory / (1 << 20):,.0f} MB of memory, {env.peak_processes} "
            f"processes, {env.seconds:.1f} s")
    yield used, "dim"
    asked = env.asked
    for one in asked[:MOST_ASKED]:
        yield f"asked   {one}", "yellow"
    if len(asked) > MOST_ASKED:
        yield f"asked   {len(asked) - MOST_ASKED} more: --format json has all", "yellow"


def write_reports(review: Review, folder: Path) -> list[Path]:
    """Write NAME.html and NAME.md of each environment's report into a new or existing folder."""
    try:
        files.mkdir(folder)
    except OSError as error:
        raise UsageError("the folder for reports cannot be made", where=folder,
                         detail=error.strerror or str(error)) from None
    written = []
    for env in review.envs:
        for suffix in (".html", ".md"):
            found = sorted(name for name in env.files if name.endswith(suffix))
            if not found:
                continue
            text = plain(env.files[found[0]].decode("utf-8", "replace"))
            if suffix == ".html":
                text = PAGE.format(name=html.escape(env.name), page=html.escape(text))
            path = folder / f"{env.name}{suffix}"
            files.save(path, text, what="the report",
                       hint="free some space, or choose another folder: --output")
            written.append(path)
    return written
