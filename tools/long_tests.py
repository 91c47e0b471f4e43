"""make test-long: the long forms of the proofs.  seeds, kills, peers, mutants -> docs/data/*.json

    python tools/long_tests.py              the long forms of the tests: docs/data/long-tests.json
    python tools/long_tests.py mutants      whether the suite notices faults: docs/data/mutants.json

Both files hold the date, the commit and versions. What could not run (without a GPU, say) is
printed and listed there. Exit status: 0, or 1 if something failed.
"""
from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data"
BUILD = ROOT / "build" / "long"
SEED, MUTANTS = 14, 100


def facts() -> dict:
    """Date, commit, machine and versions."""
    def first_line(*words: str) -> str:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.partition("\n")[0]

    return {"date": datetime.date.today().isoformat(),
            "commit": first_line("git", "rev-parse", "--short", "HEAD"),
            "python": platform.python_version(), "machine": platform.machine(),
            "cores": os.cpu_count(),
            "compiler": first_line(os.environ.get("CC", "cc"), "--version"),
            "numpy": version("numpy"), "torch": version("torch"), "pytest": version("pytest")}


def long_forms() -> int:
    """Every test that has a long form, in that form."""
    BUILD.mkdir(parents=True, exist_ok=True)
    junit = BUILD / "junit.xml"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "long",
                           f"--junitxml={junit}", "-o", "junit_duration_report=total"], cwd=ROOT,
                          env={**os.environ, "PUFFER_LONG": "1"})
    cases = list(ElementTree.parse(junit).iter("testcase"))
    skipped = {name_of(case): case.find("skipped").get("message") for case in cases
               if case.find("skipped") is not None}
    failed = [name_of(case) for case in cases
              if case.find("failure") is not None or case.find("error") is not None]
    DATA.mkdir(parents=True, exist_ok=True)
    (DATA / "long-tests.json").write_text(json.dumps({
        **facts(), "tests": len(cases), "seconds": round(sum(float(case.get("time"))
                                                             for case in cases)),
        "failed": failed, "could_not_run": skipped}, indent=1) + "\n")
    for name, why in skipped.items():
        print(f"could not run  {name}: {why}")
    print("wrote    docs/data/long-tests.json")
    return 1 if done.returncode else 0


def name_of(case: ElementTree.Element) -> str:
    return f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"


def mutants() -> int:
    """A run of the suite under coverage, then each mutant against the tests that reach it."""
    BUILD.mkdir(parents=True, exist_ok=True)
    tool = [sys.executable, str(ROOT / "tools" / "mutants.py")]
    chosen, found = BUILD / "mutants.json", BUILD / "results.json"
    found.unlink(missing_ok=True)
    chosen.write_text(subprocess.run([*tool, "list", "--seed", str(SEED), "--count", str(MUTANTS)],
                                     check=True, capture_output=True, text=True).stdout)
    if subprocess.run([*tool, "cover", str(BUILD / "coverage")]).returncode:
        print("error: the suite fails without mutants")
        return 1
    subprocess.run([*tool, "run", str(chosen), "--coverage", str(BUILD / "coverage"), "--out",
                    str(found)], check=True)
    results = list(json.loads(found.read_text()).values())
    checking = [one for one in results if one["file"].startswith("puffer_sdk/checking/")]
    areas = {"checking": checking, "others": [one for one in results if one not in checking]}
    data = {area: {**facts(), **summary(of_area)} for area, of_area in areas.items()}
    (DATA / "mutants.json").write_text(json.dumps({"seed": SEED, **data}, indent=1) + "\n")
    for area, found_there in data.items():
        counts = ", ".join(f"{number} {status}" for status, number in found_there["count"].items())
        print(f"mutants  {area}: {counts}")
    print("wrote    docs/data/mutants.json")
    return 0


def summary(results: list[dict]) -> dict:
    """The numbers of killed and surviving mutants, and the survivors' places."""
    return {"count": dict(Counter(one["status"] for one in results)), "survivors": [
        f"{one['file']}:{one['line']} {one['what']}" for one in results
        if one["status"] != "killed"]}


if __name__ == "__main__":
    sys.exit(mutants() if sys.argv[1:] == ["mutants"] else long_forms())
