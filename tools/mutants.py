"""Mutation tests of our own code: break it in one place at a time, and run that place's tests.

    python tools/mutants.py list --seed 14 --count 100 > mutants.json      choose the places
    python tools/mutants.py cover build/coverage                           one run of the suite
    python tools/mutants.py run mutants.json --coverage build/coverage --out results.json

A mutant is a change of one operator, constant, condition or statement in checking, training, the
kernels or the trainers. A Python line is tested by the tests that reach it, fastest first; C, and
Python without recorded coverage, by the tests of its folder. A run ends at the first failure.
Exit status: 0, or 2 for bad input.
"""
from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# where mutants are made, and how many of a hundred: a glob each
SHARES = {"puffer_sdk/checking/**/*.py": 30, "puffer_sdk/training/**/*.py": 28,
          "puffer_sdk/checking/**/*.c": 12, "kernels/**/*": 14, "trainer/**/*": 16}
C_KINDS = (".c", ".h", ".cu", ".cuh", ".cc")
# tests of a folder, where coverage by test is unknown, as for C
C_TESTS = {"puffer_sdk/checking": ["tests/checking"],
           "kernels/cuda": ["tests/kernels/test_cuda_*.py", "tests/trainer/test_cuda_*.py"],
           "kernels": ["tests/kernels/test_kernel*.py", "tests/trainer/test_native*.py"],
           "trainer/cpu": ["tests/trainer/test_native*.py"],
           "trainer/common": ["tests/trainer/test_native*.py", "tests/trainer/test_cuda_*.py"],
           "trainer": ["tests/trainer/test_cuda_*.py"]}
CAP = 120               # seconds that the tests of one mutant may take
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+",
         "*": "+", "&&": "||", "||": "&&"}


# ---- places ------------------------------------------------------------------------------------

def python_places(text: str) -> list[tuple[int, int, str, str]]:
    """(offset, length, new text, description) of each possible change."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()

    def span(node) -> tuple[int, int]:
        return (starts[node.lineno - 1] + node.col_offset,
                starts[node.end_lineno - 1] + node.end_col_offset)

    found = []

    def between(left, right, old: str, new: str) -> None:
        begin, end = span(left)[1], span(right)[0]
        at = raw[begin:end].find(old.encode())
        if at >= 0:
            found.append((begin + at, len(old), new, f"{old} -> {new}"))

    compares = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
                ast.GtE: (">=", ">"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
                ast.In: (" in ", " not in "), ast.NotIn: (" not in ", " in ")}
    binary = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in compares:
            between(node.left, node.comparators[0], *compares[type(node.ops[0])])
        elif isinstance(node, ast.BinOp) and type(node.op) in binary:
            between(node.left, node.right, *binary[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            between(node.values[0], node.values[1], old, new)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
            begin, end = span(node)
            old = raw[begin:end].decode()
            new = str(not node.value) if type(node.value) is bool else str(node.value + 1)
            found.append((begin, end - begin, new, f"{old} -> {new}"))
        elif isinstance(node, ast.If):
            begin, end = span(node.test)
            found.append((begin, end - begin, f"not ({raw[begin:end].decode()})", "negated"))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            begin, end = span(node)
            found.append((begin, end - begin, "pass", "left out"))
    return found


def c_places(text: str) -> list[tuple[int, int, str, str]]:
    """The same for C: operators between spaces, numbers in expressions, whole statements."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*",
                  lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)
    found = []
    for m in re.finditer(r" (<=|>=|==|!=|&&|\|\||[<>+*-]) ", bare):
        found.append((m.start(1), len(m[1]), SWAPS[m[1]], f"{m[1]} -> {SWAPS[m[1]]}"))
    for m in re.finditer(r"(?<=[\[( ])(\d+)(?=[\]);, ])", bare):
        new = str(int(m[1]) + 1)
        found.append((m.start(1), len(m[1]), new, f"{m[1]} -> {new}"))
    for m in re.finditer(r"^ {4,}([a-z]\w*(?:\[[^\]\n]*\]|->\w+|\.\w+)* [-+*]?= [^;\n]+;"
                         r"|[a-z]\w*\([^;\n]*\);)$", bare, re.M):
        found.append((m.start(1), len(m[1]), ";", "left out"))
    return [(len(text[:at].encode()), length, new, what) for at, length, new, what in found]


