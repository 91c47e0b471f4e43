"""PufferLib 4.0's environments and trainer on a CPU beside ours: how fast, and what is solved.

    python benchmarks/bench_upstream_speed.py TREE THEIRS
    python benchmarks/bench_upstream_speed.py TREE THEIRS --only pong --rounds 1    writes nothing

TREE and THEIRS are those of bench_upstream.py, which says what is built and how. Both sides have
the environment, ini, network, agents, horizon and minibatch of TREE, and one thread; rates are
agent steps per CPU second, of whole epochs after the first. Rounds are pairs, and medians are
shown. A pair of training runs in which either had less than LEAST of a core is thrown away and
counted. Goals are those of fresh episodes of the weights, with all cores; theirs train as long,
with their own ini. Writes docs/data/upstream.json.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from bench import machine, write_figures
from bench_upstream import prepare, run, theirs_built

import puffer_sdk
from puffer_sdk.env import build, open_env
from puffer_sdk.raylib import headers
from puffer_sdk.scoring.intervals import clustered_mean
from puffer_sdk.toolchain import compilers

HERE = Path(__file__).resolve().parent
STEPPED = ("breakout", "squared", "pong", "cartpole", "tetris", "g2048", "nmmo3")
TRAINED = ("pong", "cartpole", "breakout", "squared", "tetris", "g2048", "nmmo3")
AGENTS, TICKS, STEP_ROUNDS, ROUNDS, SECONDS, LEAST = 1024, 40, 41, 3, 4.0, 0.9
TRIES = 3               # of a pair, before its environment is left out
# goal, and what of PufferLib's ini is changed for two cores: fewer agents, smaller minibatches
GOALS: dict[str, tuple[str, dict[str, object]]] = {
    "breakout": ("score >= 800", {
        "vec.total_agents": 512, "train.minibatch_size": 8192, "train.learning_rate": 0.03,
        "policy.hidden_size": 32, "policy.num_layers": 1, "train.total_timesteps": 120_000_000}),
    "pong": ("score >= 20", {}),
    "cartpole": ("score >= 195", {"vec.total_agents": 1024, "train.minibatch_size": 16384})}
SEEDS, MINUTE = (1, 2, 3, 4, 5), 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("theirs", type=Path, help="a Python with torch")
    parser.add_argument("--only", action="append", help="these environments; nothing is written")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    tree = given.tree.resolve()
    figures = {"machine": machine(), "least": LEAST, "rounds": given.rounds,
               "goals": {name: goal(tree, given.theirs, name) for name in GOALS
                         if name in (given.only or GOALS)},
               "stepping": {name: stepping(tree, name) for name in given.only or STEPPED},
               "training": {name: training(tree, given.theirs, name, given.rounds)
                            for name in given.only or TRAINED}}
    print(table(figures))
    if not given.only:
        write_figures("upstream", figures)
    return 0


# ---- stepping ---------------------------------------------------------------------------------

def stepping(tree: Path, name: str) -> dict[str, float]:
    """CPU nanoseconds of an agent step in their loop and in ours, and the ratio."""
    print(f"stepping {name} ...", file=sys.stderr, flush=True)
    source, settings = tree / "ocean" / name, puffer_sdk.configure(tree / "ocean" / name).env
    built = open_env.build(source)
    with tempfile.TemporaryDirectory() as folder:
        program, library = Path(folder) / "step", Path(folder) / "theirs.so"
        run(["clang", "-O2", "-DNDEBUG", "-w", "-mavx2", "-mfma", "-I.", "-Isrc", f"-I{source}",
             "-Ivendor", f"-I{headers.headers()}", "-DPLATFORM_DESKTOP", "-fopenmp", "-fPIC",
             "-fno-semantic-interposition", "-shared", source / "binding.c", "-o", library, "-lm"],
            tree, dict(os.environ))
        null = headers.null_library()
        compilers.compile_to(program, [
            *compilers.find_compiler().command, *build.library_flags(built.spec), "-O2",
            str(HERE / "upstream_step.c"), "-Wl,--no-as-needed", str(null),
            f"-Wl,-rpath,{null.parent}", "-ldl"], source=HERE / "upstream_step.c",
            what="upstream_step.c")
        said = run([program, library, built.library, AGENTS, STEP_ROUNDS, TICKS,
                    *(f"{key}={value!r}" for key, value in settings.items()
                      if isinstance(value, (int, float)))], tree,
                   {**os.environ, "OMP_NUM_THREADS": "1"})      # theirs steps with all cores else
    pairs = [tuple(map(float, line.split())) for line in said.splitlines()[-STEP_ROUNDS:]]
    return {"theirs_ns": statistics.median(theirs for theirs, _ in pairs),
            "ours_ns": statistics.median(ours for _, ours in pairs),
            "ratio": statistics.median(theirs / ours for theirs, ours in pairs)}


# ---- training ---------------------------------------------------------------------------------

OURS = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from training_runs import open_trainer
vec, trainer = open_trainer(Path(sys.argv[2]), {"vec.num_threads": 1, "train.seed": int(
    sys.argv[3]), "train.total_timesteps": 10**9})
trainer.rollout(), trainer.update()
steps, cpu, wall = trainer.counters["global_step"], time.process_time(), time.perf_counter()
while time.process_time() - cpu < float(sys.argv[4]):
    trainer.rollout(), trainer.update()
print(json.dumps({"steps": trainer.counters["global_step"] - steps,
                  "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall,
                  "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


def training(tree: Path, python: Path, name: str, rounds: int) -> dict:
    """Steps per CPU second of pairs, the median ratio, and how many pairs were thrown away."""
    folder, pairs, thrown = prepare(tree, name), [], 0
    environment = theirs_built(python, folder, name)
    policy = puffer_sdk.configure(folder / "ocean" / name).policy
    while len(pairs) < rounds and thrown < TRIES * rounds:
        print(f"training {name} ...", file=sys.stderr, flush=True)
        seed = str(len(pairs) + 1)
        theirs = json.loads(run([python, HERE / "peers/upstream_speed.py", name, seed, SECONDS],
                                folder, environment).splitlines()[-1])
        ours = json.loads(run([sys.executable, "-c", OURS, HERE, folder / "ocean" / name, seed,
                               SECONDS], folder, dict(os.environ)).splitlines()[-1])
        if min(side["cpu"] / side["wall"] for side in (theirs, ours)) < LEAST:
            thrown += 1
        else:
            pairs.append((theirs, ours))
    rates = [[side["steps"] / side["cpu"] for side in pair] for pair in pairs]
    return {"hidden": policy.hidden_size, "layers": policy.num_layers, "thrown": thrown,
            "pairs": len(pairs)} | ({
                "theirs": statistics.median(theirs for theirs, _ in rates),
                "ours": statistics.median(ours for _, ours in rates),
                "ratio": statistics.median(ours / theirs for theirs, ours in rates),
                "theirs_bytes": max(theirs["bytes"] for theirs, _ in pairs),
                "ours_bytes": max(ours["bytes"] for _, ours in pairs)} if pairs else {})


# ---- goals ------------------------------------------------------------------------------------

def goal(tree: Path, python: Path, name: str) -> dict:
    """Seconds until fresh episodes of the weights met the goal, by seed; what training scored in
    the last tenth of a minute, or of a shorter run; and theirs after the median."""
    folder, (goal, settings) = prepare(tree, name), GOALS[name]
    steps, seconds, minute = [], [], []
    for seed in SEEDS:
        print(f"goal of {name}, seed {seed} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as runs:
            done = puffer_sdk.train(folder / "ocean" / name, {
                **settings, "eval.goal": goal, "train.stop_at_goal": True, "train.seed": seed,
                "vec.num_threads": machine()["cores"]}, runs_dir=Path(runs))
            rows = [json.loads(line) for file in Path(runs).rglob("metrics.jsonl")
                    for line in file.read_text().splitlines()]
        end = min(MINUTE, rows[-1]["seconds"])
        late = [row for row in rows if row.get("env/n") and 0.9 * end < row["seconds"] <= end]
        minute.append(sum(row["env/n"] * row["env/score"] for row in late)
                      / sum(row["env/n"] for row in late))
        if done.goal:
            steps.append(done.goal[0])
            seconds.append(done.goal[1])
    took = statistics.median(seconds) if seconds else MINUTE
    environment = theirs_built(python, folder, name) | {"OMP_NUM_THREADS": str(machine()["cores"])}
    theirs = json.loads(run([python, HERE / "peers/upstream_speed.py", name, "1", took, "wall"],
                            folder, environment).splitlines()[-1])
    return {"goal": goal, "seeds": len(SEEDS), "steps": steps, "seconds": seconds,
            "minute": minute, "theirs": theirs["score"], "theirs_seconds": theirs["wall"]}


# ---- tables -----------------------------------------------------------------------------------

def table(figures: dict) -> str:
    about, trained = figures["machine"], figures["training"]
    out = ["| training | network | PufferLib 4.0 | puffer-sdk | ratio | memory |", "|---" * 6 + "|"]
    for name, row in trained.items():
        out.append(f"| {name} | {row['hidden']} x {row['layers']} | " + (
            f"{count(row['theirs'])} | {count(row['ours'])} | {row['ratio']:.1f} | "
            f"{row['theirs_bytes'] / 1e9:.1f}, {row['ours_bytes'] / 1e9:.1f} GB |"
            if row["pairs"] else "- | - | no quiet pair | - |"))
    out += ["", "Agent steps per CPU second, one thread, medians of "
            f"{figures['rounds']} pairs; {sum(row['thrown'] for row in trained.values())} pairs "
            f"in which a side had less than {figures['least']:.0%} of a core were thrown away.",
            "", "| stepping | PufferLib 4.0 | puffer-sdk | theirs / ours |", "|---|---|---|---|"]
    out += [f"| {name} | {row['theirs_ns']:.0f} ns | {row['ours_ns']:.0f} ns | {row['ratio']:.2f} |"
            for name, row in figures["stepping"].items()]
    out += ["", f"CPU time of an agent step, random actions, {AGENTS} agents, one thread, "
            f"turn and turn about. ({about['cores']} cores of an {about['cpu']}, {about['date']})"]
    out += ["", "| goal | reached | seconds | score after a minute | PufferLib 4.0, as long |",
            "|---" * 5 + "|"]
    for name, row in figures["goals"].items():
        mean, half = clustered_mean(row["minute"], range(len(row["minute"])))
        span = f"{min(row['seconds']):.0f} to {max(row['seconds']):.0f}" if row["seconds"] else "-"
        out.append(f"| {name}, {row['goal']} | {len(row['seconds'])} of {row['seeds']} seeds | "
                   f"{span} | {mean:.4g} ± {half:.3g} | "
                   f"{row['theirs']:.4g} after {row['theirs_seconds']:.0f} s |")
    out += ["", "Reached: by fresh episodes of the weights, with all cores. The score after a "
            "minute is that of episodes that ended in training; of shorter runs, of the last ones."]
    return "\n".join(out)


def count(rate: float) -> str:
    return f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.3g} k"


if __name__ == "__main__":
    sys.exit(main())
