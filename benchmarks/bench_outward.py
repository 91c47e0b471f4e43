"""Our environments in other people's libraries: docs/why/outward.md, docs/data/outward.json.

    python benchmarks/bench_outward.py              a quarter of an hour on two quiet cores
    python benchmarks/bench_outward.py --short      one round, small; writes nothing
    python benchmarks/bench_outward.py --only adapters
    python benchmarks/bench_outward.py --only learners --missing    those that failed, again

Peers live in venvs of their own, as those of bench_bridges.py, whose rules hold here as well: each
contestant in a process of its own, in turns, and the least CPU of the whole process tree and the
best rate count.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time

import bench_bridges
from bench import ROOT, machine, replace_marked, write_figures
from bench_bridges import OURS, Pythons, train_ours

sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))
import outward_page
import venvs
from venvs import Missing

FILE = ROOT / "docs" / "data" / "outward.json"
PROGRAMS = ROOT / "examples" / "programs"
SIZES, SLICES = (1024, 16384), 12
# (autoreset, copy) of to_vector
WAYS = [("same_step", False), ("same_step", True), ("next_step", True)]
STEPS, SEEDS = 20_480, (1, 2, 3)
MORE = 1.2              # of the steps of our trainer, in which SB3 is to score as much
# one environment, in C and in Python: the label of a page, a venv, race.py's name, its workers
CARTPOLE = [("to_vector, same_step", OURS, "to_vector", 0), ("to_sb3", OURS, "to_sb3", 0),
            ("to_vector, same_step, 1,024 copies", OURS, "to_vector", 32),
            ("to_sb3, 1,024 copies", OURS, "to_sb3", 32),
            ("Vector, 1 worker", OURS, "Vector", 1), ("Vector, 2 workers", OURS, "Vector", 2),
            *((label, OURS if venv == "sb3" else venv, kind, workers)
              for label, venv, kind, workers in bench_bridges.PEERS if "PufferLib" not in label)]
# as our default network and optimizer have them, with the batch of the other learners
NATIVE = {"vec.total_agents": 64, "train.horizon": 32, "train.minibatch_size": 512}
WORKLOADS = ("adapters", "cartpole", "learners")


def cheapest(step, count: int, seconds: float) -> dict:
    """{"cpu_us", "rate"} of an env step: the best slices of a process that steps alone."""
    for _ in range(5):
        step()
    costs, rates = [], []
    for _ in range(SLICES):
        done, cpu, began = 0, time.process_time(), time.perf_counter()
        while (wall := time.perf_counter() - began) < seconds / SLICES or not done:
            step()
            done += count
        costs.append((time.process_time() - cpu) / done * 1e6)
        rates.append(done / wall)
    return {"cpu_us": min(costs), "rate": max(rates)}


def adapters(rounds: int, seconds: float) -> dict:
    """{copies: {way: figures}}: breakout through to_vector, beside VecEnv's own step."""
    import numpy as np

    import puffer_sdk

    found: dict = {}
    for count in SIZES:
        actions = np.random.default_rng(0).integers(0, 3, count)
        vec = puffer_sdk.make("breakout", num_envs=count, seed=1)
        vec.reset()
        envs = {f"to_vector, {mode}{'' if copy else ', copy=False'}": puffer_sdk.to_vector(
            "breakout", count, autoreset=mode, copy=copy) for mode, copy in WAYS}

        def own(vec=vec, actions=actions):
            vec.actions[:, 0] = actions
            vec.step()
        steps = {"VecEnv": own}
        for name, each in envs.items():
            each.reset(seed=1)
            steps[name] = lambda each=each, actions=actions: each.step(actions)
        rows = found[str(count)] = {}
        for _ in range(rounds):
            for name, step in steps.items():
                row, old = cheapest(step, count, seconds), rows.get(name)
                rows[name] = row if old is None else {
                    "cpu_us": min(old["cpu_us"], row["cpu_us"]),
                    "rate": max(old["rate"], row["rate"])}
        for each in (vec, *envs.values()):
            each.close()
        print(f"adapters, {count} copies: {rows}", file=sys.stderr, flush=True)
    return found