def choose(root: Path, seed: int, count: int) -> list[dict]:
    """Mutants of the tree, from a seed; the same files give the same list."""
    chosen = []
    for pattern, share in SHARES.items():
        places = []
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            if path.suffix not in (".py", *C_KINDS) or name.endswith("__init__.py"):
                continue
            text = path.read_text()
            for at, length, new, what in (python_places if path.suffix == ".py"
                                          else c_places)(text):
                line = text.encode()[:at].count(b"\n") + 1
                places.append({"file": name, "line": line, "offset": at, "length": length,
                               "new": new, "what": what,
                               "text": text.splitlines()[line - 1].strip()})
        random.Random(f"{seed} {pattern}").shuffle(places)
        chosen += places[:round(share * count / 100)]
    return [{"id": number, **mutant} for number, mutant in enumerate(chosen)]


# ---- which tests -------------------------------------------------------------------------------

def covering(folder: Path) -> dict[tuple[str, int], set[str]]:
    """(file, line) -> the tests that reached it, without their parameters."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for path in folder.glob("data*"):
        base = sqlite3.connect(path)
        try:
            files = {number: name for number, name in base.execute("select id, path from file")}
            contexts = {number: test_of(name) for number, name
                        in base.execute("select id, context from context")}
            for file, context, bits in base.execute(
                    "select file_id, context_id, numbits from line_bits"):
                test, name = contexts[context], files[file]
                at = name.rfind("/puffer_sdk/")
                if not test or at < 0:
                    continue
                for index, byte in enumerate(bits):
                    for bit in range(8):
                        if byte >> bit & 1:
                            found[name[at + 1:], index * 8 + bit].add(test)
        except sqlite3.DatabaseError:
            continue
        finally:
            base.close()
    return found


def test_of(context: str) -> str | None:
    """ "none|tests/a.py::b[c] (call)" -> "tests/a.py::b"."""
    name = context.rpartition("|tests")[2] and context[context.find("tests/"):]
    return name.partition("[")[0].partition(" (")[0] if "::" in name else None


def tests_for(mutant: dict, cover, seconds: dict[str, float], root: Path) -> list[str]:
    """The fastest first."""
    names: set[str] = set()
    if mutant["file"].endswith(".py"):
        # a test may run tests of a scaffolded project: those have no duration here
        names = cover.get((mutant["file"], mutant["line"]), set()) & set(seconds)
    places = [key for key in C_TESTS if mutant["file"].startswith(key + "/")]
    if not names and places:
        files = [str(path.relative_to(root)) for pattern in C_TESTS[max(places, key=len)]
                 for path in sorted(root.glob(pattern))]
        names = {name for name in seconds if any(
            name.startswith(file + ("::" if file.endswith(".py") else "/")) for file in files)}
    return sorted(names, key=lambda name: (seconds.get(name, 1.0), name))


def durations(junit: Path) -> dict[str, float]:
    """Seconds of each test, all of its parameters together, from pytest's --junitxml."""
    from xml.etree import ElementTree
    found: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(junit).iter("testcase"):
        file = case.get("classname").replace(".", "/") + ".py"
        found[f"{file}::{case.get('name').partition('[')[0]}"] += float(case.get("time"))
    return dict(found)


SETTINGS = """\
[run]
source = puffer_sdk
data_file = {folder}/data
parallel = true
context = ${{PYTEST_CURRENT_TEST-none}}
disable_warnings = no-data-collected,module-not-imported,couldnt-parse
"""


