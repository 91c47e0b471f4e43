"""Generated text of a page, between `<!-- fill: WHAT WORDS -->` and the next mark.

    header STEP         drips.h of a step of the first tutorial
    new STEP            its functions and structs that contain something new
    file STEP NAME      another file of a step
    check STEP          output of `check` on it
    verdict STEP        its findings, one line each
    faults              each planted fault: its diff, output of `check`, learning curve
    training            training times of the tutorial's game, over its seeds
    source FILE         a file of the repository
    part FILE NAMES     functions, structs and macros of a C file
    template NAME FOR NAMES     the same for a template's header, as `puffer-sdk new FOR` writes it
    table NAME          measurements of a benchmark (tables.py)
    packages            the packages of puffer_sdk/, in their order
    pages               every page of mkdocs.yml's navigation
"""
from __future__ import annotations

import difflib
import json
import posixpath
import re
import statistics
from functools import cache

import measure
from measure import NAME, ROOT, SOUND, STEPS
from tables import table  # noqa: F401  (a fill)

from puffer_sdk.projects.env_names import struct_name

GOAL = 0.95


@cache
def outputs() -> dict:
    """Results of measure.py."""
    return json.loads(measure.OUTPUTS.read_text())


def header(step: str, *, page: str) -> str:
    return listing(f"{measure.TUTORIAL_PATH}/{step}/{NAME}.h", page)


def new(step: str, *, page: str) -> str:
    """The parts of a header that contain something new: whole functions, structs and enums."""
    return listing(f"{measure.TUTORIAL_PATH}/{step}/{NAME}.h", page, "\n".join(new_parts(step)[0]))


def new_parts(step: str) -> tuple[list[str], set[int]]:
    """The lines of these parts, and which of them the previous step lacks."""
    lines, fresh = measure.header(step).splitlines(), new_lines(step)
    shown: list[str] = []
    marked: set[int] = set()
    skipped = False
    for begin, end in parts(lines):
        if not fresh.intersection(range(begin, end)):
            skipped = True
            continue
        shown += ["// ..."] * skipped + [""] * bool(skipped or shown)
        skipped = False
        marked |= {len(shown) + at - begin for at in range(begin, end) if at in fresh}
        shown += lines[begin:end]
    return shown + ["", "// ..."] * skipped, marked


def parts(lines: list[str]) -> list[tuple[int, int]]:
    """Line ranges between blank lines that are followed by a line at the margin."""
    starts = [0, *(at for at in range(1, len(lines))
                   if not lines[at - 1] and lines[at][:1] not in ("", " ", "}"))]
    return [(begin, end - (lines[end - 1] == "")) for begin, end in
            zip(starts, [*starts[1:], len(lines)])]


def new_lines(step: str) -> set[int]:
    """Lines of a step's header that the previous step lacks, counted from 0."""
    if step == STEPS[0]:
        return set()
    before, now = (measure.header(name).splitlines()
                   for name in (STEPS[STEPS.index(step) - 1], step))
    return {at for kind, _, _, first, last in
            difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
            if kind in ("replace", "insert") for at in range(first, last) if now[at]}


def file(step: str, name: str, *, page: str) -> str:
    return listing(f"{measure.TUTORIAL_PATH}/{step}/{name}", page)


def check(step: str, *, page: str) -> str:
    return fence("console", f"$ puffer-sdk check {NAME}\n{outputs()['steps'][step]}")


def verdict(step: str, *, page: str) -> str:
    """The findings' first lines, and the last line."""
    told = outputs()["steps"][step].splitlines()
    lines = [line for line in told if line.startswith(("error", "warning", f"{NAME}: "))]
    return fence("console", "\n".join((f"$ puffer-sdk check {NAME}", *lines[:-1], "...",
                                       lines[-1])))


def training(*, page: str) -> str:
    return sentence(SOUND)


def solved(variant: str) -> list[int]:
    """Agent steps until an evaluation confirmed the goal, for the seeds that reached it."""
    return [step for step in outputs()["variants"][variant]["solved"] if step]


def sentence(variant: str) -> str:
    """What the runs of a variant claim, in words."""
    found = outputs()["variants"][variant]
    reached = solved(variant)
    seeds = len(found["seeds"])
    last = found["claim"]
    end = f"perf at the end: {min(last):.2f} to {max(last):.2f}"
    if not reached:
        return f"None of {seeds} seeds gets to perf {GOAL}; {end}."
    return (f"{len(reached)} of {seeds} seeds get to perf {GOAL}, after "
            f"{statistics.median(reached) / 1e6:.1f} M steps in the median "
            f"({min(reached) / 1e6:.1f} to {max(reached) / 1e6:.1f} M); {end}.")


