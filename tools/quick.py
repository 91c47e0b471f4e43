"""make quick: the tests of what you changed, within a minute.  git's changes -> folders of tests

Tests of puffer_sdk/PACKAGE are in tests/PACKAGE. The fastest tests of these folders run, as many as
fit; `make test` runs all.
"""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 45            # of tests, on each of two workers; starting and collecting take the rest
ALWAYS = "tests/project/test_layout.py"
# folders outside puffer_sdk/ -> the tests that read them
OTHERS = {"kernels": ["kernels", "trainer"], "trainer": ["trainer"], "docs": ["docs"],
          "tools/site": ["docs"], "templates": ["projects"], "examples": ["projects"],
          "man": ["cli"], "tests/specimens/correct": ["checking"],
          "tests/specimens/ocean": ["projects", "env"]}


def changed(base: str) -> list[str]:
    """Files that differ from `base`, committed or not, and untracked files."""
    def lines(*words: str) -> list[str]:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout.splitlines()
    return sorted({*lines("diff", "--name-only", base),
                   *lines("ls-files", "--others", "--exclude-standard")})


def tests_of(file: str) -> list[str]:
    """The test files or folders that belong to a file of the project."""
    parts = Path(file).parts
    if parts[0] == "tests" and len(parts) > 2 and parts[1] not in ("helpers", "specimens"):
        return [file] if parts[-1].startswith("test_") else [f"tests/{parts[1]}"]
    if parts[0] == "puffer_sdk" and len(parts) > 2:
        return [f"tests/{parts[1]}"]
    for prefix, folders in OTHERS.items():
        if file.startswith(prefix + "/"):
            return [f"tests/{folder}" for folder in folders]
    return ["tests/project"]


def main(arguments: list[str]) -> int:
    base = arguments[0] if arguments else "HEAD"
    files = changed(base)
    if not files:
        print(f"nothing differs from {base}; make test runs everything")
        return 0
    wanted = sorted({test for file in files for test in tests_of(file)
                     if (ROOT / test).exists()} | {ALWAYS})
    print(f"changed  {len(files)} files since {base}")
    print(f"tests    {', '.join(wanted)}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal",
         "--budget", str(2 * SECONDS), *wanted], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