def cover(options) -> int:
    """Run the suite once and record which test reaches which line, in child processes too."""
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("data*"):
        old.unlink()
    settings = folder / "coverage.ini"
    settings.write_text(SETTINGS.format(folder=folder))
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options.tests, "-q", "-n", "2",
         "-p", "helpers.coverage_by_test", f"--junitxml={folder / 'junit.xml'}",
         "-o", "junit_duration_report=total"], cwd=ROOT,
        env={**os.environ, "COVERAGE_PROCESS_START": str(settings),
             "PYTHONPATH": str(ROOT / "tests")}).returncode


# ---- running -----------------------------------------------------------------------------------

def run_one(mutant: dict, names: list[str], root: Path, python: str, cap: int) -> dict:
    """Applies the mutant to the tree in root, runs the tests, and undoes it."""
    path = root / mutant["file"]
    kept = path.read_bytes()
    at, length = mutant["offset"], mutant["length"]
    path.write_bytes(kept[:at] + mutant["new"].encode() + kept[at + length:])
    listed = root / ".mutant-tests"
    listed.write_text("\n".join(names) + "\n")
    began = time.monotonic()
    process = subprocess.Popen(
        [python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         f"@{listed.name}"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, env={**os.environ, "PYTHONPATH": str(root),
                                     "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        said, _ = process.communicate(timeout=cap)
        status = {0: "survived", 1: "killed", 2: "killed", 3: "killed"}.get(
            process.returncode, "killed" if process.returncode < 0 else "no test")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        status = "survived, capped"
    finally:
        path.write_bytes(kept)
        listed.unlink(missing_ok=True)
    killer = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.M)
    return {"status": status, "seconds": round(time.monotonic() - began, 1), "tests": len(names),
            "killer": killer[1] if killer else None}


def run_all(options) -> int:
    mutants = json.loads(options.mutants.read_text())
    cover = covering(options.coverage)
    seconds = durations(options.durations or options.coverage / "junit.xml")
    done = json.loads(options.out.read_text()) if options.out.exists() else {}
    scratch = Path(tempfile.mkdtemp(prefix="mutants-"))
    tree = scratch / "tree"
    shutil.copytree(options.root, tree, symlinks=True, ignore=shutil.ignore_patterns(
        ".git", ".venv", "build", "runs", "__pycache__", ".ruff_cache"))
    try:
        for mutant in mutants:
            key = str(mutant["id"])
            if key in done or mutant["id"] % options.parts != options.part:
                continue
            names = tests_for(mutant, cover, seconds, tree)
            result = run_one(mutant, names, tree, options.python, options.cap) if names else {
                "status": "no test", "tests": 0}
            done[key] = {**result, "file": mutant["file"], "line": mutant["line"],
                         "what": mutant["what"]}
            options.out.write_text(json.dumps(done, indent=1) + "\n")
            print(key, result["status"], result.get("seconds"), mutant["file"], mutant["line"],
                  mutant["what"], result.get("killer"), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="choose the places")
    listing.add_argument("--seed", type=int, default=14)
    listing.add_argument("--count", type=int, default=100)
    covering_ = commands.add_parser("cover", help="one run of the suite under coverage")
    covering_.add_argument("folder", type=Path)
    covering_.add_argument("--tests", nargs="+", default=["tests"],
                           help="files or folders of tests: only these run")
    running = commands.add_parser("run", help="run each mutant's tests")
    running.add_argument("mutants", type=Path)
    running.add_argument("--coverage", type=Path, required=True)
    running.add_argument("--durations", type=Path, help="pytest's --junitxml; of the coverage run")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--cap", type=int, default=CAP)
    running.add_argument("--part", type=int, default=0)
    running.add_argument("--parts", type=int, default=1)
    running.add_argument("--python", default=sys.executable)
    for command in (listing, running):
        command.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args()
    if options.command == "list":
        print(json.dumps(choose(options.root, options.seed, options.count), indent=1))
        return 0
    return cover(options) if options.command == "cover" else run_all(options)


if __name__ == "__main__":
    sys.exit(main())
