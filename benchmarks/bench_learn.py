"""What the defaults learn, beside SB3 and CleanRL: docs/why/learning.md, docs/data/learning.json.

    PYTHON benchmarks/bench_learn.py                    our runs that are missing
    PYTHON benchmarks/bench_learn.py --who sb3 --who zoo --who cleanrl --cleanrl FOLDER
    PYTHON benchmarks/bench_learn.py --half search --only Pendulum --seeds 2
    PYTHON benchmarks/bench_learn.py --again            measure ours once more
    PYTHON benchmarks/bench_learn.py --half search --try label --train.learning-rate=0.01

PYTHON is one where benchmarks/peers/learning.txt and puffer-sdk are installed. Each run is a
process, and is kept in docs/data/learning.json as soon as it is over: Ctrl-C loses one run. Peers'
runs are made once; a pass costs ours only. --try keeps its runs in build/learning/LABEL.json, and
refuses tasks that are held out.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from bench import ROOT, machine

HERE = ROOT / "benchmarks" / "learning"
sys.path.insert(0, str(HERE))
FILE = ROOT / "docs" / "data" / "learning.json"
SEEDS = (1, 2, 3, 4, 5)
OURS, SB3, ZOO, CLEANRL, RANDOM = "ours", "sb3", "zoo", "cleanrl", "random"
NAMES = {OURS: "ours, defaults", SB3: "SB3's PPO, defaults", ZOO: "SB3's PPO, RL Zoo's settings",
         CLEANRL: "CleanRL's PPO"}
SAMPLES = 10_000        # of the bootstrap
LIMIT = 7200            # seconds of one run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--who", action="append", choices=[OURS, SB3, ZOO, CLEANRL])
    parser.add_argument("--cleanrl", type=Path, help="the folder of its ppo.py")
    parser.add_argument("--half", choices=["search", "held-out"])
    parser.add_argument("--only", default="", help="a part of a task's name")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="the first so many")
    parser.add_argument("--again", action="store_true", help="runs of ours that are there, too")
    parser.add_argument("--try", dest="label", default="", help="a label for settings to try")
    given, settings = parser.parse_known_args()
    from learn_tasks import TASKS

    if settings and (not given.label or given.half != "search"):
        parser.error("settings are tried with --try LABEL --half search: the other tasks judge")
    chosen = [task for task in TASKS.values() if given.only in task.name
              and (not given.half or task.held_out == (given.half == "held-out"))]
    file = ROOT / "build" / "learning" / f"{given.label}.json" if given.label else FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    figures = json.loads(file.read_text()) if file.is_file() else {"runs": {}}
    figures |= {"machine": machine(), "versions": versions(figures)}
    for seed in SEEDS[:given.seeds]:
        for task in chosen:
            rows = figures["runs"].setdefault(task.name, {})
            figures.setdefault("tasks", {})[task.name] = {
                "steps": task.steps, "best": task.best, "held_out": task.held_out}
            if RANDOM not in rows:
                rows[RANDOM] = run("learn_ours.py", task.name, SEEDS[0], "--random")["random"]
            for who in given.who or [OURS]:
                mine = rows.setdefault(who, {})
                if not can(who, task) or (str(seed) in mine
                                          and not (given.again and who == OURS)):
                    continue
                script, *first = {OURS: ["learn_ours.py"], SB3: ["learn_sb3.py", "defaults"],
                                  ZOO: ["learn_sb3.py", "zoo"],
                                  CLEANRL: ["learn_cleanrl.py", str(given.cleanrl)]}[who]
                row = run(script, *first, task.name, seed, *settings)
                mine[str(seed)] = row
                print(f"{task.name} {who} {seed}: {json.dumps(row)}", flush=True)
                file.write_text(json.dumps(figures, indent=1) + "\n")
    print(table(figures))
    return 0


def can(who: str, task) -> bool:
    """Whether they can play it. Peers of agents that share a world, and of C, are no part."""
    from learn_sb3_settings import ZOO as tuned

    if who == OURS:
        return True
    return not task.in_c and task.name != "simple_spread_v3" and (
        who != ZOO or task.name in tuned)


def versions(figures: dict) -> dict[str, str]:
    found = dict(figures.get("versions", {}))
    for name in ("gymnasium", "stable-baselines3", "torch", "mujoco", "minigrid", "popgym"):
        found[name] = version(name)
    return found


def run(script: str, *words: object) -> dict:
    """What a run's last line says. A run that fails ends the benchmark."""
    done = subprocess.run([sys.executable, HERE / script, *map(str, words)], cwd=HERE,
                          capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(map(str, words))}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


