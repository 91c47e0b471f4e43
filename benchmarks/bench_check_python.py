"""What `check` finds in Python environments: docs/data/checker-python.json, docs/why/checker.md.

    python benchmarks/bench_check_python.py             all; `make bench` runs it
    python benchmarks/bench_check_python.py --only cart     one environment; writes nothing
    python benchmarks/bench_check_python.py --others        what `check` found stays as it is

python_field/ has six environments and bugs.toml, 24 planted bugs by an author who had seen no rule.
A bug is found if check reports one of its `expect`, and does not for the clean file. Beside it the
checkers of others, on the same files: Gymnasium's check_env, PettingZoo's parallel_api_test,
Stable-Baselines3's check_env. They found a bug if, in one of five runs, they raise or warn of
something that the clean file never gets. A file whose clean form one of them refuses, or that is
not of its interface, is none that it can look at.
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


def is_parallel(make) -> bool:
    return hasattr(make, "possible_agents") or make.__name__ == CLASSES["pursuit"]


def of_its_makers(make) -> None:
    """Gymnasium's or PettingZoo's own checker."""
    if is_parallel(make):
        from pettingzoo.test import parallel_api_test
        parallel_api_test(make())
    else:
        from gymnasium.utils.env_checker import check_env
        check_env(make())


def of_sb3(make) -> None:
    """Stable-Baselines3's, of what its algorithms can train on."""
    from stable_baselines3.common.env_checker import check_env
    if is_parallel(make):
        raise TypeError("no environment of Gymnasium")
    check_env(make(), warn=True)


CHECKERS = {"peer": of_its_makers, "sb3": of_sb3}


def said_by(checker, stem: str, bug: dict | None = None) -> tuple[set[str], bool]:
    """(what another checker says, with its numbers blanked; whether it raised each time)."""
    module = types.ModuleType(stem)
    exec(compile(source(stem, bug), f"{stem}.py", "exec"), module.__dict__)
    make, said, raised = getattr(module, CLASSES[stem]), set(), 0
    for _ in range(RUNS):
        with warnings.catch_warnings(record=True) as caught, \
                contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("always")
            try:
                checker(make)
            except Exception as error:
                said.add(f"{type(error).__name__}: {error}")
                raised += 1
        said |= {str(warning.message) for warning in caught}
    return {re.sub(r"[-+]?\d[\d.e+-]*", "#", text) for text in said}, raised == RUNS


def measure(only: str | None, before: dict | None = None) -> dict:
    """before: what was measured earlier, of which the findings of check are taken."""
    stems = [stem for stem in CLASSES if only in (None, stem)]
    clean = before["clean"] if before else {stem: ours(stem) for stem in stems}
    kept = {row["id"]: row["found"] for row in before["bugs"]} if before else {}
    quiet = {stem: {name: said_by(checker, stem) for name, checker in CHECKERS.items()}
             for stem in stems}
    rows = []
    for bug in bugs():
        stem, theirs = bug["file"].removesuffix(".py"), {}
        if stem not in stems:
            continue
        found = kept[bug["id"]] if before else \
            sorted(set(bug["expect"]) & (set(ours(stem, bug)) - set(clean[stem])))
        for name, checker in CHECKERS.items():
            usual, refused = quiet[stem][name]
            theirs[name] = None if refused else bool(said_by(checker, stem, bug)[0] - usual)
        rows.append({"id": bug["id"], "description": bug["description"], "found": found, **theirs})
        print(rows[-1]["id"], found, theirs, file=sys.stderr, flush=True)
    return {"date": datetime.date.today().isoformat(),
            "versions": {name: version(name) for name in ("gymnasium", "pettingzoo",
                                                          "stable-baselines3")},
            "clean": clean, "bugs": rows}


def table(figures: dict) -> str:
    rows, word = figures["bugs"], {True: "yes", False: "-", None: "cannot look"}
    lines = ["| bug | found by `check` | by Gymnasium's or PettingZoo's checker "
             "| by Stable-Baselines3's |", "|---|---|---|---|"]
    for row in rows:
        first = row["description"].split(",")[0].rstrip(".")
        lines.append(f"| {row['id']}: {first} | {', '.join(row['found']) or '-'} "
                     f"| {word[row['peer']]} | {word[row['sb3']]} |")
    mine, theirs, sb3 = (sum(bool(row[key]) for row in rows) for key in ("found", "peer", "sb3"))
    seen = sum(row["sb3"] is not None for row in rows)
    said = ", ".join(f"{name} ({', '.join(codes)})" for name, codes in figures["clean"].items()
                     if codes)
    versions = ", ".join(f"{name} {text}" for name, text in figures["versions"].items())
    lines += ["", f"`check` finds {mine} of {len(rows)}, Gymnasium's and PettingZoo's checkers "
              f"{theirs}, and Stable-Baselines3's {sb3} of the {seen} that it can look at. Of the "
              f"six environments without a bug, `check` reports something in {said or 'none'}. "
              f"({versions}, {figures['date']})"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(CLASSES))
    parser.add_argument("--others", action="store_true", help="check's findings stay as they are")
    given = parser.parse_args()
    figures = measure(given.only, json.loads(DATA.read_text()) if given.others else None)
    print(table(figures))
    if not given.only:
        DATA.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