def score(python, program: str, words: list) -> float | None:
    """What a program says last; None where it fails."""
    done = subprocess.run([python, PROGRAMS / program, *map(str, words)], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT),
                                          "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"})
    said = re.findall(r"^score (-?[\d.]+) after", done.stdout, re.M)
    return float(said[-1]) if said else None


def learners(steps: int, seeds, before: dict) -> dict:
    """{learner: {"steps", "scores"}}: cartpole in C, after the same number of steps, by seed.

    before      what is kept of an earlier run: scores that are there are not measured again
    """
    more = round(steps * MORE)
    native = {"train.total_timesteps": steps, **NATIVE}
    runs = {
        "our trainer": (steps, lambda seed: train_ours(
            {**native, "train.seed": seed}, "cartpole").get("return")),
        "SB3 PPO over to_sb3": (steps, lambda seed: score(
            sys.executable, "sb3_ppo.py", ["cartpole", steps, seed])),
        f"SB3 PPO over to_sb3, {MORE:g} x the steps": (more, lambda seed: score(
            sys.executable, "sb3_ppo.py", ["cartpole", more, seed])),
        "ppo.py over to_vector": (steps, lambda seed: score(
            sys.executable, "ppo.py", ["--steps", steps, "--seed", seed])),
        "TorchRL PPO over to_vector": (steps, lambda seed: score(
            venvs.python_of("torchrl", editable=ROOT), "torchrl_ppo.py",
            ["cartpole", steps, seed])),
        "RLlib PPO over to_gymnasium": (steps, lambda seed: score(
            venvs.python_of("rllib", editable=ROOT), "rllib_ppo.py",
            ["cartpole", steps, seed]))}
    found: dict = {}
    for label, (count, _) in runs.items():
        kept = before.get(label, {}).get("scores", [])
        found[label] = {"steps": count, "scores": [*kept, *[None] * len(seeds)][:len(seeds)]}
    for at, seed in enumerate(seeds):
        for label, (_, work) in runs.items():
            if found[label]["scores"][at] is not None:
                continue
            try:
                found[label]["scores"][at] = made = work(seed)
            except Missing as error:
                made = f"left out: {error}"
            print(f"learners, seed {seed}: {label}: {made}", file=sys.stderr, flush=True)
    for row in found.values():
        good = [each for each in row["scores"] if each is not None]
        row["median"] = statistics.median(good) if good else None
    return found


def learner_versions() -> dict:
    """Of the learners' own packages, where they are installed."""
    found = {}
    for name, packages in (("torchrl", bench_bridges.PACKAGES["torchrl"]),
                           ("rllib", ("ray", "gymnasium", "torch"))):
        with contextlib.suppress(Missing):
            found[name] = venvs.versions(venvs.python_of(name, editable=ROOT), packages)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="one round, small; writes nothing")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="of these only")
    parser.add_argument("--missing", action="store_true", help="learners that failed before")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    pythons = Pythons(None)
    rounds, seconds = (1, 0.2) if given.short else (given.rounds, 1.0)
    figures = {} if given.short or not FILE.is_file() else json.loads(FILE.read_text())
    bench_bridges.RACES["cartpole"] = CARTPOLE
    for workload in given.only or WORKLOADS:
        figures[workload] = (
            adapters(rounds, seconds) if workload == "adapters" else
            bench_bridges.race("cartpole", pythons, rounds, seconds) if workload == "cartpole" else
            learners(4096 if given.short else STEPS, SEEDS[:1] if given.short else SEEDS,
                     figures.get("learners", {}) if given.missing else {}))
    if "learners" in (given.only or WORKLOADS) and not given.short:
        figures["versions"] = {**figures.get("versions", {}), **learner_versions()}
    figures |= {"machine": machine(), "command": "make bench", "missing": pythons.missing,
                "versions": {**figures.get("versions", {}), **pythons.versions()}}
    text = outward_page.table(figures)
    print(text)
    if not given.short:
        write_figures("outward", figures)
        replace_marked(ROOT / "docs" / "why" / "outward.md", text, outward_page.MARK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
