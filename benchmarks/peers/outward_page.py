"""docs/data/outward.json -> the tables of docs/why/outward.md."""
from __future__ import annotations

import bridges_page
import cleanrl
from bridges_page import number

OWN = "VecEnv"


def table(figures: dict) -> str:
    """Everything that the script measured, as Markdown."""
    made = [write(figures) for write in (reached, adapters, breakout, cartpole, learners,
                                       cleanrl_scores, bridges_page.about)]
    return "\n\n".join(each for each in made if each)


def reached(figures: dict) -> str:
    """One line a goal: the goal, what was measured, whether it is reached."""
    return "\n".join(["### What is reached", "", "| goal | measured | reached |", "|---|---|---|",
                      *goals(figures)])


def line(goal: str, measured: str, fine: bool) -> str:
    return f"| {goal} | {measured} | {'yes' if fine else '**no**'} |"


def goals(figures: dict):
    for count, rows in figures.get("adapters", {}).items():
        for name in (name for name in rows if name != OWN):
            share = rows[OWN]["cpu_us"] / rows[name]["cpu_us"]
            yield line(f"breakout, {int(count):,} copies, {name}: 80 % of VecEnv's own rate",
                       f"{share:.0%} of its steps per CPU second", share >= 0.8)
    for workload in ("breakout", "cartpole"):
        yield from raced(workload, figures.get(workload, {}))
    learned = figures.get("learners", {})
    trainer = learned.get("our trainer", {}).get("median")
    for name, row in learned.items():
        if " x the steps" in name and row["median"] is not None and trainer is not None:
            yield line(f"{name}: the score of our trainer",
                       f"{row['median']:.1f}; our trainer {trainer:.1f}", row["median"] >= trainer)


def raced(workload: str, rows: dict):
    """Our copies in C beside what steps the same game in Python."""
    rows = {name: row for name, row in rows.items() if "failed" not in row}
    ours = {name for name in rows if name.startswith(("to_", "Vector"))}
    peers = {name: row["cpu_us"] for name, row in rows.items() if name not in ours}
    if not peers:
        return
    best = min(peers, key=peers.get)
    for name in sorted(ours):
        if name.startswith("Vector"):           # the environment is in Python here as well
            continue
        times = peers[best] / rows[name]["cpu_us"]
        yield line(f"{workload}, {name}: 5 x the best learner's own vectoriser over Python",
                   f"{number(times)} x per CPU second: {best}", times >= 5)


def adapters(figures: dict) -> str:
    sizes = figures.get("adapters", {})
    if not sizes:
        return ""
    names = next(iter(sizes.values()))
    heads = " | ".join(f"{int(count):,} copies" for count in sizes)
    return "\n".join([
        "### Breakout in C: CPU µs of a step · steps a second", "", f"| | {heads} |",
        f"|---|{'---|' * len(sizes)}",
        *(f"| {name} | " + " | ".join(
            f"{number(rows[name]['cpu_us'])} · {number(rows[name]['rate'])}"
            for rows in sizes.values()) + " |" for name in names)])


def breakout(figures: dict) -> str:
    return race("Breakout", figures.get("breakout", {}))


def cartpole(figures: dict) -> str:
    return race("CartPole", figures.get("cartpole", {}))


def race(name: str, rows: dict) -> str:
    return rows and "\n".join([
        f"### {name}, 32 copies where no number is named: CPU µs of a step · steps a second", "",
        "| | |", "|---|---|",
        *(f"| {name} | {bridges_page.cell(row)} |"
          for name, row in rows.items())])


def learners(figures: dict) -> str:
    rows = figures.get("learners", {})
    return rows and "\n".join([
        "### Learners, on copies in C: the mean return of the last episodes", "",
        "| | on | steps | steps a second, the best | median | each seed |",
        "|---|---|---|---|---|---|",
        *(f"| {name} | {row.get('on', 'cartpole')} | {row['steps']} | {best_rate(row)} | "
          f"{shown(row['median'])} | {', '.join(map(shown, row['scores']))} |"
          for name, row in rows.items())])


def cleanrl_scores(figures: dict) -> str:
    found = figures.get("cleanrl", {})
    return found and "\n".join([
        f"### CleanRL's ppo.py with the two lines of cleanrl.diff ({found['source']}; run on "
        f"{found['date']})", "", "| | steps | the last 100 episodes | a random policy |",
        "|---|---|---|---|",
        *(f"| {cleanrl.TITLES[env_id]} | {cleanrl.RUNS[env_id].steps} | "
          f"{'failed' if score is None else f'{score:.3g}'} | {cleanrl.RUNS[env_id].random:g} |"
          for env_id, score in found["scores"].items())])


def best_rate(row: dict) -> str:
    rates = [each for each in row.get("rates", []) if each is not None]
    return number(max(rates)) if rates else ""


def shown(score: float | None) -> str:
    if score is None:
        return "failed"
    return f"{score:.1f}" if abs(score) >= 10 else f"{score:.2f}"
