"""Vectorisers of Python environments beside each other: docs/why/bridges.md, data/bridges.json.

    python benchmarks/bench_bridges.py              half an hour on two quiet cores
    python benchmarks/bench_bridges.py --short      one round, small; writes nothing
    python benchmarks/bench_bridges.py --only cartpole --only names
    python benchmarks/bench_bridges.py --pufferlib FOLDER

Peers live in venvs of their own under build/peers, which this makes from the lists in
benchmarks/peers. One that cannot be installed is named with the reason, and no goal counts as
reached against it. PufferLib 3.0
often cannot: FOLDER is then PyPI's pufferlib-3.0.0.tar.gz, unpacked: its vectoriser is Python.

Contestants take turns, each in a process of its own (peers/race.py): the least CPU of the whole
process tree and the best rate of all rounds count. CPU can be trusted on a busy machine; rates are
those of the quietest moment.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import ROOT, machine, write_figures

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import bridges_page
import names
import venvs
from venvs import Missing

RACE, LEARN = (ROOT / "benchmarks" / "peers" / name for name in ("race.py", "learn.py"))
FILE = ROOT / "docs" / "data" / "bridges.json"
OURS, PUFFER = "ours", "pufferlib"
ENVS = 32
PACKAGES = {OURS: ("gymnasium", "numpy"), "sb3": ("stable-baselines3", "gymnasium", "torch"),
            "torchrl": ("torchrl", "gymnasium", "torch"), "envpool": ("envpool",),
            PUFFER: ("gymnasium", "numpy")}
# who runs: (label, venv, vectoriser of race.py, workers)
US = [("ours, in this process", OURS, "ours", 0), ("ours, 1 worker", OURS, "ours", 1),
      ("ours, 2 workers", OURS, "ours", 2)]
LOOP = ("a plain Python loop", OURS, "Python loop", 0)
PEERS = [("Gymnasium SyncVectorEnv", OURS, "Gymnasium Sync", 0),
         ("Gymnasium AsyncVectorEnv", OURS, "Gymnasium Async", ENVS),
         ("SB3 DummyVecEnv", "sb3", "SB3 Dummy", 0),
         ("SB3 SubprocVecEnv", "sb3", "SB3 Subproc", ENVS),
         ("PufferLib Serial", PUFFER, "PufferLib Serial", 0),
         ("PufferLib Multiprocessing, 2 workers", PUFFER, "PufferLib Multiprocessing", 2),
         ("TorchRL ParallelEnv", "torchrl", "TorchRL Parallel", ENVS)]
C = [("ours in C, examples/cartpole", OURS, "ours in C", 0),
     ("EnvPool, its own C++ copy, 2 threads", "envpool", "EnvPool (C++)", 2)]
ALL = [("ours in lockstep, 32 workers", OURS, "ours", ENVS),
       ("ours, send() and recv()", OURS, "ours, send and recv", ENVS),
       *(peer for peer in PEERS if peer[3] == ENVS),
       ("PufferLib Multiprocessing, 32 workers", PUFFER, "PufferLib Multiprocessing", ENVS)]
RACES = {"empty": [*US, *PEERS], "cartpole": [*US, LOOP, *PEERS, *C],
         "minigrid": [*US, LOOP, *PEERS], "structured": [*US[:1], *PEERS[::2]], "sleepers": ALL}
STEPS = 100_000         # of training CartPole: what SB3's authors train it for
WORKLOADS = (*RACES, "flatten", "training", "names")


class Pythons:
    """The interpreters, each found or made when it is first asked for."""

    def __init__(self, pufferlib: Path | None):
        self.pufferlib, self.missing, self.found = pufferlib, {}, {}

    def of(self, name: str, workload: str = "") -> Path:
        """Raises Missing."""
        if name == OURS and workload == "minigrid":
            name = "zoo"                # ours and Gymnasium's, where MiniGrid is installed
        if name == OURS:
            return Path(sys.executable)
        if name in self.missing:
            raise Missing(self.missing[name])
        if name not in self.found:
            try:
                self.found[name] = venvs.python_of(
                    name, leave_out=PUFFER if name == PUFFER and self.pufferlib else "",
                    editable=ROOT if name == "zoo" else None)
            except Missing as error:
                self.missing[name] = str(error)
                print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
                raise
        return self.found[name]

    def path_for(self, name: str) -> str:
        return str(self.pufferlib) if name == PUFFER and self.pufferlib else str(ROOT)

    def versions(self) -> dict:
        found = {name: venvs.versions(python, PACKAGES[name])
                 for name, python in [(OURS, Path(sys.executable)), *self.found.items()]
                 if name in PACKAGES}
        if PUFFER in found:
            found[PUFFER]["pufferlib"] = "3.0.0"
        return found


def in_its_own(python: Path, script: Path, words: tuple, path: str, limit: float = 120) -> dict:
    """What a script's last line says, or {"failed": why}."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [python, script, *map(str, words)], cwd=folder, capture_output=True, text=True,
                timeout=limit, env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"})
        except subprocess.TimeoutExpired:
            return {"failed": f"no answer within {limit:g} seconds"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"failed": venvs.last_error(done.stderr)}
    return json.loads(lines[-1])


