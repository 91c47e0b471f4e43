"""One run in several processes: docs/guides/scale.md and docs/data/scale.json.

    python benchmarks/bench_scale.py                a quarter of an hour on two quiet cores
    python benchmarks/bench_scale.py --short        one round, one network; writes nothing

Measured in turns, the best of each counts:

    threads     one process with two threads
    processes   two processes with one thread, over the loopback
    machines    the same in two network namespaces, 1 Gbit/s and 1 ms apart (machines.py)
    work        two processes with one thread that know nothing of each other: what a step costs
                where the other core works, too
    sums        of so many bytes, over two to four processes; on the loopback with a core each

The model (scale_model.py) is fitted to work and to half of the sums, and checked on all else. The
time in exchange is that of the rank that waits least: the one that the others wait for.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

import scale_page
from bench import ROOT, machine, write_figures
from machines import Machines
from scale_model import Work, errors, fit_fabric, fit_work

ENV = ROOT / "examples" / "breakout"
NETWORKS = ((32, 1), (128, 4), (256, 4))        # width, layers
MINIBATCHES, AGENTS, HORIZON = (8192, 32768), 2048, 64
BETWEEN = 16384                                 # a minibatch that the model is not fitted to
RATE, DELAY = 1e9, 1e-3         # bits per second, seconds
SIZES = (8, 4096, 65_536, 1_000_000, 8_000_000)         # bytes of a sum, beside the gradients'
HERE = "127.0.0.1"
PORT = 29437


# -- one rank ----------------------------------------------------------------------


def work(order: dict) -> dict:
    """What a process of its own does: {"sums": {bytes: seconds}} or times of training."""
    from puffer_sdk.distributed import cores, rank
    from puffer_sdk.distributed.group import join

    group = join(rank.find(), 60.0)
    cores.divide(group, order.get("threads", 1))
    done = time_sums(group, order["sums"]) if "sums" in order else time_training(group, order)
    group.close()
    return done


def time_sums(group, sizes: list[int]) -> dict:
    """The median of as many sums as take half a second, or of nine."""
    import numpy as np

    found = {}
    for size in sizes:
        array = np.zeros(size // 4, np.float32)
        group.sum(array)
        seconds, until = [], time.perf_counter() + 0.5
        while True:
            began = time.perf_counter()
            group.sum(array)
            seconds.append(time.perf_counter() - began)
            go_on = len(seconds) < 9 or time.perf_counter() < until
            if len(seconds) % 9 == 0 and not group.share({"go_on": go_on})[0]["go_on"]:
                break
        found[size] = statistics.median(seconds)
    return found


def time_training(group, order: dict) -> dict:
    """Seconds of rollouts, updates and exchange of all ranks, over whole epochs."""
    import puffer_sdk

    vec = puffer_sdk.make(ENV, total_agents=AGENTS // group.size, seed=group.rank,
                          threads=order["threads"])
    settings = {"train.horizon": HORIZON, "train.minibatch_size": order["minibatch"],
                "train.device": "cpu", "train.total_timesteps": 10**9, "train.replay_ratio": 1.0,
                "vec.num_threads": order["threads"],
                "policy.hidden_size": order["hidden"], "policy.num_layers": order["layers"]}
    sizes: dict[int, int] = {}
    add_up = group.sum

    def counted(array) -> None:
        sizes[array.nbytes] = sizes.get(array.nbytes, 0) + 1
        add_up(array)

    group.sum = counted
    with puffer_sdk.Trainer(vec, settings, group=group) as trainer:
        spent = {"rollout": 0.0, "update": 0.0}
        epochs, waited = 0, 0.0
        for epoch in range(-2, 1 << 30):            # two to warm up
            if epoch == 0:
                spent, epochs, waited = dict.fromkeys(spent, 0.0), 0, group.waited
                sizes.clear()
                start = time.perf_counter()
            for name in spent:
                began = time.perf_counter()
                getattr(trainer, name)()
                spent[name] += time.perf_counter() - began
            epochs += 1
            if epoch >= 0:
                took = time.perf_counter() - start
                mine = {**spent, "exchange": group.waited - waited, "took": took}
                counts = dict(sizes)
                if (ranks := group.share(mine))[0]["took"] >= order["seconds"] and epochs >= 2:
                    break
    vec.close()
    steps = AGENTS * HORIZON * epochs
    updates = steps // order["minibatch"]
    return {"rate": steps / max(rank["took"] for rank in ranks), "ranks": ranks,
            "play": ranks[0]["rollout"] / steps, "learn": ranks[0]["update"] / steps,
            "exchange": min(rank["exchange"] / rank["took"] for rank in ranks),
            "sums": {size: count / updates for size, count in counts.items()}}


# -- all ranks ---------------------------------------------------------------------


def launch(order: dict, count: int, machines: Machines | None = None) -> dict:
    """What rank 0 found; count processes that share a run."""
    words = [sys.executable, __file__, "--work", json.dumps(order)]
    started = []
    for rank in range(count):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(count),
               "MASTER_ADDR": machines.address(0) if machines else HERE, "MASTER_PORT": str(PORT),
               "LOCAL_RANK": str(0 if machines else rank),
               "LOCAL_WORLD_SIZE": str(1 if machines else count)}
        options = {"env": env, "stdout": subprocess.PIPE, "text": True}
        started.append(machines.start(rank, words, **options) if machines
                       else subprocess.Popen(words, **options))
    return answers(started)[0]


def apart(order: dict, count: int) -> list[dict]:
    """What each of count processes found that know nothing of each other."""
    return answers([subprocess.Popen([sys.executable, __file__, "--work", json.dumps(order)],
                                     stdout=subprocess.PIPE, text=True) for _ in range(count)])


def answers(started: list[subprocess.Popen]) -> list[dict]:
    said = [process.communicate(timeout=600)[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit("a process failed; its error stands above")
    return [json.loads(text.splitlines()[-1]) for text in said]


def sums(sizes: list[int], limited: bool, rounds: int) -> list[dict]:
    """Rows of fit_fabric: the quickest round of each. Without a core each, processes on the
    loopback would wait for cores; through the limited link they wait for it."""
    rows = []
    for count in (2, 3, 4) if limited else range(2, min(4, os.cpu_count()) + 1):
        with Machines(count, RATE, DELAY) if limited else contextlib.nullcontext() as machines:
            found = [launch({"sums": sizes}, count, machines) for _ in range(rounds)]
        rows += [{"bytes": size, "workers": count,
                  "seconds": min(each[str(size)] for each in found)} for size in sizes]
    return rows


def race(hidden: int, layers: int, minibatch: int, rounds: int, seconds: float) -> dict:
    """The best of threads, processes and machines."""
    order = {"hidden": hidden, "layers": layers, "minibatch": minibatch, "seconds": seconds}
    found: dict[str, list[dict]] = {"threads": [], "processes": [], "machines": []}
    for _ in range(rounds):
        found["threads"] += apart({**order, "threads": 2}, 1)
        found["processes"].append(launch({**order, "threads": 1}, 2))
        with Machines(2, RATE, DELAY) as machines:
            found["machines"].append(launch({**order, "threads": 1}, 2, machines))
    best = {way: max(rows, key=lambda row: row["rate"]) for way, rows in found.items()}
    return {"hidden": hidden, "layers": layers, "minibatch": minibatch,
            "rates": {way: row["rate"] for way, row in best.items()},
            "exchange": {way: min(row["exchange"] for row in rows)
                         for way, rows in found.items() if way != "threads"},
            "all_rates": {way: [row["rate"] for row in rows] for way, rows in found.items()},
            "sums": best["processes"]["sums"]}


def work_of(hidden: int, layers: int, minibatch: int, rounds: int, seconds: float) -> dict:
    """{"minibatch", "play", "learn"} of one of two processes apart: the quickest round."""
    order = {"hidden": hidden, "layers": layers, "minibatch": minibatch, "seconds": seconds,
             "threads": 1}
    rows = [row for _ in range(rounds) for row in apart(order, 2)]
    return {"minibatch": minibatch, **{name: min(row[name] for row in rows)
                                       for name in ("play", "learn")}}


# -- the model ---------------------------------------------------------------------


def model(rows: list[dict], works: dict, sum_rows: dict) -> dict:
    """Fitted, and how far it is off where it was not."""
    fitted = {name: [row for at, row in enumerate(found) if at % 2 == 0 and row["workers"] != 3]
              for name, found in sum_rows.items()}
    fabrics = {name: fit_fabric(name, found) for name, found in fitted.items()}
    checks: dict[str, dict] = {}
    for name, fabric in fabrics.items():
        left = [row for row in sum_rows[name] if row not in fitted[name]]
        checks[f"sums, {name}"] = errors(
            [fabric.sum_seconds(row["bytes"], row["workers"]) for row in left],
            [row["seconds"] for row in left])
    costs: dict[str, Work] = {}
    alone: tuple[list, list] = [], []
    for row in rows:
        name = f"{row['hidden']}x{row['layers']}"
        few, between, many = works[name]
        per_minibatch = {int(size): count for size, count in row["sums"].items()}
        costs[name] = cost = fit_work(few, many, per_minibatch)
        for way, fabric in zip(("processes", "machines"), fabrics.values()):
            row[f"predicted_{way}"] = cost.rate(row["minibatch"], 2, fabric)
        if row["minibatch"] == MINIBATCHES[0]:
            alone[0].append(1 / cost.rate(between["minibatch"]))
            alone[1].append(between["play"] + between["learn"])
    checks[f"one worker, minibatch {BETWEEN}"] = errors(*alone)
    for way in ("processes", "machines"):
        checks[f"two workers, {way}"] = errors([row[f"predicted_{way}"] for row in rows],
                                               [row["rates"][way] for row in rows])
    return {"fabrics": [fabric.to_dict() for fabric in fabrics.values()], "checks": checks,
            "costs": {name: {"play": cost.play, "learn": cost.learn, "update": cost.update,
                             "sums": cost.sums} for name, cost in costs.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="one round, one network")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        print(json.dumps(work(json.loads(given.work))), flush=True)
        return
    rounds, seconds = (1, 0.5) if given.short else (given.rounds, 4.0)
    networks = NETWORKS[1:2] if given.short else NETWORKS
    rows, works = [], {}
    for hidden, layers in networks:
        works[f"{hidden}x{layers}"] = [work_of(hidden, layers, minibatch, rounds, seconds)
                                       for minibatch in (MINIBATCHES[0], BETWEEN, MINIBATCHES[1])]
        for minibatch in MINIBATCHES:
            rows.append(race(hidden, layers, minibatch, rounds, seconds))
            print(rows[-1], flush=True)
    gradients = sorted({max(map(int, row["sums"])) for row in rows})
    sizes = sorted({*SIZES, *gradients})
    sum_rows = {"the loopback": sums(sizes, False, rounds),
                "1 Gbit/s, 1 ms": sums(sizes, True, rounds)}
    figures = {"machine": machine(), "rows": rows, "work": works, "sums": sum_rows,
               "gradients": dict(zip((f"{h}x{n}" for h, n in networks), gradients)),
               "model": model(rows, works, sum_rows)}
    text = scale_page.table(figures)
    print(text)
    if not given.short:
        write_figures("scale", figures)


if __name__ == "__main__":
    main()
