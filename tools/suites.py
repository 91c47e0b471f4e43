"""Test suites of other packages, run on our environments.  their tests -> docs/data/suites.json

    python tools/suites.py gymnasium ../Gymnasium   tests/vector, of a checkout: its sdist has none
    python tools/suites.py sb3 [FOLDER]             vec-env tests, of the sdist that pip brings, or
                                                    of an unpacked one

Tests run unchanged, in a copy, with names swapped before their import: each Suite says which, and
lists the tests that cannot pass, and why. `make docs-tables` puts the results into
docs/guides/outward.md. Exit status: 0; 1 if another test fails; 2 for wrong arguments. A suite that
is not available is printed as "could not run", and nothing is written.
"""
from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))
import venvs  # noqa: E402

DATA = ROOT / "docs" / "data" / "suites.json"
SDISTS = ROOT / "build" / "suites"


class CannotRun(Exception):
    """The suite is not available. str(): why."""


@dataclass(frozen=True)
class Suite:
    """Tests of another package.

    title       what runs, as the page names it
    package     on PyPI; the installed version is that of the sdist
    tests       what pytest is given, in a copy of `folder`
    swap        a plugin of pytest's that runs before the tests are imported
    expected    the name of a test function -> why it cannot pass: "it ..."; name[part] is for
                the parameters that hold this part
    venv        the list of benchmarks/peers whose venv they run in; "": the one of this script
    in_sdist    whether the package's sdist has them
    """

    title: str
    package: str
    folder: str
    tests: tuple[str, ...]
    swap: str
    expected: dict[str, str] = field(default_factory=dict)
    venv: str = ""
    in_sdist: bool = True


WORDS = "asks for Gymnasium's own words in an error"
GYMNASIUM = Suite(
    "Gymnasium's `tests/vector` on `Vector`", "gymnasium", "tests", ("tests/vector",), """\
import gymnasium.vector
from puffer_sdk.vector import Vector
gymnasium.vector.AsyncVectorEnv = Vector
""", {
        "test_invalid_observation_mode": WORDS,
        "test_obs_mode_same_different_spaces": WORDS,
        "test_async_vector_subenv_error":
            "counts the lines that Gymnasium logs for each worker; here the exception itself "
            "carries the worker's traceback",
        "test_sync_vector_env_seed": "needs Box2D, and tests SyncVectorEnv alone",
    }, in_sdist=False)

SB3 = Suite(
    "Stable-Baselines3's vec-env tests on `SB3Vector`", "stable_baselines3", "tests", (
        "tests/test_vec_envs.py", "tests/test_vec_check_nan.py", "tests/test_vec_monitor.py",
        "tests/test_vec_normalize.py", "tests/test_vec_stacked_obs.py",
        "tests/test_vec_extract_dict_obs.py"), """\
import stable_baselines3.common.vec_env as vec_env
import puffer_sdk.vector

class SB3Vector(puffer_sdk.vector.SB3Vector):
    def __init__(self, env_fns, start_method=None, workers="auto"):
        super().__init__(env_fns, start_method, workers=workers, start_timeout=600)

class InOneWorker(SB3Vector):
    def __init__(self, env_fns):
        super().__init__(env_fns, workers=1)

vec_env.DummyVecEnv, vec_env.SubprocVecEnv = InOneWorker, SB3Vector
""", {
        "test_vecenv_custom_calls[InOneWorker]":
            "looks at `envs`, the environments in DummyVecEnv's own process; it passes for "
            "SB3Vector in place of SubprocVecEnv",
        "test_check_nan":
            "gives two actions to one environment; here that is an error, as in SubprocVecEnv",
    }, venv="sb3")

SUITES = {"gymnasium": GYMNASIUM, "sb3": SB3}


def main() -> int:
    names = " or ".join(SUITES)
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1] not in SUITES:
        print(f"error: no suite called {' '.join(sys.argv[1:]) or 'nothing'}\n"
              f"  hint: python tools/suites.py {names}", file=sys.stderr)
        return 2
    name, suite = sys.argv[1], SUITES[sys.argv[1]]
    try:
        python, installed = interpreter(suite)
        source = Path(sys.argv[2]).resolve() if len(sys.argv) == 3 else sdist(suite, installed)
    except CannotRun as why:
        print(f"could not run  {name}: {why}")
        return 0
    missing = [test for test in suite.tests if not (source / test).exists()]
    if missing:
        print(f"error: no {missing[0]} in {source}\n  hint: a checkout of {suite.package}, or its "
              "unpacked sdist", file=sys.stderr)
        return 2
    found = judge(suite, run(suite, source, python))
    found |= {"package": suite.package, "version": installed, "source": described(source),
              "ours": described(ROOT)}
    write({**json.loads(DATA.read_text()), name: found})
    return tell(suite, found)


