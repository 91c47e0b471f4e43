"""`make bench`: measure what the pages state (docs/why/what-it-does.md, docs/why/benchmarks.md).

Writes both, and docs/data/benchmarks.json.

    python benchmarks/bench.py            everything, about five minutes on two cores
    python benchmarks/bench.py --quick    one seed each, nothing written

Templates train with the settings of their own ini, over three seeds; rates are medians. Nothing
here passes or fails: the learning tests check lower bounds.
"""
from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_abi

import puffer_sdk
from puffer_sdk.env import build

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (1, 2, 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, write nothing")
    quick = parser.parse_args().quick
    seeds = SEEDS[:1] if quick else SEEDS
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        figures = {"machine": machine(), "command": "make bench",
                   "squared": bench_squared(seeds), "target": bench_target(seeds),
                   "build": bench_build(), "check": bench_check(),
                   "abi": bench_abi.compare(Path("squared").resolve(), 1024, 201, 20),
                   "env_steps_per_second": bench_stepping()}
        os.chdir(ROOT)
    text = table(figures)
    print(text)
    if not quick:
        write_figures("benchmarks", figures)
    return 0


def machine() -> dict:
    """What the figures were measured on."""
    import torch

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines()
                 if line.startswith("model name")]
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": model, "cores": cores, "python": platform.python_version(),
            "torch": torch.__version__, "date": time.strftime("%Y-%m-%d")}


def train_seeds(name: str, template: str, seeds) -> list[dict]:
    """One row a seed: what the run took and what eval says of it."""
    puffer_sdk.new(name, template=template)
    rows = []
    for seed in seeds:
        print(f"training {name}, seed {seed} ...", file=sys.stderr, flush=True)
        result = puffer_sdk.train(name, {"train.seed": seed})
        scores = puffer_sdk.evaluate(name, model=str(result.folder)).scores
        rows.append({"seed": seed, "steps": result.steps, "seconds": result.seconds,
                     "goal": result.goal, "scores": scores})
    return rows


def bench_squared(seeds) -> dict:
    """perf after the ini's steps, and when an evaluation confirmed its goal, perf 0.95."""
    out = []
    for row in train_seeds("squared", "squared", seeds):
        steps, seconds = row["goal"] or (None, None)
        out.append({"seed": row["seed"], "steps": row["steps"], "seconds": row["seconds"],
                    "perf": row["scores"]["trained"].mean["perf"],
                    "random_perf": row["scores"]["random"].mean["perf"],
                    "steps_to_95": steps, "seconds_to_95": seconds})
    return {"runs": out, "sps": statistics.median(r["steps"] / r["seconds"] for r in out)}


def bench_target(seeds) -> dict:
    """Goals per agent per 1000 ticks, beside random play."""
    out = []
    for row in train_seeds("target", "target", seeds):
        goals = {name: score.mean["entries_per_1000_ticks"]
                 for name, score in row["scores"].items()}
        out.append({"seed": row["seed"], "steps": row["steps"], "seconds": row["seconds"],
                    "goals": goals["trained"], "random_goals": goals["random"],
                    "times_random": goals["trained"] / goals["random"]})
    return {"runs": out, "sps": statistics.median(r["steps"] / r["seconds"] for r in out)}


def bench_build() -> dict:
    """Seconds from an edit to the rebuilt library, and for one that did not change."""
    header = Path("squared/squared.h")
    folder, text, edited = header.parent.resolve(), header.read_text(), []
    for i in range(5):
        header.write_text(f"#define BENCH_EDIT {i}\nstatic int bench_edit(void) "
                          "{ return BENCH_EDIT; }\n" + text)
        edited.append(build.build(folder).seconds)
    header.write_text(text)
    build.build(folder)
    unchanged = [build.build(folder).seconds for _ in range(5)]
    return {"edited_seconds": statistics.median(edited),
            "unchanged_seconds": statistics.median(unchanged)}


def bench_check() -> dict:
    """Seconds and env steps of a default check of the Squared template, as a command."""
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "puffer_sdk", "check", "squared", "--format",
                               "json"], capture_output=True, text=True, check=True)
        seconds.append(time.perf_counter() - began)
    return {"seconds": statistics.median(seconds),
            "env_steps": json.loads(done.stdout)["coverage"]["env_steps"]}


def bench_stepping() -> dict:
    """Agent steps a second through VecEnv.step from Python, one thread, actions drawn before."""
    return {name: bench_abi.vec_rate(Path(name), 1024, 1, 1.0) for name in ("squared", "target")}


def table(figures: dict) -> str:
    """The figures as Markdown."""
    machine, s, t = figures["machine"], figures["squared"]["runs"], figures["target"]["runs"]
    reached = [r["seconds_to_95"] for r in s if r["seconds_to_95"] is not None]
    quickly = f"; 0.95 after {spread(reached, 1)} s" if len(reached) == len(s) else ""
    lines = [
        "| | steps | seconds | result |",
        "|---|---|---|---|",
        f"| Squared, {len(s)} seeds | {s[0]['steps'] / 1e6:.1f} M "
        f"| {spread([r['seconds'] for r in s], 1)} "
        f"| perf {spread([r['perf'] for r in s], 2)}{quickly}; "
        f"random {s[0]['random_perf']:.2f} |",
        f"| Target, {len(t)} seeds | {t[0]['steps'] / 1e6:.1f} M "
        f"| {spread([r['seconds'] for r in t], 1)} "
        f"| {spread([r['goals'] for r in t], 1)} goals per agent per 1000 ticks; "
        f"random {t[0]['random_goals']:.1f} |",
        "",
        f"Stepping through the library takes {figures['abi']['ratio']:.2f} times as long as a "
        f"plain C loop. An edit is rebuilt in {figures['build']['edited_seconds']:.2f} s. "
        f"`check` plays {figures['check']['env_steps'] / 1e6:.1f} M env steps of Squared in "
        f"{figures['check']['seconds']:.1f} s. (`make bench`, {machine['cores']} cores of an "
        f"{machine['cpu']}, {machine['date']})",
    ]
    return "\n".join(lines)


def spread(values: list[float], digits: int) -> str:
    """'0.97 to 0.99', or one number where both are the same."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def write_figures(name: str, figures: dict) -> None:
    """Write docs/data/NAME.json; `make docs-tables` puts it into the pages."""
    path = ROOT / "docs" / "data" / f"{name}.json"
    path.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
