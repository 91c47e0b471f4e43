"""What PufferLib 4.0's trainer and ours learn from its environments and inis, at equal steps.

    python benchmarks/bench_upstream.py TREE THEIRS KEPT.json
    python benchmarks/bench_upstream.py TREE THEIRS KEPT.json --only pong --seeds 2
    python benchmarks/bench_upstream.py TREE THEIRS KEPT.json --try label --train.reward-clip=0

TREE is a checkout of PufferLib 4.0, of which nothing is changed. THEIRS is a Python with torch for
the CPU, pybind11, rich and rich-argparse; clang and LLVM's OpenMP build what it needs, without
raylib's library. Of their files none is patched: num_layers is cut to a whole number (their CPU
trainer dies of a fraction), networks wider than HIDDEN are cut to it on both sides, torch and ours
are seeded, and both have one thread. The score is that of the last tenth of the steps, a mean over
its episodes. Each run is a process, kept in KEPT.json as soon as it is over; what is there is not
run again. --try runs ours with other settings, beside the rest.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
STEPS = {"breakout": 10_000_000, "pong": 3_000_000, "cartpole": 5_642_560, "g2048": 4_194_304,
         "tetris": 4_194_304, "snake": 3_145_728, "dino": 3_145_728}
SEEDS, HIDDEN, SAMPLES = 6, 64, 10_000
OURS, THEIRS = "ours", "PufferLib 4.0"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("theirs", type=Path, help="a Python with torch")
    parser.add_argument("kept", type=Path)
    parser.add_argument("--only", action="append", choices=STEPS)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="the first so many")
    parser.add_argument("--who", action="append", choices=[OURS, THEIRS])
    parser.add_argument("--steps", type=int, help="in place of each environment's")
    parser.add_argument("--try", dest="label", default=OURS, help="a label for settings to try")
    given, settings = parser.parse_known_args()
    if bool(settings) != (given.label != OURS):
        parser.error("settings are tried with --try LABEL")
    kept = json.loads(given.kept.read_text()) if given.kept.is_file() else {"runs": {}}
    kept |= {"versions": {name: version(name) for name in ("puffer-sdk", "numpy")} | {
        "python": platform.python_version()}, "command": " ".join(sys.argv)}
    for seed in range(1, given.seeds + 1):
        for name in given.only or STEPS:
            steps = given.steps or STEPS[name]
            rows = kept["runs"].setdefault(f"{name}, {steps:,} steps", {})
            for who in given.who or [THEIRS, OURS]:
                label = given.label if who == OURS else who
                mine = rows.setdefault(label, {})
                if str(seed) in mine:
                    continue
                folder = prepare(given.tree.resolve(), name)
                before = cpu()
                log = (theirs(given.theirs, folder, name, steps, seed) if who == THEIRS else
                       ours(folder, name, steps, seed, settings))
                mine[str(seed)] = row = {"score": last_tenth(log), "cpu": round(cpu() - before, 1)}
                print(f"{name} {label} {seed}: {json.dumps(row)}", flush=True)
                given.kept.write_text(json.dumps(kept, indent=1) + "\n")
    print(table(kept))
    return 0


def cpu() -> float:
    """Seconds that children took."""
    taken = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken.ru_utime + taken.ru_stime


# -- both sides

def prepare(tree: Path, name: str) -> Path:
    """A folder of TREE's files, in which both can build; their module is built by theirs()."""
    folder = Path(tempfile.gettempdir()) / "bench-upstream" / name
    if folder.is_dir():
        return folder
    folder.mkdir(parents=True)
    for part in ("build.sh", "src", "vendor", "resources"):
        (folder / part).symlink_to(tree / part)
    for part in ("pufferlib", "config", f"ocean/{name}"):
        shutil.copytree(tree / part, folder / part)
    return folder


def theirs_built(python: Path, folder: Path, name: str) -> dict[str, str]:
    """Build their module for the CPU, once; what their processes want in their environment."""
    from puffer_sdk.raylib.headers import headers

    with_python = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}",
                   "OMP_NUM_THREADS": "1", "CUDA_HOME": "/nonexistent"}
    if not list((folder / "pufferlib").glob("_C.*")):
        raylib = folder / "raylib-5.5_linux_amd64"
        (raylib / "lib").mkdir(parents=True, exist_ok=True)
        (raylib / "include").unlink(missing_ok=True)
        (raylib / "include").symlink_to(headers())
        run(["ar", "rcs", raylib / "lib/libraylib.a"], folder, with_python)
        run(["bash", "build.sh", name, "--cpu"], folder, with_python)
    return with_python


def theirs(python: Path, folder: Path, name: str, steps: int, seed: int) -> list[list[float]]:
    environment = theirs_built(python, folder, name)
    said = run([python, HERE / "peers/upstream_run.py", name, steps, seed, HIDDEN], folder,
               environment)
    return json.loads(said.splitlines()[-1])


def ours(folder: Path, name: str, steps: int, seed: int, settings: list[str]) -> list[list[float]]:
    import puffer_sdk

    env = folder / "ocean" / name
    hidden = min(HIDDEN, puffer_sdk.configure(env).policy.hidden_size)
    with tempfile.TemporaryDirectory() as runs:
        run([sys.executable, "-m", "puffer_sdk", "train", env, "--train.seed", seed,
             "--train.total-timesteps", steps, "--policy.hidden-size", hidden,
             "--vec.num-threads", 1, "--runs-dir", runs, *settings], folder, dict(os.environ))
        lines = [json.loads(line) for file in Path(runs).rglob("metrics.jsonl")
                 for line in file.read_text().splitlines()]
    return [[line["step"], line["env/n"], line["env/score"]] for line in lines
            if line.get("env/n")]


def run(words: list[object], folder: Path, environment: dict[str, str]) -> str:
    """What it printed. A run that fails ends the benchmark."""
    done = subprocess.run(list(map(str, words)), cwd=folder, env=environment, text=True,
                          capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout


# -- scores

def last_tenth(log: list[list[float]]) -> float:
    """The mean score of the episodes that ended in the last tenth of the steps."""
    rows = [row for row in log if row[0] > 0.9 * log[-1][0]]
    return sum(n * score for _, n, score in rows) / sum(n for _, n, _ in rows)


def difference(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """The 95 % interval of the means' difference: seeds are drawn again on each side."""
    rng = np.random.default_rng(0)
    means = [np.array(side)[rng.integers(len(side), size=(SAMPLES, len(side)))].mean(axis=1)
             for side in (ours, theirs)]
    low, high = np.percentile(means[0] - means[1], [2.5, 97.5])
    return float(low), float(high)


def table(kept: dict) -> str:
    """Means over seeds, as Markdown."""
    lines = ["| environment | who | seeds | score | CPU | less theirs |", "|---" * 6 + "|"]
    for name, rows in kept["runs"].items():
        for who, runs in rows.items():
            scores = [row["score"] for row in runs.values()]
            if not scores:
                continue
            beside = [row["score"] for row in rows.get(THEIRS, {}).values()]
            less = "-" if who == THEIRS or not beside else \
                "{:.4g} to {:.4g}".format(*difference(scores, beside))
            lines.append(f"| {name} | {who} | {len(scores)} | {statistics.mean(scores):.4g} | "
                         f"{statistics.mean(row['cpu'] for row in runs.values()):.0f} s | "
                         f"{less} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
