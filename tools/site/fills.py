"""What stands in a page for `<!-- fill: WHAT WORDS -->`: text that is made, never written by hand.

    header STEP         drips.h of a step, with the lines that are new in it marked
    new STEP            of that, the functions and structs in which something is new
    file STEP NAME      another file of a step
    check STEP          what `check` says of it
    verdict STEP        of that, the findings in a line each
    bug-switch          the running game, and what each fault does to it
    training            how long the tutorial's game takes to learn, over its seeds
    source FILE         a file of the repository
    part FILE NAMES     functions, structs and macros of a C file
    svg NAME            a drawing of docs/assets, inside the page so that it follows the palette
"""
from __future__ import annotations

import difflib
import html
import json
import posixpath
import re
import statistics
from functools import cache

import measure
from curves import chart
from measure import NAME, ROOT, SOUND, STEPS
from mkdocs.exceptions import PluginError

GOAL = 0.95
TEMPLATES = ("squared", "target")


@cache
def outputs() -> dict:
    """What measure.py found."""
    return json.loads(measure.OUTPUTS.read_text())


def header(step: str, *, page) -> str:
    lines = measure.header(step).splitlines()
    return block(lines, new_lines(step))


def new(step: str, *, page) -> str:
    """The parts of a header in which something is new: whole functions, structs and enums."""
    lines, fresh = measure.header(step).splitlines(), new_lines(step)
    shown: list[str] = []
    marked: list[int] = []
    skipped = False
    for begin, end in parts(lines):
        if not fresh.intersection(range(begin, end)):
            skipped = True
            continue
        shown += ["// ..."] * skipped + [""] * bool(skipped or shown)
        skipped = False
        marked += [len(shown) + at - begin for at in range(begin, end) if at in fresh]
        shown += lines[begin:end]
    return block(shown + ["", "// ..."] * skipped, set(marked))


def parts(lines: list[str]) -> list[tuple[int, int]]:
    """Line ranges between blank lines that are followed by a line at the margin."""
    starts = [0, *(at for at in range(1, len(lines))
                   if not lines[at - 1] and lines[at][:1] not in ("", " ", "}"))]
    return [(begin, end - (lines[end - 1] == "")) for begin, end in
            zip(starts, [*starts[1:], len(lines)])]


def new_lines(step: str) -> set[int]:
    """Lines of a step's header that the step before did not have, counted from 0."""
    if step == STEPS[0]:
        return set()
    before, now = (measure.header(name).splitlines()
                   for name in (STEPS[STEPS.index(step) - 1], step))
    return {at for kind, _, _, first, last in
            difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
            if kind in ("replace", "insert") for at in range(first, last) if now[at]}


def block(lines: list[str], marked: set[int]) -> str:
    marks = f' hl_lines="{" ".join(str(at + 1) for at in sorted(marked))}"' if marked else ""
    return "\n".join((f'```c title="{NAME}.h"{marks}', *lines, "```"))


def file(step: str, name: str, *, page) -> str:
    text = (measure.TUTORIAL / step / name).read_text()
    language = "ini" if name.endswith(".ini") else "c"
    return f'```{language} title="{name}"\n{text}```'


def check(step: str, *, page) -> str:
    return f"```console\n$ puffer-sdk check {NAME}\n{outputs()['steps'][step]}```"


def verdict(step: str, *, page) -> str:
    """The findings' first lines, and the last line."""
    told = outputs()["steps"][step].splitlines()
    lines = [line for line in told if line.startswith(("error", "warning", f"{NAME}: "))]
    return "\n".join(("```console", f"$ puffer-sdk check {NAME}", *lines[:-1], "...", lines[-1],
                      "```"))


def training(*, page) -> str:
    return sentence(SOUND)


def solved(variant: str) -> list[int]:
    """Agent steps until the goal's perf was first seen, for the seeds that got there."""
    found = outputs()["variants"][variant]
    first = (next((step for step, perf in zip(found["steps"], curve) if perf >= GOAL), None)
             for curve in found["perf"])
    return [step for step in first if step is not None]


def sentence(variant: str) -> str:
    """What the curves of a variant say, in words."""
    found = outputs()["variants"][variant]
    reached = solved(variant)
    seeds = len(found["seeds"])
    last = [curve[-1] for curve in found["perf"]]
    end = f"perf at the end: {min(last):.2f} to {max(last):.2f}"
    if not reached:
        return f"None of {seeds} seeds gets to perf {GOAL}; {end}."
    return (f"{len(reached)} of {seeds} seeds get to perf {GOAL}, after "
            f"{statistics.median(reached) / 1e6:.1f} M steps in the median "
            f"({min(reached) / 1e6:.1f} to {max(reached) / 1e6:.1f} M); {end}.")


