"""What bench_sweep.py found, in docs/data/sweep.json and as tables.  results -> ratios, Markdown"""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

DOCS = Path(__file__).resolve().parent.parent / "docs"
FILE = DOCS / "data" / "sweep.json"
TITLES = {"tables": "Five tables", "unseen": "Seven unseen tables",
          "parallel": "Five tables, eight workers, failures",
          "slow": "Five tables, with GPSampler", "protein": "Five tables, with Protein",
          "noisy": "Functions with noise", "environments": "Three environments"}
FIELDS = ("quarter", "whole", "score", "seconds")


def ratio(found: dict, field: str, rounds: int = 2000) -> dict:
    """The mean over tables of our regret over the best single peer's, with a paired bootstrap."""
    tables = list(found["ours"])
    peers = [label for label in found if label != "ours"]
    values = {label: np.array([[each[field] for each in found[label][name]] for name in tables])
              for label in found}
    rng = np.random.default_rng(0)

    def one(pick) -> tuple[float, str]:
        means = {label: values[label][:, pick].mean(1) for label in values}
        best = min(peers, key=lambda label: means[label].mean())
        return float(np.mean(means["ours"] / means[best])), best
    seeds = values["ours"].shape[1]
    drawn = [one(rng.integers(seeds, size=seeds))[0] for _ in range(rounds)]
    mean, best = one(np.arange(seeds))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"ratio": round(mean, 3), "low": round(float(low), 3), "high": round(float(high), 3),
            "peer": best}


def summary(found: dict) -> dict:
    """What the file holds: means by sampler and task, and our ratios."""
    return {
        "regret": {label: {name: {field: round(float(np.mean([each[field] for each in rows])), 4)
                                  for field in FIELDS}
                           for name, rows in each.items()} for label, each in found.items()},
        "quarter": ratio(found, "quarter"), "whole": ratio(found, "whole")}


def page(parts: dict) -> str:
    """The tables of docs/why/sweeps.md: the ratios first, then the regrets part by part."""
    lines = [ratios(parts)]
    for part in (part for part in TITLES if part in parts):
        made = parts[part]
        lines += ["", f"### {TITLES[part]}", "", rows(made), "", losses(made)]
        if "versions" in made:
            lines[-1] += " (" + ", ".join(
                [f"{name} {version}" for name, version in made["versions"].items()]
                + [made["date"]]) + ")"
    return "\n".join(lines)


def ratios(parts: dict) -> str:
    """A row a part: our regret over that of the best peer, with its 95 % interval."""
    lines = ["| | seeds | budget | best peer | ratio | at a quarter |", "|---" * 6 + "|"]
    for part in (part for part in TITLES if part in parts):
        made = parts[part]
        each = [f"{found['ratio']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
                for found in (made["whole"], made["quarter"])]
        lines.append(f"| {TITLES[part]} | {made['seeds']} | {made.get('budget', 40):g} | "
                     f"{made['whole']['peer']} | {each[0]} | {each[1]} |")
    return "\n".join(lines)


def rows(made: dict) -> str:
    """Regrets after the whole budget; the least of each row in bold."""
    labels = list(made["regret"])
    lines = ["| | " + " | ".join(labels) + " |", "|---" * (len(labels) + 1) + "|"]
    for name in made["regret"]["ours"]:
        texts = [f"{made['regret'][label][name]['whole']:.3f}" for label in labels]
        lines.append(f"| {name.partition('/')[2]} | " + " | ".join(
            f"**{text}**" if text == min(texts) else text for text in texts) + " |")
    lines.append("| CPU ms a suggestion | " + " | ".join(
        f"{1000 * np.mean([each['seconds'] for each in made['regret'][label].values()]):.1f}"
        for label in labels) + " |")
    return "\n".join(lines)


def losses(made: dict) -> str:
    """Where a peer has a lower regret than ours."""
    found = []
    for field, when in (("whole", "at the end"), ("quarter", "at a quarter")):
        behind = []
        for name in made["regret"]["ours"]:
            values = {label: each[name][field] for label, each in made["regret"].items()}
            ahead = [label for label in values if values[label] < values["ours"]]
            if ahead:
                behind.append(f"{name.partition('/')[2]} ({', '.join(ahead)})")
        found.append(f"{when}, " + (", ".join(behind) if behind else "nowhere"))
    return "Ours loses: " + "; ".join(found) + "."


def write(parts: dict) -> None:
    """The file; `make docs-tables` writes the tables of the page."""
    FILE.write_text(json.dumps(parts, indent=1) + "\n")
