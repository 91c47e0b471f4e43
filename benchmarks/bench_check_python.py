"""What `check` finds in Python environments: docs/data/checker-python.json, docs/why/checker.md.

    python benchmarks/bench_check_python.py             all; `make bench` runs it
    python benchmarks/bench_check_python.py --only cart     one environment; writes nothing

python_field/ has six environments and bugs.toml, 24 planted bugs by an author who had seen no rule.
A bug is found if check reports one of its `expect`, and does not for the clean file. Beside it the
checkers of others, on the same files: Gymnasium's check_env, PettingZoo's parallel_api_test. They
found a bug if, in one of five runs, they raise or warn of something that the clean file never gets.
"""
from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import json
import re
import sys
import tempfile
import types
import warnings
from importlib.metadata import version
from pathlib import Path

import puffer_sdk

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FIELD = ROOT / "benchmarks" / "python_field"
DATA = ROOT / "docs" / "data" / "checker-python.json"
PAGE = ROOT / "docs" / "why" / "checker.md"
MARK = "<!-- python: written by benchmarks/bench_check_python.py -->"
CLASSES = {"grid_maze": "GridMaze", "cart": "Cart", "cards": "Cards", "invaders": "Invaders",
           "market": "Market", "pursuit": "Pursuit"}
RUNS = 5


def bugs() -> list[dict]:
    return tomllib.loads((FIELD / "bugs.toml").read_text())["bug"]


def source(stem: str, bug: dict | None = None) -> str:
    """The file, with the bug planted."""
    text = (FIELD / f"{stem}.py").read_text()
    for edit in bug["edits"] if bug else ():
        if text.count(edit["old"]) != 1:
            raise SystemExit(f"{bug['id']}: its text occurs {text.count(edit['old'])} times")
        text = text.replace(edit["old"], edit["new"])
    return text


def ours(stem: str, bug: dict | None = None) -> list[str]:
    """The codes that check reports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{stem}.py"
        path.write_text(source(stem, bug))
        report = puffer_sdk.check(f"{path}:{CLASSES[stem]}")
    return sorted({finding.code for finding in report.findings})


def peer(stem: str, bug: dict | None = None) -> set[str]:
    """What Gymnasium's or PettingZoo's own checker says, with its numbers blanked."""
    module = types.ModuleType(stem)
    exec(compile(source(stem, bug), f"{stem}.py", "exec"), module.__dict__)
    make, said = getattr(module, CLASSES[stem]), set()
    for _ in range(RUNS):
        with warnings.catch_warnings(record=True) as caught, \
                contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("always")
            try:
                if hasattr(make, "possible_agents") or stem == "pursuit":
                    from pettingzoo.test import parallel_api_test
                    parallel_api_test(make())
                else:
                    from gymnasium.utils.env_checker import check_env
                    check_env(make())
            except Exception as error:
                said.add(f"{type(error).__name__}: {error}")
        said |= {str(warning.message) for warning in caught}
    return {re.sub(r"[-+]?\d[\d.e+-]*", "#", text) for text in said}


def measure(only: str | None) -> dict:
    clean = {stem: ours(stem) for stem in CLASSES if only in (None, stem)}
    quiet = {stem: peer(stem) for stem in clean}
    rows = []
    for bug in bugs():
        stem = bug["file"].removesuffix(".py")
        if stem not in clean:
            continue
        found = ours(stem, bug)
        rows.append({"id": bug["id"], "description": bug["description"],
                     "found": sorted(set(bug["expect"]) & (set(found) - set(clean[stem]))),
                     "peer": bool(peer(stem, bug) - quiet[stem])})
        print(rows[-1]["id"], rows[-1]["found"], rows[-1]["peer"], file=sys.stderr, flush=True)
    return {"date": datetime.date.today().isoformat(),
            "versions": {name: version(name) for name in ("gymnasium", "pettingzoo")},
            "clean": clean, "bugs": rows}


def table(figures: dict) -> str:
    rows = figures["bugs"]
    lines = ["| bug | found by `check` | by Gymnasium's or PettingZoo's checker |", "|---|---|---|"]
    for row in rows:
        first = row["description"].split(",")[0].rstrip(".")
        lines.append(f"| {row['id']}: {first} | {', '.join(row['found']) or '-'} "
                     f"| {'yes' if row['peer'] else '-'} |")
    mine, theirs = (sum(bool(row[key]) for row in rows) for key in ("found", "peer"))
    said = ", ".join(f"{name} ({', '.join(codes)})" for name, codes in figures["clean"].items()
                     if codes)
    versions = ", ".join(f"{name} {text}" for name, text in figures["versions"].items())
    lines += ["", f"`check` finds {mine} of {len(rows)}, the others' checkers {theirs}. Of the six "
              f"environments without a bug, it reports something in {said or 'none'}. "
              f"({versions}, {figures['date']})"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(CLASSES))
    only = parser.parse_args().only
    figures = measure(only)
    print(table(figures))
    if not only:
        DATA.write_text(json.dumps(figures, indent=1) + "\n")
        head, _, rest = PAGE.read_text().partition(MARK)
        PAGE.write_text(f"{head}{MARK}\n{table(figures)}\n{MARK}{rest.partition(MARK)[2]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