def faults(*, page: str) -> str:
    """A fold for each fault."""
    folds = []
    for variant, fault in measure.faults().items():
        told = "\n".join(findings(outputs()["variants"][variant]["check"]))
        hunks = re.split(r"^@@.*\n", measure.diff(variant), flags=re.M)[1:]
        change = "...\n".join(hunks)
        folds += [f"<details>\n<summary>{fault['name']}</summary>\n",
                  " ".join(fault["story"].split()) + "\n", fence("diff", change) + "\n",
                  f"`puffer-sdk check {NAME}`:\n", fence("text", told) + "\n",
                  f"Training: {sentence(variant)}\n", "</details>\n"]
    return "\n".join(folds).rstrip("\n")


def findings(verdict: str) -> list[str]:
    """The findings of a check, each with its place and hint, and the last line."""
    return grouped([line for line in verdict.splitlines()
                    if line.startswith(("error", "warning", "  -->", "  hint", f"{NAME}:"))])


def grouped(told: list[str]) -> list[str]:
    """Merge findings of one rule with one hint: the first, with the others below it."""
    found: list[list[str]] = []
    for line in told:
        if line.startswith("  "):
            found[-1].append(line)
        else:
            found.append([line])
    first: dict[tuple[str, str], list[str]] = {}
    for finding in found:
        rule, _, says = finding[0].partition(": ")
        same = first.setdefault((rule, finding[-1]), finding)
        if same is not finding:
            same.insert(-1, f"  also: {says}")
    return [line for finding in first.values() for line in finding]


def source(path: str, *, page: str) -> str:
    """A file of the repository, whole."""
    return listing(path, page)


def part(path: str, *names: str, page: str) -> str:
    """Functions, structs and macros of a C file, with the comments above them."""
    return listing(path, page, found_parts((ROOT / path).read_text(), names))


def template(kind: str, name: str, *names: str, page: str) -> str:
    """The same for a template's header, which the repository does not hold under its own name."""
    text = (ROOT / "templates" / kind / "{{cookiecutter.name}}" / "{{cookiecutter.name}}.h"
            ).read_text()
    text = text.replace("{{ cookiecutter.name }}", name).replace(
        "{{ cookiecutter.__struct }}", struct_name(name))
    return f"`{name}.h`:\n\n" + fence("c", found_parts(text, names))


def found_parts(text: str, names: tuple[str, ...]) -> str:
    lines = text.splitlines()
    chunks = [lines[begin:end] for begin, end in (found_part(lines, name) for name in names)]
    return "\n\n".join("\n".join(chunk) for chunk in chunks)


def found_part(lines: list[str], name: str) -> tuple[int, int]:
    """Where NAME is defined: from the comment above it to its closing brace."""
    at = next((n for n, line in enumerate(lines)
               if re.match(rf"[\w#][^;]*\b{name}\b(?!.*;$)", line)), None)
    if at is None:
        raise ValueError(f"there is no '{name}' to show")
    end = at + 1
    if not lines[at].startswith("#define"):
        end = next(n for n in range(at, len(lines)) if lines[n].startswith("}")) + 1
    while at and lines[at - 1].startswith("//"):
        at -= 1
    return at, end


def packages(*, page: str) -> str:
    """The packages' first lines, in the order of tests/project/test_layout.py."""
    layout = (ROOT / "tests" / "project" / "test_layout.py").read_text()
    order = re.findall(r'"([\w.]+)"', re.search(r"^ORDER = \((.*?)\)", layout, re.M | re.S)[1])
    lines = ["| package | what it is for |", "|---|---|"]
    for name in (package.replace(".", "/") for package in order):
        text = (ROOT / "puffer_sdk" / name / "__init__.py").read_text()
        lines.append(f"| `{name}/` | {text.partition(chr(10))[0].strip(chr(34)).rstrip('.')} |")
    return "\n".join(lines)


def pages(*, page: str) -> str:
    """A line per part of the navigation."""
    lines, here = [], posixpath.dirname(page)
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    for indent, title, target in re.findall(r'^( +)- "?(.*?)"?:(?: (\S+))?$', nav, re.M):
        link = f"[{title}]({posixpath.relpath(f'docs/{target}', here)})"
        if not target:
            lines.append(f"- **{title}**: ")
        elif len(indent) > 2:
            lines[-1] += ("" if lines[-1].endswith(": ") else ", ") + link
    return "\n".join(lines)


def listing(path: str, page: str, text: str | None = None) -> str:
    """A file or TEXT of it as code, under a link to the file."""
    link = posixpath.relpath(path, posixpath.dirname(page))
    text = (ROOT / path).read_text() if text is None else text
    return f"[`{posixpath.basename(path)}`]({link}):\n\n" + fence(language(path), text)


def fence(kind: str, text: str) -> str:
    return f"```{kind}\n" + text.rstrip("\n") + "\n```"


def language(path: str) -> str:
    return {"py": "python", "ini": "ini"}.get(path.rpartition(".")[2], "c")