def bug_switch(*, page) -> str:
    """Game, switch and panels. Without scripts all panels show one after the other."""
    root = posixpath.relpath("tutorials/games", posixpath.dirname(page.file.src_uri))
    choices, panels = [], []
    for number, (variant, fault) in enumerate({SOUND: None, **measure.faults()}.items()):
        label = fault["name"] if fault else "No fault"
        choices.append(f'<label><input type="radio" name="fault" value="{variant}"'
                       f'{"" if number else " checked"}> {html.escape(label)}</label>')
        panels.append(panel(variant, fault, label))
    return "\n".join((
        '<div class="switch" id="bug-switch">',
        f'<iframe src="{root}/{SOUND}/index.html" data-root="{root}" loading="lazy" '
        f'title="{NAME}, played by a policy that was trained on it"></iframe>',
        '<fieldset><legend>Bug switch</legend>', *choices, "</fieldset>", *panels, "</div>"))


def panel(variant: str, fault: dict | None, label: str) -> str:
    found = outputs()["variants"]
    verdict = found[variant]["check"]
    told = grouped([line for line in verdict.splitlines()
                    if line.startswith(("error", "warning", "  -->", "  hint", f"{NAME}:"))])
    drawing = chart({"as it is": found[SOUND], **({label: found[variant]} if fault else {})},
                    f"perf over agent steps; {sentence(variant)}")
    parts = [f'<section class="fault" data-fault="{variant}">',
             f"<h4>{html.escape(label)}</h4>"]
    if fault:
        parts += [f"<p>{code(' '.join(fault['story'].split()))}</p>",
                  coloured(measure.diff(variant))]
    else:
        parts.append("<p>The game as it should be, played by a policy that was trained on it. "
                     "Hold <kbd>SHIFT</kbd> and play yourself; on a phone, touch.</p>")
    parts += [f"<p><code>puffer-sdk check {NAME}</code> says:</p>",
              f"<pre class=\"told\">{html.escape(chr(10).join(told))}</pre>",
              f"<p>{html.escape(sentence(variant))}</p>", drawing, "</section>"]
    return "\n".join(parts)


def grouped(told: list[str]) -> list[str]:
    """Findings of one rule with one hint as one: the first, and what the others say below it."""
    findings: list[list[str]] = []
    for line in told:
        if line.startswith("  "):
            findings[-1].append(line)
        else:
            findings.append([line])
    first: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        rule, _, says = finding[0].partition(": ")
        same = first.setdefault((rule, finding[-1]), finding)
        if same is not finding:
            same.insert(-1, f"  also: {says}")
    return [line for finding in first.values() for line in finding]


def coloured(diff: str) -> str:
    """A unified diff with a class for each kind of line."""
    kinds = {"+": "ins", "-": "del"}
    lines = (f"<{kinds[line[0]]}>{html.escape(line)}</{kinds[line[0]]}>"
             if line[:1] in kinds else html.escape(line)
             for line in diff.splitlines() if not line.startswith("@@"))
    return f'<pre class="diff">{chr(10).join(lines)}</pre>'


def code(text: str) -> str:
    """`x` in a sentence becomes code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def source(path: str, *, page) -> str:
    """A file of the repository, whole."""
    return f'```{language(path)} title="{posixpath.basename(path)}"\n{text_of(path)}```'


def part(path: str, *names: str, page) -> str:
    """Functions, structs and macros of a C file, with the comments above them."""
    lines = text_of(path).splitlines()
    chunks = [lines[begin:end] for begin, end in (found_part(lines, name) for name in names)]
    text = "\n\n".join("\n".join(chunk) for chunk in chunks)
    return f'```{language(path)} title="{posixpath.basename(path)}"\n{text}\n```'


def found_part(lines: list[str], name: str) -> tuple[int, int]:
    """Where NAME is defined: from the comment above it to its closing brace."""
    at = next((n for n, line in enumerate(lines)
               if re.match(rf"[\w#][^;]*\b{name}\b(?!.*;$)", line)), None)
    if at is None:
        raise PluginError(f"there is no '{name}' to show")
    end = at + 1
    if not lines[at].startswith("#define"):
        end = next(n for n in range(at, len(lines)) if lines[n].startswith("}")) + 1
    while at and lines[at - 1].startswith("//"):
        at -= 1
    return at, end


def text_of(path: str) -> str:
    """A file of the repository; one of a template as `puffer-sdk new` writes it."""
    text = (ROOT / path).read_text()
    template = next((name for name in TEMPLATES if path.startswith(f"templates/{name}/")), None)
    if template:
        text = text.replace("{{ cookiecutter.name }}", template).replace(
            "{{ cookiecutter.__struct }}", template.capitalize())
    return text


def language(path: str) -> str:
    return {"py": "python", "ini": "ini"}.get(path.rpartition(".")[2], "c")


def svg(name: str, *, page) -> str:
    text = (ROOT / "docs" / "assets" / f"{name}.svg").read_text()
    return f'<figure class="drawing" markdown="0">{text[text.index("<svg"):]}</figure>'
