"""Measurements for the tutorial's pages.  docs/tutorials/drips/ -> docs/data/tutorial.json

    python tools/site/measure.py        about a minute on two cores

For each of the six steps: output of `check`. For the correct game and each fault of faults.toml:
output of `check`, and the learning curves of five seeds.
"""
from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:         # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL_PATH = "docs/tutorials/drips"
TUTORIAL = ROOT / TUTORIAL_PATH
OUTPUTS = ROOT / "docs" / "data" / "tutorial.json"
STEPS = tuple(f"step{n}" for n in range(1, 7))
NAME, SOUND = "drips", "sound"
SEEDS = (1, 2, 3, 4, 5)


def faults() -> dict[str, dict]:
    """faults.toml by id."""
    return {fault["id"]: fault
            for fault in tomllib.loads((TUTORIAL / "faults.toml").read_text())["fault"]}


def header(variant: str) -> str:
    """drips.h of a step, or of the last one with a fault in it."""
    if variant in STEPS:
        return (TUTORIAL / variant / f"{NAME}.h").read_text()
    text = (TUTORIAL / STEPS[-1] / f"{NAME}.h").read_text()
    for edit in faults()[variant]["edits"] if variant != SOUND else ():
        if text.count(edit["old"]) != 1:
            raise SystemExit(f"error: {variant}: this stands {text.count(edit['old'])} times in "
                             f"{NAME}.h, expected once:\n{edit['old']}")
        text = text.replace(edit["old"], edit["new"])
    return text


def diff(variant: str) -> str:
    """The fault as a unified diff without file names."""
    lines = difflib.unified_diff(header(SOUND).splitlines(), header(variant).splitlines(),
                                 lineterm="", n=1)
    return "\n".join(list(lines)[2:])


def place(variant: str, root: Path) -> Path:
    """Make root/VARIANT, a separate project with the environment. Returns root/VARIANT."""
    project = root / variant
    folder = project / NAME
    step = variant if variant in STEPS else STEPS[-1]
    shutil.copytree(TUTORIAL / step, folder, ignore=shutil.ignore_patterns("build", "runs"))
    (folder / f"{NAME}.h").write_text(header(variant))
    (project / "pyproject.toml").touch()
    return project


def run(words: list[str], folder: Path, *, fails: tuple[int, ...] = ()) -> str:
    """Output of `puffer-sdk WORDS` in a folder, run as a reader would."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=folder,
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"})
    if done.returncode not in (0, *fails):
        raise SystemExit(f"error: puffer-sdk {' '.join(words)} ended with {done.returncode}\n"
                         f"{done.stdout}{done.stderr}")
    return done.stdout


def check(project: Path) -> str:
    return run(["check", NAME], project, fails=(1,))


def curve(project: Path, seed: int) -> dict:
    """Agent steps, and the mean perf of the episodes that ended, epoch by epoch; what the run
    claims of its weights, and after how many steps it confirmed its goal."""
    done = json.loads(run(["train", NAME, "--train.seed", str(seed), "--format", "json"], project))
    metrics = Path(done["folder"]) / "metrics.jsonl"
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    rows = [row for row in rows if "env/perf" in row]
    return {"steps": [row["step"] for row in rows],
            "perf": [round(row["env/perf"], 3) for row in rows],
            "claim": round(done["claim"]["trained"]["mean"]["perf"], 3),
            "solved": done["goal"] and done["goal"][0]}


def main() -> int:
    found = {"command": "python tools/site/measure.py", "steps": {}, "variants": {}}
    with tempfile.TemporaryDirectory() as scratch:
        for step in STEPS:
            print(step, file=sys.stderr)
            found["steps"][step] = check(place(step, Path(scratch)))
        for variant in (SOUND, *faults()):
            print(variant, file=sys.stderr)
            project = place(variant, Path(scratch))
            curves = [curve(project, seed) for seed in SEEDS]
            found["variants"][variant] = {
                "check": check(project), "seeds": SEEDS, "steps": curves[0]["steps"],
                **{name: [one[name] for one in curves] for name in ("perf", "claim", "solved")}}
    OUTPUTS.write_text(json.dumps(found, indent=1, default=list).replace("\n     ", " ") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
