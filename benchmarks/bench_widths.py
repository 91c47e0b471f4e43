"""How fast networks of every width train. Writes docs/data/widths.json.

    python benchmarks/bench_widths.py            everything, about ten minutes on two idle cores
    python benchmarks/bench_widths.py --quick    three widths, nothing written

One axis at a time around a network of 256 x 2 that sees 128 numbers and learns from minibatches of
8,192 rows. Beside each training run OpenBLAS (NumPy's) multiplies dense matrices of the same shapes
in a process of its own, with as many threads; they take turns. A ratio above 1 says that training
takes less time in these phases than OpenBLAS for their products alone.
"""
from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench import machine, write_figures

import puffer_sdk
from puffer_sdk.training.native import trainer_library
from puffer_sdk.training.native.native_ppo import NativePPO
from puffer_sdk.training.native.network_flops import UPDATED, Network

ROUNDS, SECONDS, BLAS_SECONDS = 3, 0.6, 0.1
MOST = 1.5              # OpenBLAS's time over ours, at the top of the picture
FORWARD = ("rollout: encoder", "rollout: layers", "rollout: decoder")
HEADER = """\
#define OBS_SIZE {size}
#define ACT_SIZES {{4}}

typedef struct Log {{
    float episode_return;
    float n;
}} Log;

typedef struct Rows {{
    Log log;
    {type}* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    unsigned int tick;
}} Rows;

void c_reset(Rows* env) {{
    for (int i = 0; i < OBS_SIZE; i++) env->observations[i] = ({type})(1 + i % 3);
    env->tick = 0;
}}

void c_step(Rows* env) {{
    env->rewards[0] = env->actions[0] == 1.0f;
    env->terminals[0] = 0.0f;
    env->observations[env->tick % OBS_SIZE] = ({type})(1 + env->tick % 5);
    env->tick++;
}}

void c_render(Rows* env) {{ (void)env; }}
void c_close(Rows* env) {{ (void)env; }}
"""


@dataclass(frozen=True)
class Size:
    """A network, what it sees, and what it runs on."""

    hidden: int = 256
    layers: int = 2
    row: int = 128
    minibatch: int = 8192
    threads: int = 1
    path: str = "auto"
    precision: str = "fp32"
    bytes: bool = False


