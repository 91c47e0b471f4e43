"""The two documents.  data + pictures -> one self-contained HTML page, Markdown for a pull request

Everything that an environment or a user named goes through an escape: Jinja's in the page, `plain`
in the Markdown. The page requests nothing from a server, and its policy tells the browser so.
"""
from __future__ import annotations

import base64
import json
import re
import statistics
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from ..base import ui
from ..base.paths import PACKAGE
from ..checking.report import beyond
from ..settings.goal import parse_goal
from . import charts, curves, summary
from .axes import number
from .keeping import Facts

if TYPE_CHECKING:
    from jinja2 import Template

DATA_ID = "puffer-sdk-report"
MOST_LISTED = 12        # findings, and rows of a comparison, in the Markdown
MOST_TEXT = 240         # characters of one text there
NAMES = {"trained": "the trained policy", "random": "random play", "idle": "doing nothing"}


# -- HTML ------------------------------------------------------------------------------------


def render(data: Facts, pictures: Mapping[str, bytes]) -> str:
    """The page. pictures: {"random": bytes of a GIF, "trained": ...}, those that exist."""
    return template("reporting/page.html.jinja").render(
        data=data, rows=summary.rows(data), problems=summary.problems(data),
        found=summary.count_findings(data["check"]) if "failed" not in data["check"] else "",
        sources={name: "data:image/gif;base64," + base64.b64encode(gif).decode()
                 for name, gif in pictures.items()},
        names=NAMES, learning=learning_charts(data), histograms=histograms(data),
        data_id=DATA_ID, embedded=embed(data))


