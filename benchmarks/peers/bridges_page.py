"""docs/data/bridges.json -> the tables of docs/why/bridges.md."""
from __future__ import annotations

COLUMNS = {"empty": "nothing", "cartpole": "CartPole", "minigrid": "MiniGrid 8x8",
           "structured": "3.7 KB in parts"}
C = ("EnvPool", "ours in C")                # no Python environment is stepped there
IN_PROCESS = ("Serial", "Sync", "Dummy", "in this process")
ASYNC = "Gymnasium AsyncVectorEnv"


def table(figures: dict) -> str:
    """Everything that the script measured, as Markdown."""
    made = [write(figures) for write in (reached, races, sleepers, rows_of_parts, training, tried,
                                       about)]
    return "\n\n".join(each for each in made if each)


# ---- numbers ------------------------------------------------------------------------------------

def number(value: float) -> str:
    """Three digits: 0.68, 12.3, 345, 6.1 k."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return number(value / size) + unit
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


def cell(row: dict | None) -> str:
    if row is None:
        return ""
    if "failed" in row:
        return "failed"
    return f"{number(row['cpu_us'])} · {number(row['rate'])}"


def good(rows: dict, field: str, ours: bool, inside: bool | None = None) -> dict[str, float]:
    """{label: its figure} of us or of the peers; inside: those without processes, or those with."""
    return {label: row[field] for label, row in rows.items()
            if field in row and not label.startswith(C) and label != "a plain Python loop"
            and label.startswith("ours") == ours
            and (inside is None or any(word in label for word in IN_PROCESS) == inside)}


# ---- what is reached ----------------------------------------------------------------------------

def reached(figures: dict) -> str:
    """One line a goal: the goal, what was measured, whether it is reached."""
    lines = [line for line in goals(figures) if line]
    if not lines:
        return ""
    return "\n".join(["### What is reached", "", "| goal | measured | reached |", "|---|---|---|",
                      *lines])


def goals(figures: dict):
    empty, cart = figures.get("empty", {}), figures.get("cartpole", {})
    for inside, what in ((True, "in one process"), (False, "with processes")):
        us, them = (good(empty, "cpu_us", ours, inside) for ours in (True, False))
        yield goal(f"nothing, {what}: half the CPU of the best peer", us, them, min, 0.5,
                   absent(empty, inside))
    us, them = (good(cart, "rate", ours) for ours in (True, False))
    us = {label: rate for label, rate in us.items() if "2 workers" in label}
    yield goal("CartPole, two workers: 1.2 x the best peer's rate", us, them, max, 1.2,
               absent(cart))
    yield goal("CartPole, two workers: 15 x AsyncVectorEnv's rate", us,
               {label: rate for label, rate in them.items() if label == ASYNC}, max, 15)
    grid = figures.get("minigrid", {})
    us = {label: rate for label, rate in good(grid, "rate", True).items() if "2 workers" in label}
    them = {label: row["rate"] for label, row in grid.items() if "loop" in label and "rate" in row}
    yield goal("MiniGrid, two workers: 1.7 x a plain loop's rate", us, them, max, 1.7)
    slow = figures.get("sleepers", {})
    us, them = (good(slow, "rate", ours) for ours in (True, False))
    yield goal("sleepers: 3 x the rate of every synchronous peer", us, them, max, 3, absent(slow))
    parts = {label: row["cpu_us"] for label, row in figures.get("flatten", {}).items()}
    yield goal("a row of 3.7 KB in parts, in bytes: a third of PufferLib's CPU",
               only(parts, "ours, in bytes"), only(parts, "PufferLib"), min, 1 / 3)
    rates = {label: row["rate"] for label, row in figures.get("training", {}).items()
             if "rate" in row}
    yield goal("training CartPole: 6 x the rate of SB3's PPO", only(rates, "ours"),
               only(rates, "SB3"), max, 6)


def only(values: dict, start: str) -> dict:
    return {label: value for label, value in values.items() if label.startswith(start)}


def absent(rows: dict, inside: bool | None = None) -> list[str]:
    """The peers in Python that could not be measured here; inside: as good() has it."""
    return [label for label, row in rows.items()
            if "failed" in row and not label.startswith(("ours", *C))
            and (inside is None or any(word in label for word in IN_PROCESS) == inside)]


def goal(text: str, us: dict, them: dict, best, wanted: float, absent: list[str] = ()) -> str:
    """best: min where less is better, else max. absent: peers without which nothing is reached"""
    if not us or not them:
        return f"| {text} | not measured: there is no peer here | - |" if us else ""
    mine, other = (best(values, key=values.get) for values in (us, them))
    ratio = us[mine] / them[other]
    fine = ratio <= wanted if best is min else ratio >= wanted
    verdict = "**no**" if not fine else "yes" if not absent else \
        f"not judged: {', '.join(absent)} did not run"
    return (f"| {text} | {number(ratio)} x: {mine}, {number(us[mine])}; {other}, "
            f"{number(them[other])} | {verdict} |")


# ---- tables -------------------------------------------------------------------------------------

def races(figures: dict) -> str:
    columns = {key: title for key, title in COLUMNS.items() if figures.get(key)}
    if not columns:
        return ""
    labels = list(dict.fromkeys(label for key in columns for label in figures[key]))
    lines = ["### 32 copies with random actions: CPU µs of a step · steps a second", "",
             "| | " + " | ".join(columns.values()) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {label} | " + " | ".join(cell(figures[key].get(label)) for key in columns) + " |"
              for label in labels]
    return "\n".join([*lines, *failures(figures, columns)])


def failures(figures: dict, keys) -> list[str]:
    """What the cells that say `failed` stand for."""
    lines = [f"- {label}, {COLUMNS[key]}: {row['failed']}" for key in keys
             for label, row in figures[key].items() if "failed" in row]
    return ["", "Failed:", "", *lines] if lines else []


def sleepers(figures: dict) -> str:
    rows = figures.get("sleepers")
    if not rows:
        return ""
    return "\n".join(["### Sleepers: 1 ms, every tenth step 10 ms; 32 copies in 32 processes", "",
                      "| | steps a second |", "|---|---|",
                      *(f"| {label} | {number(row['rate']) if 'rate' in row else 'failed'} |"
                        for label, row in sorted(rows.items(), key=lambda pair:
                                                 -pair[1].get("rate", 0)))])


def rows_of_parts(figures: dict) -> str:
    rows = figures.get("flatten")
    if not rows:
        return ""
    return "\n".join(["### One observation of 3.7 KB in parts becomes a row", "",
                      "| | CPU µs |", "|---|---|",
                      *(f"| {label} | {number(row['cpu_us'])} |" for label, row in rows.items())])


def training(figures: dict) -> str:
    rows = figures.get("training")
    if not rows:
        return ""
    lines = ["### Training on Gymnasium's CartPole", "",
             "| | steps a second | steps | return of the last episodes |", "|---|---|---|---|"]
    for label, row in rows.items():
        lines.append(f"| {label} | failed | | |" if "failed" in row else
                     f"| {label} | {number(row['rate'])} | {row['steps']} | {row['return']:.0f} |")
    return "\n".join(lines)


def tried(figures: dict) -> str:
    rows = figures.get("names")
    if not rows:
        return ""
    if "failed" in rows:
        return f"The tested names were not tried here: {rows['failed']}"
    lines = ["### Tested names", "", "| name | package | an agent sees · does | agents "
             "| ours: CPU µs · steps/s | plain loop: CPU µs · steps/s |", "|---" * 6 + "|"]
    for name, row in rows.items():
        package = f"{row['package']} {row['version'] or '(not installed)'}"
        if "failed" in row:
            lines.append(f"| `{name}` | {package} | {row['failed']} | | | |")
            continue
        does = "continuous" if set(row["acts"]) == {1} else " x ".join(map(str, row["acts"]))
        sees = f"{row['obs_size']} {'bytes' if row['obs_dtype'] == 'uint8' else 'floats'}"
        loop = {"cpu_us": row["loop_cpu_us"], "rate": row["loop_rate"]}
        lines.append(f"| `{name}` | {package} | {sees} · {does} | {row['agents']} | {cell(row)} "
                     f"| {cell(loop)} |")
    return "\n".join(lines)


def about(figures: dict) -> str:
    """Versions, what is missing, and the machine."""
    versions = "; ".join(", ".join(f"{name} {version}" for name, version in found.items())
                         for found in figures.get("versions", {}).values())
    missing = [f"{name} is in no table: {why}" for name, why in figures.get("missing", {}).items()]
    machine = figures["machine"]
    return "\n\n".join([f"Each peer in a venv of its own: {versions}.", *missing,
                        f"(`make bench`, {machine['cores']} cores of an {machine['cpu']}, "
                        f"{machine['date']})"])