AXES = {"hidden": (32, 64, 128, 256, 512, 1024), "layers": (1, 2, 4, 8),
        "row": (8, 32, 128, 512, 1707, 4096), "minibatch": (512, 2048, 4096, 8192, 32768, 65536)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three widths, write nothing")
    quick = parser.parse_args().quick
    rows = []
    with tempfile.TemporaryDirectory() as folder, Blas() as blas:
        few = [("hidden", Size(hidden=width)) for width in (64, 256, 512)]
        for axis, size in few if quick else sizes():
            print(axis, size, file=sys.stderr, flush=True)
            rows.append({"axis": axis, **asdict(size), **measure(size, Path(folder), blas)})
    figures = {"rows": rows, "machine": machine(), "command": "python benchmarks/bench_widths.py"}
    print(table(figures))
    if not quick:
        write_figures("widths", figures)
    return 0


def sizes() -> Iterator[tuple[str, Size]]:
    """(axis, size): each axis on the widest instruction set here, and two on the others; then two
    threads, bytes, bf16."""
    paths = [path for path in ("avx512", "avx2", "neon") if path in
             trainer_library.available_paths()] or ["generic"]
    for path, (axis, values) in itertools.product(paths, AXES.items()):
        yield from ((axis, replace(Size(path=path), **{axis: value})) for value in values
                    if path == paths[0] or axis in ("hidden", "minibatch"))
    for width in AXES["hidden"]:
        yield "two threads", Size(hidden=width, threads=2)
        if width <= 256:                # an epoch of wider ones takes a minute
            yield "generic", Size(hidden=width, path="generic")
    for row in AXES["row"]:
        yield "bytes", Size(row=row, bytes=True)
    for width in AXES["hidden"] if trainer_library.has_bf16() else ():
        yield "bf16", Size(hidden=width, precision="bf16")


# ---- OpenBLAS ---------------------------------------------------------------------------------

BLAS = """
import json, sys, time, numpy as np
for line in sys.stdin:
    asked = json.loads(line)
    m, n, k, seconds, best = *asked["shape"], asked["seconds"], 0.0
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    a = np.ones((k, m), np.float32).T if asked["transposed"] else a
    c, end = np.empty((m, n), np.float32), time.perf_counter() + seconds
    while best == 0.0 or time.perf_counter() < end:
        began = time.perf_counter()
        np.matmul(a, b, out=c)
        best = max(best, 2.0 * m * n * k / (time.perf_counter() - began))
    print(best, flush=True)
"""


class Blas:
    """Processes that multiply when asked to, one for each number of threads."""

    def __init__(self):
        self.started: dict[int, subprocess.Popen] = {}

    def __enter__(self) -> Blas:
        return self

    def __exit__(self, *about) -> None:
        for process in self.started.values():
            process.stdin.close()
            process.wait()

    def rate(self, threads: int, shape: tuple[int, int, int], transposed: bool = False) -> float:
        """FLOP/s of the fastest of several products (m, k) (k, n)."""
        if threads not in self.started:
            self.started[threads] = subprocess.Popen(
                [sys.executable, "-c", BLAS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True, env={"OPENBLAS_NUM_THREADS": str(threads)})
        process = self.started[threads]
        json.dump({"shape": shape, "seconds": BLAS_SECONDS, "transposed": transposed},
                  process.stdin)
        print(file=process.stdin, flush=True)
        return float(process.stdout.readline())


def products(size: Size) -> dict[str, list[tuple[tuple[int, int, int], bool]]]:
    """Phase -> shapes (m, n, k) of its products in one minibatch, and whether A is transposed."""
    rows, hidden, gates, outputs = size.minibatch, size.hidden, 3 * size.hidden, 5
    layers = [((rows, gates, hidden), False)] * size.layers
    muon = []
    for wide, tall in map(sorted, [(size.row, hidden), (outputs, hidden),
                                   *[(gates, hidden)] * size.layers]):
        muon += 5 * [((wide, wide, tall), True), ((wide, wide, wide), False),
                     ((tall, wide, wide), False)]
    encoder, decoder = ((rows, hidden, size.row), False), ((rows, outputs, hidden), False)
    return {"rollout: encoder": [encoder], "rollout: layers": layers, "rollout: decoder": [decoder],
            "update: encoder": [encoder], "update: layers": layers,
            "update: loss": [decoder, ((rows, hidden, outputs), False),
                             ((outputs, hidden, rows), True)],
            "update: gradients of activations": [((rows, hidden, gates), False)] * size.layers,
            "update: gradients of weights": [((gates, hidden, rows), True)] * size.layers,
            "update: encoder backward": [((size.row, hidden, rows), True)], UPDATED: muon}


# ---- training ---------------------------------------------------------------------------------

def measure(size: Size, folder: Path, blas: Blas) -> dict[str, float]:
    """Medians over rounds: GFLOP/s of the network and of Muon, and each of OpenBLAS's time."""
    vec, trainer = open_trainer(size, folder)
    network = Network.of(size.row, (4,), size.hidden, size.layers)
    done = network.by_phase(size.minibatch, size.minibatch, 1)
    shapes = products(size)
    found: dict[str, list[float]] = {}
    train(trainer)
    for _ in range(ROUNDS):
        trainer.stats()
        before, took = trainer.counters, train(trainer)
        spent, after = trainer.stats()["seconds"], trainer.counters
        updates = after["optimizer_steps"] - before["optimizer_steps"]
        ticks = (after["global_step"] - before["global_step"]) / size.minibatch
        times = {phase: spent[phase] / (ticks if phase in FORWARD else updates) / size.threads
                 for phase in shapes}
        rates = {each: blas.rate(size.threads, *each) for all_ in shapes.values() for each in all_}
        theirs = {phase: sum(2.0 * m * n * k / rates[(m, n, k), way] for (m, n, k), way in all_)
                  for phase, all_ in shapes.items()}
        both = {"network": [phase for phase in shapes if phase != UPDATED], "muon": [UPDATED]}
        for name, phases in both.items():
            ours, blas_time = (sum(each[phase] for phase in phases) for each in (times, theirs))
            found.setdefault(name, []).append(1e-9 * sum(done[p] for p in phases) / ours)
            found.setdefault(f"{name}_ratio", []).append(blas_time / ours)
        found.setdefault("blas", []).append(1e-9 * rates[shapes["update: layers"][0]])
        found.setdefault("muon_share", []).append(spent[UPDATED] / sum(spent.values()))
        found.setdefault("sps", []).append(
            (after["global_step"] - before["global_step"]) / took)
    trainer.close()
    vec.close()
    return {name: statistics.median(values) for name, values in found.items()}


def open_trainer(size: Size, folder: Path) -> tuple[puffer_sdk.VecEnv, NativePPO]:
    """As `train` would make them, on one instruction set."""
    env = folder / f"rows{size.row}{'b' * size.bytes}" / "rows"
    if not env.is_dir():
        env.mkdir(parents=True)
        kind = "unsigned char" if size.bytes else "float"
        (env / "rows.h").write_text(HEADER.format(size=size.row, type=kind))
    agents = max(64, min(512, size.minibatch // 64))
    settings = {"policy.hidden_size": size.hidden, "policy.num_layers": size.layers,
                "train.minibatch_size": size.minibatch, "train.horizon": min(64, size.minibatch),
                "train.replay_ratio": 1, "vec.total_agents": max(agents, size.minibatch // 64),
                "vec.num_threads": size.threads, "train.precision": size.precision,
                "train.total_timesteps": 10**10}
    resolved = puffer_sdk.configure(env, settings)
    vec = puffer_sdk.make(env, total_agents=resolved.vec.total_agents, seed=1,
                          threads=size.threads)
    return vec, NativePPO(vec, resolved, path=size.path)


def train(trainer: NativePPO) -> float:
    """Whole epochs until SECONDS have passed; returns how many did."""
    began = time.perf_counter()
    while True:
        trainer.rollout()
        trainer.update()
        if (took := time.perf_counter() - began) >= SECONDS:
            return took


# ---- tables -----------------------------------------------------------------------------------

def table(figures: dict) -> str:
    """Per axis: GFLOP/s of the network and of Muon, each in OpenBLAS's time, by instruction set."""
    rows, about = figures["rows"], figures["machine"]
    out = [picture(rows), ""]
    for axis, values in AXES.items():
        paths = list(dict.fromkeys(row["path"] for row in rows if row["axis"] == axis))
        out += [f"| {axis} | " + " | ".join(f"{path}: network | Muon" for path in paths) + " |",
                "|---" * (2 * len(paths) + 1) + "|"]
        for value in values:
            found = {row["path"]: cell(row) for row in rows
                     if (row["axis"], row[axis]) == (axis, value)}
            if found:
                out.append(f"| {value:,} | " + " | ".join(
                    found.get(path, "- | -") for path in paths) + " |")
        out.append("")
    for axis, what in ("two threads", "hidden"), ("generic", "hidden"), ("bytes", "row"), \
            ("bf16", "hidden"):
        some = [row for row in rows if row["axis"] == axis]
        if some:
            out += [f"| {axis}: {what} | network | Muon |", "|---|---|---|"]
            out += [f"| {row[what]:,} | {cell(row)} |" for row in some] + [""]
    out.append(f"(`benchmarks/bench_widths.py`, {about['cores']} cores of an {about['cpu']}, "
               f"{about['date']})")
    return "\n".join(out)


def picture(rows: list[dict]) -> str:
    """The network's and Muon's time of OpenBLAS over widths, as SVG: a line a path."""
    width, height, left, bottom, top = 440, 258, 44, 74, 12
    values = AXES["hidden"]

    def place(row: dict, what: str) -> str:
        x = left + (width - left - 20) * values.index(row["hidden"]) / (len(values) - 1)
        y = top + (height - top - bottom) * (1 - min(row[what], MOST) / MOST)
        return f"{x:.1f} {y:.1f}"
    out = [f'<svg class="curves" viewBox="0 0 {width} {height}" role="img" '
           'aria-label="OpenBLAS\'s time over ours, by hidden size">']
    for share in (0, 0.5, 1, MOST):
        y = top + (height - top - bottom) * (1 - share / MOST)
        out.append(f'<path class="grid" d="M{left} {y:.1f}H{width - 20}"/><text x="{left - 6}" '
                   f'y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for number, value in enumerate(values):
        x = left + (width - left - 20) * number / (len(values) - 1)
        out.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{value}'
                   '</text>')
    axis = [row for row in rows if row["axis"] == "hidden"]
    lines = [(path, what) for path in dict.fromkeys(row["path"] for row in axis)
             for what in ("network", "muon")]
    for number, (path, what) in enumerate(lines):
        points = "L".join(place(row, f"{what}_ratio") for row in axis if row["path"] == path)
        x, y = left + number % 2 * 170, height - 28 + number // 2 * 20      # a row a path
        out.append(f'<path class="c{number} line" d="M{points}"/><path class="c{number} line" '
                   f'd="M{x} {y}h24"/><text x="{x + 30}" y="{y + 4}">{path} '
                   f'{"Muon" if what == "muon" else what}</text>')
    return "\n".join((*out, "</svg>"))


def cell(row: dict) -> str:
    return (f"{row['network']:,.0f} GFLOP/s, {row['network_ratio']:.0%} | "
            f"{row['muon']:,.0f}, {row['muon_ratio']:.0%}")


if __name__ == "__main__":
    sys.exit(main())
