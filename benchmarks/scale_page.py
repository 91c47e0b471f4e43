"""The tables of docs/guides/scale.md: what bench_scale.py found.  scale.json -> markdown"""
from __future__ import annotations

from dataclasses import replace

from scale_model import GOOD, WORKERS, Fabric, Work

ETHERNET = Fabric("25 Gbit/s Ethernet, 30 µs", 0.0, 30e-6, 25e9 / 8)
INFINIBAND = Fabric("200 Gbit/s InfiniBand, 3 µs", 0.0, 3e-6, 200e9 / 8)
PLANNED = 32768         # the minibatch of the plan


def table(figures: dict) -> str:
    """All of them."""
    return "\n\n".join((measured(figures), exchanged(figures), checked(figures), planned(figures)))


def measured(figures: dict) -> str:
    lines = [f"Measured on breakout, 2,048 agents, horizon 64 ({figures['machine']['cpu']}; "
             "two processes have one thread each; the share is of the rate of one process with two "
             "threads):", "",
             "| network | minibatch | two threads, steps/s | two processes | of it in exchange "
             "| through 1 Gbit/s and 1 ms | of it in exchange |", "|---|--:|--:|--:|--:|--:|--:|"]
    for row in figures["rows"]:
        rates, exchange = row["rates"], row["exchange"]
        cells = [cell for way in ("processes", "machines")
                 for cell in (f"{rates[way] / rates['threads']:.0%}", f"{exchange[way]:.1%}")]
        lines.append(f"| {row['hidden']}x{row['layers']} | {row['minibatch']:,} "
                     f"| {rates['threads'] / 1e6:.2f} M | {' | '.join(cells)} |")
    return "\n".join(lines)


def exchanged(figures: dict) -> str:
    found = {(name, row["workers"], row["bytes"]): row["seconds"]
             for name, rows in figures["sums"].items() for row in rows}
    ways = list(dict.fromkeys((name, workers) for name, workers, _ in found))
    lines = ["What all processes add up in every minibatch, and the milliseconds that it takes two "
             "or more of them:", "",
             "| network | bytes | " + " | ".join(f"{count}, {name}" for name, count in ways) + " |",
             "|---|--:|" + "--:|" * len(ways)]
    for network, size in figures["gradients"].items():
        lines.append(f"| {network} | {size:,} | " + " | ".join(
            f"{found[name, count, size] * 1e3:.1f}" for name, count in ways) + " |")
    return "\n".join(lines)


def checked(figures: dict) -> str:
    lines = ["From these a model is fitted: a sum takes as long as a call, the latency of each hop "
             "(two processes and short sums go around the ring of processes once, others twice), "
             "and its bytes at the link's rate; a minibatch takes its part of the steps, and Muon, "
             "which every process does in full. How far it is off where it was not fitted:", "",
             "| | points | median | worst |", "|---|--:|--:|--:|"]
    for name, check in figures["model"]["checks"].items():
        lines.append(f"| {name} | {check['points']} | {check['median']:.0%} "
                     f"| {check['worst']:.0%} |")
    return "\n".join(lines)


def planned(figures: dict) -> str:
    """Of many workers, that nobody here has."""
    call = figures["model"]["fabrics"][0]["call"]
    lines = [f"And what it says of more workers than there were, each one core as above, at "
             f"minibatch {PLANNED:,}: how many times one worker's rate, up to how many workers "
             "each doubling makes the run at least 1.5 times as fast, and the minibatch at which "
             f"so many workers keep {GOOD:.0%} of their rates. **Predicted, not measured.**", "",
             "| network | joined by | " + " | ".join(str(count) for count in WORKERS)
             + " | pays up to | " + " | ".join(f"{GOOD:.0%} at {count}" for count in WORKERS)
             + " |", "|---|---|" + "--:|" * (1 + 2 * len(WORKERS))]
    for network, cost in figures["model"]["costs"].items():
        work = Work(**{**cost, "sums": {int(size): count for size, count in cost["sums"].items()}})
        for fabric in (replace(ETHERNET, call=call), replace(INFINIBAND, call=call)):
            speed = [f"{work.speedup(PLANNED, count, fabric):.1f}" for count in WORKERS]
            sizes = [size_of(work.minibatch_for(count, fabric)) for count in WORKERS]
            lines.append(f"| {network} | {fabric.name} | {' | '.join(speed)} "
                         f"| {work.pays_up_to(PLANNED, fabric)} | {' | '.join(sizes)} |")
    return "\n".join(lines)


def size_of(steps: float) -> str:
    """'31 K', '2.4 M': agent steps."""
    if steps < 1e6:
        return f"{steps / 1e3:.0f} K"
    return f"{steps / 1e6:.{1 if steps < 1e7 else 0}f} M"
