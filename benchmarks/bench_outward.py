"""Our environments in other people's libraries: docs/why/outward.md, docs/data/outward.json.

    python benchmarks/bench_outward.py              a quarter of an hour on two quiet cores
    python benchmarks/bench_outward.py --short      one round, small; writes nothing
    python benchmarks/bench_outward.py --only adapters
    python benchmarks/bench_outward.py --only learners --missing    those that failed, again
    python benchmarks/bench_outward.py --cleanrl ../cleanrl     what CleanRL's ppo.py scores, alone

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
import tempfile
import time
from datetime import date
from pathlib import Path

import bench_bridges
from bench import ROOT, machine, write_figures
from bench_bridges import OURS, Pythons, train_ours

sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))
import cleanrl
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
BOTH = [("to_vector, same_step", OURS, "to_vector", 0), ("to_sb3", OURS, "to_sb3", 0),
            ("to_vector, same_step, 1,024 copies", OURS, "to_vector", 32),
            ("to_sb3, 1,024 copies", OURS, "to_sb3", 32),
            ("Vector, 1 worker", OURS, "Vector", 1), ("Vector, 2 workers", OURS, "Vector", 2),
            *((label, OURS if venv == "sb3" else venv, kind, workers)
              for label, venv, kind, workers in bench_bridges.PEERS if "PufferLib" not in label)]
# as our default network and optimizer have them, with the batch of the other learners
NATIVE = {"vec.total_agents": 64, "train.horizon": 32, "train.minibatch_size": 512}
RACES = ("breakout", "cartpole")
WORKLOADS = ("adapters", *RACES, "learners")


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


def learned(python, program: str, words: list) -> tuple[float, float] | None:
    """(score, steps a second of training), as a program says last; None where it fails."""
    done = subprocess.run([python, PROGRAMS / program, *map(str, words)], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT),
                                          "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"})
    said = re.findall(r"^(\d+) steps/s\nscore (-?[\d.]+) after", done.stdout, re.M)
    return (float(said[-1][1]), float(said[-1][0])) if said else None


def trained(settings: dict) -> tuple[float, float] | None:
    found = train_ours(settings, "cartpole")
    return None if found.get("return") is None else (found["return"], found["rate"])


def learners(steps: int, seeds, before: dict, save) -> dict:
    """{learner: {"on", "steps", "scores", "rates"}}: after the same number of steps, by seed.

    before      what is kept of an earlier run: scores that are there are not measured again
    save        called with what there is, after each seed
    """
    more, world, zoo = round(steps * MORE), 2 * steps, "snake, 64 agents"
    native = {"train.total_timesteps": steps, **NATIVE}
    ppo = ["--steps", steps]
    runs = {
        "our trainer": ("cartpole", steps, lambda seed: trained({**native, "train.seed": seed})),
        "SB3 PPO over to_sb3": ("cartpole", steps, lambda seed: learned(
            sys.executable, "sb3_ppo.py", ["cartpole", steps, seed])),
        f"SB3 PPO over to_sb3, {MORE:g} x the steps": ("cartpole", more, lambda seed: learned(
            sys.executable, "sb3_ppo.py", ["cartpole", more, seed])),
        "ppo.py, in CleanRL's style, over to_vector": ("cartpole", steps, lambda seed: learned(
            sys.executable, "ppo.py", [*ppo, "--seed", seed])),
        "TorchRL PPO over to_vector": ("cartpole", steps, lambda seed: learned(
            sys.executable, "torchrl_ppo.py", ["cartpole", steps, seed])),
        "RLlib PPO over to_gymnasium": ("cartpole", steps, lambda seed: learned(
            venvs.python_of("rllib", editable=ROOT), "rllib_ppo.py",
            ["cartpole", steps, seed])),
        "SB3 PPO over to_sb3, played through to_parallel": (zoo, world, lambda seed: learned(
            sys.executable, "pettingzoo_sb3.py", [world, f"--seed={seed}"])),
        "SB3 PPO over to_parallel and SuperSuit": (zoo, world, lambda seed: learned(
            venvs.python_of("supersuit", editable=ROOT), "pettingzoo_sb3.py",
            [world, "--supersuit", f"--seed={seed}"]))}
    found: dict = {}
    for label, (on, count, _) in runs.items():
        kept = before.get(label, {})
        found[label] = {"on": on, "steps": count, **{
            name: [*kept.get(name, []), *[None] * len(seeds)][:len(seeds)]
            for name in ("scores", "rates")}}
    for at, seed in enumerate(seeds):
        for label, (_, _, work) in runs.items():
            row = found[label]
            if None not in (row["scores"][at], row["rates"][at]):
                continue
            try:
                made = work(seed)
            except Missing as error:
                made, row["missing"] = None, str(error)
            row["scores"][at], row["rates"][at] = made or (None, None)
            print(f"learners, seed {seed}: {label}: {made}", file=sys.stderr, flush=True)
        for row in found.values():
            good = [each for each in row["scores"] if each is not None]
            row["median"] = statistics.median(good) if good else None
        save(found)
    return found


def cleanrl_scores(checkout: Path) -> dict:
    """{"source", "date", "scores"}: CleanRL's ppo.py with the two lines of cleanrl.diff."""
    found: dict = {"source": cleanrl.described(checkout), "date": date.today().isoformat(),
                   "scores": {}}
    for env_id, run in cleanrl.RUNS.items():
        try:
            with tempfile.TemporaryDirectory() as folder:
                made = cleanrl.score(venvs.python_of(run.venv, editable=ROOT), checkout, env_id,
                                     Path(folder))
        except (Missing, RuntimeError) as error:
            print(f"CleanRL, {env_id}: {error}", file=sys.stderr, flush=True)
            made = None
        found["scores"][env_id] = made
        print(f"CleanRL, {env_id}: {made}", file=sys.stderr, flush=True)
    return found