def interpreter(suite: Suite) -> tuple[Path, str]:
    """(Python that has the suite's package, its version). Raises CannotRun."""
    python = Path(sys.executable)
    if suite.venv:
        try:
            python = venvs.python_of(suite.venv, editable=ROOT)
        except venvs.Missing as why:
            raise CannotRun(str(why)) from None
    found = venvs.versions(python, (suite.package,))
    if not found:
        raise CannotRun(f"{suite.package} is not installed")
    return python, found[suite.package]


def sdist(suite: Suite, version: str) -> Path:
    """The unpacked sdist of this version. Raises CannotRun."""
    if not suite.in_sdist:
        raise CannotRun("its sdist has no tests: give a checkout of its repository")
    pin = f"{suite.package}=={version}"
    folder = SDISTS / pin
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as temporary:
            done = subprocess.run(
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary",
                 ":all:", "--disable-pip-version-check", "-d", temporary, pin],
                capture_output=True, text=True, check=False)
            archives = list(Path(temporary).glob("*.tar.gz"))
            if done.returncode or not archives:
                raise CannotRun(f"pip download {pin}: {done.stderr.strip()[-200:]}")
            with tarfile.open(archives[0]) as archive:
                archive.extractall(temporary, filter="data")
            unpacked = next(each for each in Path(temporary).iterdir() if each.is_dir())
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(unpacked, folder)
    return folder


def run(suite: Suite, source: Path, python: Path, *words: str) -> list[ElementTree.Element]:
    """The suite's test cases, as pytest reports them. words: for pytest besides"""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(source / suite.folder, home / suite.folder)
        (home / "swap.py").write_text(suite.swap)
        junit = home / "junit.xml"
        path = os.pathsep.join([folder, str(ROOT)])
        subprocess.run([python, "-m", "pytest", "-q", "-p", "swap", "-p",
                        "no:cacheprovider", "--rootdir", folder, *suite.tests,
                        f"--junitxml={junit}", *words], cwd=home, check=False,
                       env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"})
        if not junit.is_file():
            raise SystemExit("error: pytest wrote no report: see above")
        return list(ElementTree.parse(junit).iter("testcase"))


def reason(suite: Suite, case: str) -> str | None:
    """Why a test case cannot pass, if known."""
    for name, why in suite.expected.items():
        function, _, part = name.rstrip("]").partition("[")
        if case.partition("[")[0] == function and part in case:
            return why
    return None


def judge(suite: Suite, cases: list[ElementTree.Element]) -> dict:
    failed = [case.get("name") for case in cases
              if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    known = {name: why for name in sorted(failed) if (why := reason(suite, name))}
    return {"suite": suite.title, "date": datetime.date.today().isoformat(),
            "tests": len(cases), "skipped": skipped, "passed": len(cases) - len(failed) - skipped,
            "failed": sorted(set(failed) - set(known)), "exceptions": known}


def write(everything: dict) -> None:
    DATA.write_text(json.dumps(everything, indent=1) + "\n")


def table(everything: dict) -> str:
    """The page's table."""
    return "\n" + "\n".join(part(found) for _, found in sorted(everything.items()))


def part(found: dict) -> str:
    """The page's part about one suite."""
    text = (f"{found['suite']}, version {found['version']} ({found['source']}; run on "
            f"{found['date']}): {found['passed']:,} of {found['tests']:,} tests pass")
    text += f", and {found['skipped']:,} skip themselves. " if found["skipped"] else ". "
    rows = {name.partition("[")[0]: f"it {why}" for name, why in found["exceptions"].items()}
    rows |= dict.fromkeys(found["failed"], "not known")
    if not rows:
        return text.rstrip() + "\n"
    return "\n".join([text + "What does not pass:", "", "| test | why |", "|---|---|",
                      *(f"| `{name}` | {why} |" for name, why in rows.items()), ""])


def tell(suite: Suite, found: dict) -> int:
    print(f"passed   {found['passed']} of {found['tests']}, {found['skipped']} skipped, "
          f"{len(found['exceptions'])} exceptions\nwrote    {DATA.relative_to(ROOT)}")
    for name in found["failed"]:
        print(f"failed   {name}")
    for name, why in suite.expected.items():
        if why not in found["exceptions"].values():
            print(f"passed   {name}, which is listed as an exception")
    return 1 if found["failed"] else 0


def described(folder: Path) -> str:
    """The commit and date of a checkout, or that it is an unpacked sdist."""
    if folder.parent == SDISTS:
        return "the sdist"
    done = subprocess.run(["git", "log", "-1", "--format=commit %h of %cs"], cwd=folder,
                          capture_output=True, text=True, check=False)
    is_checkout = (folder / ".git").exists() and not done.returncode
    return done.stdout.strip() if is_checkout else "a folder without commits"


if __name__ == "__main__":
    sys.exit(main())