@cache
def template(name: str) -> Template:
    """A page of puffer_sdk, with our filters. What it shows is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PACKAGE), trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=jinja2.StrictUndefined, autoescape=True)
    environment.filters.update(number=number, size=summary.size, timing=timing,
                               median=statistics.median, spark=_spark, measure=measure,
                               plural=ui.plural, in_seconds=summary.in_seconds,
                               answer=beyond.answer)
    return environment.get_template(name)


def timing(text: object) -> Markup:
    """A text that differs between measurements, marked so that tests can mask it."""
    return Markup('<span class="timing">{}</span>').format(text)


def measure(mean: float | None, half: float | None) -> str:
    """'0.973 ± 0.010'"""
    return number(mean) + (f" ± {number(half)}" if half is not None and mean is not None else "")


def embed(data: Facts) -> Markup:
    """The data as a JSON block inside the page: nothing in it can end the element."""
    text = json.dumps(data, sort_keys=True, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def learning_charts(data: Facts) -> list[Facts]:
    """A chart of each metric that is drawn: {"metric", "svg"}; None where nothing was logged."""
    training, found = data["training"], []
    seeds = training["seeds"]
    if not seeds:
        return []
    goal = parse_goal(training["goal"] or training.get("registered", ""))
    base = (data.get("comparison") or {}).get("curve")
    names = [name for name in seeds[0]["curves"] if name != "step"]
    for name in names:
        least = training["least_is_best"] if name == training["metric"] else False
        median, worst = curves.middle_and_worst(seeds, name, least)
        mark = goal.value if goal and goal.name == name else None
        steps = max((seed["curves"]["step"] for seed in seeds), key=len)
        last = next((value for value in reversed(median) if value is not None), None)
        alt = (f"Learning curves of {name} over agent steps, "
               f"{ui.plural(len(seeds), 'seed')}: the median ends at {number(last)}"
               + (f"; the goal is {number(mark)}" if mark is not None else ""))
        svg = charts.learning(steps, [seed["curves"].get(name, []) for seed in seeds], median,
                              worst, goal=mark, alt=alt,
                              base=base if base and name == training["metric"] else None)
        found.append({"metric": name, "svg": svg})
    return found


def histograms(data: Facts) -> list[Facts]:
    """Charts of episode lengths and returns, of trained and random play."""
    found = []
    for name, shape in data["evaluation"].get("histograms", {}).items():
        words = name.replace("_", " ")
        counts = {policy: shape["counts"][policy] for policy in ("trained", "random")
                  if sum(shape["counts"].get(policy, []))}
        if counts:
            alt = f"Histogram of {words} from {number(shape['low'])} to {number(shape['high'])}: " \
                  + " beside ".join(NAMES[policy] for policy in counts)
            found.append({"name": words, "policies": list(counts), "svg": charts.histogram(
                shape["low"], shape["high"], counts, words, alt)})
    return found


def _spark(quantity: Facts) -> Markup:
    return charts.spark(quantity["histogram"], f"Histogram of {quantity['name']} from "
                        f"{number(quantity['low'])} to {number(quantity['high'])}")


# -- Markdown --------------------------------------------------------------------------------


def marker(name: str) -> str:
    """The first line of the summary. A workflow looks for the comment that begins with it, and
    updates it instead of writing another."""
    return f"<!-- puffer-sdk report: {re.sub(r'[^A-Za-z0-9_.]+', '_', name)} -->"


def markdown(data: Facts, page: str) -> str:
    """The summary. page: the name of the HTML file."""
    bad = summary.problems(data)
    lines = [marker(data["env"]), f"### {plain(data['env'])}: {'fail' if bad else 'pass'}", ""]
    lines += [f"- {plain(text)}" for text in bad] + [""] * bool(bad)
    lines += ["| | |", "|---|---|"]
    lines += [f"| {row.label} | {plain(row.whole)} |" for row in summary.rows(data)]
    lines.append("")
    if "comparison" in data:
        lines += _compared(data["comparison"])
    lines += _findings(data["check"])
    machine = data["machine"]
    lines.append(f"<sub>{plain(machine['cpu'])}, {machine['cores']} cores, "
                 f"{plain(machine['compiler'])}; puffer-sdk {plain(data['version'])}. Pictures, "
                 f"curves, histograms and settings are in {plain(page)}.</sub>")
    return "\n".join(lines) + "\n"


def _compared(found: Facts) -> list[str]:
    changed = [row for row in found["rows"] if row["changed"]]
    lines = [f"**Against {plain(found['base'])}**" + ("" if found["same_machine"] else
             " (measured on another machine)"), ""]
    if not changed:
        return [*lines, f"None of {len(found['rows'])} numbers stands out of its noise.", ""]
    lines += ["| | before | now | |", "|---|---|---|---|"]
    lines += [f"| {plain(row['name'])} | {plain(row['base'])} | {plain(row['now'])} | "
              f"{plain(row['word'])} |" for row in changed[:MOST_LISTED]]
    rest = len(changed) - MOST_LISTED
    if rest > 0:
        lines.append(f"| and {rest} more | | | |")
    return [*lines, "", f"{len(found['rows']) - len(changed)} of {len(found['rows'])} numbers are "
            "unchanged, or within their noise.", ""]


def _findings(check: Facts) -> list[str]:
    if not check.get("findings"):
        return []
    lines = ["<details><summary>findings</summary>", ""]
    for finding in check["findings"][:MOST_LISTED]:
        place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"] or ""
        lines.append(f"- **{plain(finding['code'])}** ({plain(finding['severity'])}): "
                     f"{plain(finding['message'])}" + (f", {plain(place)}" if place else ""))
    rest = len(check["findings"]) - MOST_LISTED
    return [*lines, *([f"- and {rest} more"] if rest > 0 else []), "", "</details>", ""]


def plain(text: object) -> str:
    """A text that stays a text in GitHub's Markdown: no markup, table cell, link, mention or
    issue number comes of it."""
    text = " ".join(str(text).split())
    if len(text) > MOST_TEXT:
        text = text[:MOST_TEXT - 3] + "..."
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"([\\`*\[\]|~]|(?<!\w)_|_(?!\w))", r"\\\1", text)
    text = text.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")
    text = re.sub(r"#(?=\d)(?<!&#)", "&#35;", text)
    return re.sub(r"^([-+](?=\s)|[>=]|#+(?=\s))", lambda m: f"&#{ord(m[0][0])};{m[0][1:]}",
                  text)