def learner_versions() -> dict:
    """Of the learners' own packages, where they are installed."""
    found = {}
    found["torchrl"] = venvs.versions(sys.executable, bench_bridges.PACKAGES["torchrl"])
    for name, packages in (("rllib", ("ray", "gymnasium", "torch")),
                           ("supersuit", ("supersuit", "pettingzoo", "stable-baselines3"))):
        with contextlib.suppress(Missing):
            found[name] = venvs.versions(venvs.python_of(name, editable=ROOT), packages)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="one round, small; writes nothing")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="of these only")
    parser.add_argument("--missing", action="store_true", help="learners that failed before")
    parser.add_argument("--cleanrl", type=Path, metavar="FOLDER",
                        help="a checkout of CleanRL at the commit of cleanrl.diff: its scores too")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    pythons = Pythons(None)
    rounds, seconds = (1, 0.2) if given.short else (given.rounds, 1.0)
    made: dict = {}                     # by this run; what others wrote meanwhile stays

    def known() -> dict:
        return json.loads(FILE.read_text()) if FILE.is_file() and not given.short else {}

    bench_bridges.RACES |= dict.fromkeys(RACES, BOTH)
    def save(name: str, found: dict) -> None:
        """Each as it comes: a later one may fail."""
        made[name], before = found, known()
        versions = {**before.get("versions", {}), **pythons.versions(),
                    **(learner_versions() if name == "learners" else {})}
        made.update(machine=machine(), command="make bench", missing=pythons.missing,
                    versions=versions)
        if not given.short:
            write_figures("outward", {**before, **made})

    for workload in given.only or (() if given.cleanrl else WORKLOADS):
        if workload == "learners":
            learners(4096 if given.short else STEPS, SEEDS[:1] if given.short else SEEDS,
                     known().get("learners", {}) if given.missing else {},
                     lambda found: save("learners", found))
        elif workload == "adapters":
            save(workload, adapters(rounds, seconds))
        else:
            save(workload, bench_bridges.race(workload, pythons, rounds, seconds))
    if given.cleanrl:
        save("cleanrl", cleanrl_scores(given.cleanrl.resolve()))
    print(outward_page.table({**known(), **made}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
