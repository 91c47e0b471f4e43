"""Test suites that others wrote, on what we give out.  a checkout -> docs/data/suites.json

    python tools/suites.py ../Gymnasium     Gymnasium's tests/vector, from a checkout

Its tests run as they are, in a copy of its tests/. One name is swapped: AsyncVectorEnv is
puffer_sdk.vector.Vector. EXPECTED lists what cannot pass, and why. The table of
docs/guides/outward.md is written as well. Exit status: 0, or 1 where another test fails.
"""
from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data" / "suites.json"
PAGE = ROOT / "docs" / "guides" / "outward.md"
MARK = "<!-- suites: written by tools/suites.py -->"
SWAP = """\
import gymnasium.vector
from puffer_sdk.vector import Vector
gymnasium.vector.AsyncVectorEnv = Vector
"""
WORDS = "asks for Gymnasium's own words in an error"
EXPECTED = {
    "test_invalid_observation_mode": WORDS,
    "test_obs_mode_same_different_spaces": WORDS,
    "test_async_vector_subenv_error": "counts the lines that Gymnasium logs for each worker; here "
                                      "the exception itself carries the worker's traceback",
    "test_sync_vector_env_seed": "needs Box2D, and tests SyncVectorEnv alone",
}


def main() -> int:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "tests" / "vector").is_dir():
        print(f"error: no tests/vector in {' '.join(sys.argv[1:]) or 'nothing'}\n"
              "  hint: python tools/suites.py CHECKOUT, a clone of Gymnasium's repository",
              file=sys.stderr)
        return 2
    checkout = Path(sys.argv[1]).resolve()
    cases = run(checkout)
    failed = {case.get("name") for case in cases
              if case.find("failure") is not None or case.find("error") is not None}
    skipped = sum(case.find("skipped") is not None for case in cases)
    known = {name for name in failed if name.partition("[")[0] in EXPECTED}
    gone = {name for name in EXPECTED if not any(each.partition("[")[0] == name
                                                 for each in failed)}
    found = {"suite": "Gymnasium, tests/vector", "date": datetime.date.today().isoformat(),
             "checkout": described(checkout), "gymnasium": version("gymnasium"),
             "ours": described(ROOT), "tests": len(cases), "skipped": skipped,
             "passed": len(cases) - len(failed) - skipped, "failed": sorted(failed - known),
             "exceptions": {name: EXPECTED[name.partition("[")[0]] for name in sorted(known)}}
    DATA.write_text(json.dumps(found, indent=1) + "\n")
    before, _, after = PAGE.read_text().split(MARK)
    PAGE.write_text(MARK.join([before, table(found), after]))
    print(f"passed   {found['passed']} of {found['tests']}, {skipped} skipped, "
          f"{len(known)} exceptions\nwrote    {DATA.relative_to(ROOT)}")
    for name in sorted(failed - known):
        print(f"failed   {name}")
    for name in sorted(gone):
        print(f"passed   {name}, which EXPECTED lists")
    return 1 if failed - known else 0


def table(found: dict) -> str:
    """What stands on the page."""
    lines = [f"Gymnasium's `tests/vector` at commit {found['checkout']}, with Gymnasium "
             f"{found['gymnasium']}: {found['passed']:,} of {found['tests']:,} tests pass, and "
             f"{found['skipped']} skip themselves. What does not pass:", "",
             "| test | why |", "|---|---|"]
    for name in dict.fromkeys(each.partition("[")[0] for each in found["exceptions"]):
        lines.append(f"| `{name}` | it {EXPECTED[name]} |")
    lines += [f"| `{name}` | not known |" for name in found["failed"]]
    return "\n" + "\n".join(lines) + "\n"


def run(checkout: Path) -> list[ElementTree.Element]:
    """The suite's test cases, as pytest reports them."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(checkout / "tests", home / "tests")
        (home / "swap.py").write_text(SWAP)
        junit = home / "junit.xml"
        path = os.pathsep.join([folder, str(ROOT)])
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "swap", "-p",
                        "no:cacheprovider", "--rootdir", folder, "tests/vector",
                        f"--junitxml={junit}"],
                       cwd=home, env={**os.environ, "PYTHONPATH": path}, check=False)
        return list(ElementTree.parse(junit).iter("testcase"))


def described(folder: Path) -> str:
    """The commit and its date; "no commit" where git knows none."""
    done = subprocess.run(["git", "log", "-1", "--format=%h of %cs"], cwd=folder,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"


if __name__ == "__main__":
    sys.exit(main())