def race(workload: str, pythons: Pythons, rounds: int, seconds: float) -> dict:
    """{label: {"cpu_us", "rate"}, or {"failed"}}: everybody once a round, in turns."""
    found: dict = {}
    for number in range(rounds):
        for label, venv, kind, workers in RACES[workload]:
            if "failed" in found.get(label, ()):
                continue
            try:
                row = in_its_own(pythons.of(venv, workload), RACE,
                                 (kind, workload, ENVS, workers, seconds), pythons.path_for(venv))
            except Missing as error:
                row = {"failed": str(error)}
            print(f"{workload}, round {number + 1}: {label}: {row}", file=sys.stderr, flush=True)
            before = found.get(label)
            found[label] = row if before is None or "failed" in row else {
                "cpu_us": min(before["cpu_us"], row["cpu_us"]),
                "rate": max(before["rate"], row["rate"])}
    return found


def flatten(pythons: Pythons, rounds: int, seconds: float) -> dict:
    """CPU of making one row of a structured observation."""
    found: dict = {}
    for _ in range(rounds):
        for venv in (OURS, PUFFER):
            try:
                rows = in_its_own(pythons.of(venv), RACE, ("-", "flatten", 1, 0, seconds),
                                  pythons.path_for(venv))
            except Missing:
                continue
            for label, row in rows.items():
                if label != "failed":
                    best = min(row["cpu_us"], found.get(label, row)["cpu_us"])
                    found[label] = {"cpu_us": best}
    return found


TRAIN = """
import json, puffer_sdk, sys
from puffer_sdk.training import checkpoint
name, settings = sys.argv[1], json.loads(sys.argv[2])
run = puffer_sdk.train(name, settings)
rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
weights = {name: tensor for name, tensor in checkpoint.load(run.checkpoint).tensors.items()
           if not name.startswith(("muon.", "adam."))}      # the optimiser's
print(json.dumps({"rate": run.steps / run.seconds, "steps": run.steps,
                  "return": next((row["env/episode_return"] for row in reversed(rows)
                                  if "env/episode_return" in row), None),
                  "parameters": sum(tensor.size for tensor in weights.values())}))
"""


def train_ours(settings: dict, name: str = "gymnasium:CartPole-v1") -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(TRAIN)
        script.flush()
        return in_its_own(Path(sys.executable), Path(script.name), (name, json.dumps(settings)),
                          str(ROOT), 300)


def training(pythons: Pythons, rounds: int, steps: int) -> dict:
    """CartPole in turns: ours, SB3 with our batch, SB3 with the settings made for CartPole."""
    found: dict = {}
    for seed in range(rounds):
        rows = {"ours, 2 workers": lambda seed=seed: train_ours(
                    {"train.total_timesteps": steps, "train.seed": seed, "vec.num_workers": 2}),
                "ours, free, 2 workers": lambda seed=seed: train_ours(
                    {"train.total_timesteps": steps, "train.seed": seed, "vec.num_workers": 2,
                     "vec.free_running": True, "vec.num_threads": 2})}
        for which in ("ours", "zoo"):
            label = {"ours": "SB3 PPO, our batch", "zoo": "SB3 PPO, its settings for CartPole"}
            rows[label[which]] = lambda which=which: in_its_own(
                pythons.of("sb3"), LEARN, (which, steps), "", 600)
        for label, work in rows.items():
            try:
                row = work()
            except Missing:
                continue
            print(f"training: {label}: {row}", file=sys.stderr, flush=True)
            found.setdefault(label, []).append(row)
    return {label: best_of(rows) for label, rows in found.items()}


def best_of(rows: list[dict]) -> dict:
    """The best rate, and the median return."""
    good = [row for row in rows if "failed" not in row]
    if not good:
        return rows[0]
    return {"rate": max(row["rate"] for row in good), "steps": good[0]["steps"],
            "parameters": good[0]["parameters"],
            "return": statistics.median(row["return"] for row in good)}


def free_sleepers(short: bool) -> dict:
    """Training on sleepers, each worker at its own pace within a rollout; and in lockstep."""
    name = f"{ROOT / 'benchmarks' / 'peers' / 'games.py'}:Sleeper"
    settings = {"train.total_timesteps": ENVS * 64 * (2 if short else 12), "train.horizon": 64,
                "train.minibatch_size": ENVS * 64, "vec.total_agents": ENVS,
                "vec.num_workers": ENVS, "vec.num_threads": ENVS, "policy.hidden_size": 16}
    return {"ours, training in lockstep": train_ours(settings, name),
            "ours, training in free mode": train_ours({**settings, "vec.free_running": True}, name)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="one round, small; writes nothing")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="of these only")
    parser.add_argument("--pufferlib", type=Path, metavar="FOLDER",
                        help="an unpacked PufferLib 3.0, where it cannot be installed")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    pythons = Pythons(given.pufferlib and given.pufferlib.resolve())
    rounds, seconds = (1, 0.4) if given.short else (given.rounds, 1.0)
    figures = {} if given.short or not FILE.is_file() else json.loads(FILE.read_text())
    for workload in given.only or WORKLOADS:
        if workload == "names":
            made = names.measure(pythons, given.short)
        elif workload == "flatten":
            made = flatten(pythons, rounds, seconds)
        elif workload == "training":
            made = training(pythons, rounds, 10_000 if given.short else STEPS)
        else:
            made = race(workload, pythons, rounds, seconds)
        if workload == "sleepers":
            made |= free_sleepers(given.short)
        figures[workload] = made
        figures |= {"machine": machine(), "command": "make bench",
                    "versions": {**figures.get("versions", {}), **pythons.versions()},
                    "missing": {name: why for name, why in
                                {**figures.get("missing", {}), **pythons.missing}.items()
                                if name not in pythons.found}}
        if not given.short:         # each as it comes: a later one may fail
            write_figures("bridges", figures)
    text = bridges_page.table(figures)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