# -- scores
def normalised(figures: dict, who: str, which: str, tasks: Iterable[str]) -> list[np.ndarray]:
    """One array a task: a score a seed, 0 for random play and 1 for the best known."""
    found = []
    for name in tasks:
        rows = figures["runs"].get(name, {})
        scores = [row[which] for row in rows.get(who, {}).values() if which in row]
        if scores:
            low = rows[RANDOM]
            found.append((np.array(scores) - low) / (figures["tasks"][name]["best"] - low))
    return found


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """The mean of the middle half, over the last axis; as rliable has it."""
    ordered, cut = np.sort(values, axis=-1), values.shape[-1] // 4
    return ordered[..., cut:values.shape[-1] - cut].mean(axis=-1)


def bootstrap(groups: Sequence[list[np.ndarray]],
              statistic: Callable[..., np.ndarray]) -> tuple[float, float, float]:
    """The statistic of all scores of each group, and its 95 % interval: seeds are drawn again
    within each task (stratified), percentiles of SAMPLES draws."""
    rng = np.random.default_rng(0)
    drawn = [np.concatenate([task[rng.integers(len(task), size=(SAMPLES, len(task)))]
                             for task in group], axis=1) for group in groups]
    point = statistic(*(np.concatenate(group) for group in groups))
    low, high = np.percentile(statistic(*drawn), [2.5, 97.5])
    return float(point), float(low), float(high)


def iqm(figures: dict, who: str, which: str, tasks: Sequence[str]) -> tuple | None:
    scores = normalised(figures, who, which, tasks)
    return bootstrap([scores], interquartile_mean) if scores else None


def difference(figures: dict, peer: str, which: str, tasks: Sequence[str]) -> tuple | None:
    """Ours less theirs, over the tasks that both have played."""
    both = [name for name in tasks if all(figures["runs"].get(name, {}).get(who)
                                          for who in (OURS, peer))]
    if not both:
        return None
    return bootstrap([normalised(figures, who, which, both) for who in (OURS, peer)],
                     lambda ours, theirs: interquartile_mean(ours) - interquartile_mean(theirs))


# -- the page
def table(figures: dict) -> str:
    """All that was measured, as Markdown: the halves, then each task."""
    tasks = figures["tasks"]
    played = [name for name in tasks if figures["runs"].get(name, {}).get(OURS)]
    lines = ["| half | who | tasks | seeds | best | last | ours less theirs, last |",
             "|---" * 7 + "|"]
    for half, held in (("held out", True), ("search", False)):
        names = [name for name in played if tasks[name]["held_out"] == held]
        for who, label in NAMES.items():
            seeds = [len(each) for each in normalised(figures, who, "last", names)]
            if seeds:
                lines.append(" | ".join([
                    f"| {half}", label, str(len(seeds)), _span(seeds),
                    _interval(iqm(figures, who, "best", names)),
                    _interval(iqm(figures, who, "last", names)),
                    _interval(None if who == OURS else difference(figures, who, "last", names))])
                    + " |")
    shown = {who: label for who, label in NAMES.items()
             if any(figures["runs"][name].get(who) for name in played)}
    lines += ["", "| task | steps | random | best known | " + " | ".join(shown.values()) + " |",
              "|---" * (4 + len(shown)) + "|"]
    for name in played:
        rows, task = figures["runs"][name], tasks[name]
        cells = [name + (", held out" if task["held_out"] else ""), f"{task['steps']:,}",
                 _number(rows[RANDOM]), _number(task["best"]),
                 *(_cell(rows.get(who, {})) for who in shown)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _span(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _interval(found: tuple | None) -> str:
    return "-" if found is None else f"{found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f})"


def _cell(runs: dict) -> str:
    """Means over seeds: best, last, CPU seconds."""
    if not runs:
        return "-"
    rows = list(runs.values())
    best = [row["best"] for row in rows if "best" in row]
    return (f"{_number(statistics.mean(best))}, " if best else "") + \
        f"{_number(statistics.mean(row['last'] for row in rows))}; " \
        f"{statistics.mean(row['cpu'] for row in rows):.0f}\N{NO-BREAK SPACE}s"


def _number(value: float) -> str:
    """Four digits, and no more than three behind the point."""
    return f"{round(value, 3) + 0.0:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
