"""PufferLib 4.0's environments and trainer on a GPU beside ours: how fast, and what is learned.

    python benchmarks/bench_upstream_gpu.py TREE THEIRS BUILT
    python benchmarks/bench_upstream_gpu.py TREE THEIRS BUILT --only pong --rounds 1

TREE is a checkout of PufferLib 4.0, of which nothing is changed, and THEIRS a Python with torch,
rich and rich-argparse. BUILT has a folder for each environment and precision, breakout-bf16 or
breakout-fp32, with the module that their build.sh makes of it (with --float for fp32). Both sides
have the environment, ini, network, agents, threads and precision of TREE, and the environments on
the CPU. Rates are agent steps a second of whole epochs, medians of pairs. The runs of LEARNED are
those of their ini, to its last step: seconds by the clock, and the score of the last tenth. Theirs
have one buffer a thread, ours the two that a GPU takes (vec.num_buffers is automatic).
Writes docs/data/upstream-gpu.json; with --only, to standard output alone.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench import machine, write_figures
from bench_upstream import run
from training_runs import close, open_trainer

import puffer_sdk
from puffer_sdk.base.errors import PufferError
from puffer_sdk.toolchain import gpu

HERE = Path(__file__).resolve().parent
RATED = {"bf16": ("breakout", "squared", "tetris", "g2048"),
         "fp32": ("breakout", "squared", "g2048")}
LEARNED, SEEDS = ("breakout", "pong", "cartpole"), (1, 2, 3)
ROUNDS, SECONDS, WARM = 2, 2.0, 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("theirs", type=Path, help="a Python with torch")
    parser.add_argument("built", type=Path, help="their modules, by NAME-PRECISION")
    parser.add_argument("--only", action="append", help="these environments; nothing is written")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    given = parser.parse_args()
    tree = given.tree.resolve()
    try:
        gpu.choose_device("cuda")
    except PufferError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    figures = {"machine": machine(), "gpu": gpu.list_usable()[0][1].name,
               "learning": {}, "training": {}}
    for name in given.only or LEARNED:
        if name in LEARNED:
            runs = [pair(tree, given, name, "bf16", seed, 0) for seed in SEEDS[:given.seeds]]
            figures["learning"][name] = {who: [run[who] for run in runs]
                                         for who in ("ours", "theirs")}
    for precision, names in RATED.items():
        for name in names:
            if name in (given.only or names):
                figures["training"][f"{name}, {precision}"] = rates(
                    [pair(tree, given, name, precision, seed, SECONDS)
                     for seed in range(1, given.rounds + 1)])
    print(json.dumps(figures))
    if not given.only:
        write_figures("upstream-gpu", figures)
    return 0


def rates(pairs: list[dict]) -> dict[str, float]:
    """{"ours", "theirs": agent steps a second, "ratio"} of pairs, medians."""
    seen = {who: [each[who]["steps"] / each[who]["seconds"] for each in pairs]
            for who in ("ours", "theirs")}
    return {**{who: statistics.median(each) for who, each in seen.items()},
            "ratio": statistics.median(o / t for o, t in zip(*seen.values(), strict=True))}


def pair(tree: Path, given: argparse.Namespace, name: str, precision: str, seed: int,
         seconds: float) -> dict[str, dict]:
    """Theirs, then ours. seconds 0: a whole run."""
    found = {"theirs": theirs(tree, given, name, precision, seed, seconds),
             "ours": ours(tree / "ocean" / name, precision, seed, seconds)}
    print(f"{name} {precision} {seed}: {json.dumps(found)}", file=sys.stderr, flush=True)
    return found


def theirs(tree: Path, given: argparse.Namespace, name: str, precision: str, seed: int,
           seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "resources").symlink_to(tree / "resources")
        for part in ("pufferlib", "config"):
            shutil.copytree(tree / part, folder / part)
        for module in (given.built.resolve() / f"{name}-{precision}").glob("_C.*.so"):
            (folder / "pufferlib" / module.name).symlink_to(module)
        said = run([given.theirs, HERE / "peers/upstream_gpu.py", name, seed, seconds], folder,
                   dict(os.environ))
    return json.loads(said.splitlines()[-1])


def ours(env: Path, precision: str, seed: int, seconds: float,
         **settings: object) -> dict[str, float | None]:
    whole = puffer_sdk.configure(env).train.total_timesteps
    began = time.perf_counter()
    vec, trainer = open_trainer(env, {
        "train.device": "cuda", "train.precision": precision, "train.seed": seed,
        "train.total_timesteps": 10**10 if seconds else whole, **settings})
    start, rows = time.perf_counter() - began, []

    def epochs(until) -> tuple[int, float]:
        first, began = trainer.global_step, time.perf_counter()
        while not until(time.perf_counter() - began):
            trainer.rollout()
            trainer.update()
            if not seconds and trainer.global_step > 0.9 * whole:
                log = vec.log()
                rows.append((log.get("n", 0), log.get("score", 0)))
        return trainer.global_step - first, time.perf_counter() - began

    if seconds:
        epochs(lambda passed: passed >= WARM)
    steps, took = epochs(lambda passed: passed >= seconds if seconds else trainer.finished)
    close(vec, trainer)
    ended = sum(n for n, _ in rows[1:])         # the first is of all before
    return {"steps": steps, "seconds": took, "start": start,
            "score": sum(n * score for n, score in rows[1:]) / ended if ended else None}


def table(figures: dict) -> str:
    out = ["| training, steps/s | PufferLib 4.0 | puffer-sdk | ratio |", "|---" * 4 + "|"]
    out += [f"| {name} | {row['theirs'] / 1e6:.1f} M | {row['ours'] / 1e6:.1f} M | "
            f"{row['ratio']:.2f} |" for name, row in figures["training"].items()]
    out += ["", "| whole run, bf16 | PufferLib 4.0 | puffer-sdk |", "|---" * 3 + "|"]
    out += [f"| {name} | {' | '.join(learned(sides[who]) for who in ('theirs', 'ours'))} |"
            for name, sides in figures["learning"].items()]
    return "\n".join([*out, "", "The score of the last tenth, a number a seed, and the median of "
                      f"seconds. (One {figures['gpu']}, {figures['machine']['cores']} cores, "
                      f"{figures['machine']['date']})"])


def learned(runs: list[dict[str, float]]) -> str:
    return ", ".join(f"{run['score']:.4g}" for run in runs) + \
        f" in {statistics.median(run['seconds'] for run in runs):.2g} s"


if __name__ == "__main__":
    sys.exit(main())
