"""What each flag of the sanitizers finds in the field: `python benchmarks/sanitizers.py`, an hour.

Each game as it is, and each of its faults that a code of CODES may name, runs under one set of
flags after the other, as `check` runs it. Counted are the faults that the rules of memory then
name, and what they say of the games as they are. Where a set and one with more flags say the same
of a game, so does every set between the two, and it is not run.
Writes docs/data/sanitizers.json, for docs/why/checker.md.

    python benchmarks/sanitizers.py --sets "+ bounds-strict"    measures these, keeps the others
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest import mock

from bench import machine, write_figures
from bench_check import FIELD, ROOT, copy, plant, tomllib

from puffer_sdk.base.errors import PufferError
from puffer_sdk.checking.collect.c import driver, plan
from puffer_sdk.checking.collect.c.jobs import Jobs
from puffer_sdk.checking.collect.c.source import read
from puffer_sdk.checking.core import registry
from puffer_sdk.checking.core.facts import Facts
from puffer_sdk.settings.config import resolve

CODES = ("PUF201", "PUF202", "PUF203", "PUF204", "PUF303", "PUF307", "PUF312")  # of the faults
RULES = ("PUF201", "PUF202", "PUF203", "PUF204")
BASE = "-fsanitize=address,undefined"
GCC = "all of these, as `check` has them"
BETWEEN = {"+ float-cast-overflow": ("address, undefined", GCC),
           "+ bounds-strict": ("address, undefined", GCC)}
SETS = {        # name -> compiler, flags, flags of bounds
    "address, undefined": ("gcc", [], []),
    "+ float-cast-overflow": ("gcc", ["-fsanitize=float-cast-overflow"], []),
    "+ bounds-strict": ("gcc", [], ["-fsanitize=bounds-strict"]),
    GCC: ("gcc", ["-fsanitize=float-cast-overflow"], ["-fsanitize=bounds-strict"]),
    "clang: address, undefined": ("clang", [], []),
    "clang: + implicit-conversion": ("clang", ["-fsanitize=implicit-conversion"], []),
    "clang: + integer": ("clang", ["-fsanitize=integer"], []),
}


class Sanitized(plan.Plan):
    """The experiments under sanitizers alone."""

    def __init__(self, facts: Facts, folder: Path, flags: list[str]):
        super().__init__(facts, folder, 1.0, False)
        self.kind = replace(driver.SANITIZED, flags=(
            "-O1", *driver.LINES, driver.OURS, BASE, "-fno-omit-frame-pointer", *flags))

    def run(self) -> None:
        self.build(driver.FAST)
        self.build(self.kind)
        self.probe()
        for job in Jobs(self.facts, self.sizes, self.folder, self.runner.hang).sanitized():
            self.experiment(job)
        self.resolve_stacks()


def codes_of(folder: Path, flags: list[str]) -> list[str]:
    """The codes that the rules of memory raise; a refusal as its text."""
    try:
        spec, problems, source = read.examine(folder)
        facts = Facts(folder, spec, resolve(folder, spec=spec, warn_unread=False), problems,
                      source, 42)
        with tempfile.TemporaryDirectory(prefix="puffer-sanitizers-") as name:
            Sanitized(facts, Path(name), flags).run()
        found = set()
        for code in RULES:
            try:
                found |= {each.code for each in registry.load()[code].function(facts)}
            except registry.NotTested:
                continue
        return sorted(found)
    except PufferError as error:
        return [f"refused: {error.message}"]


def settled(name: str, known: dict[str, dict]) -> dict[str, list[str]]:
    """What the sets around this one agree on."""
    fewer, more = ({**known[one]["faults"], **known[one]["games"]} if one in known else {}
                   for one in BETWEEN.get(name, ("", "")))
    return {one: codes for one, codes in fewer.items() if more.get(one) == codes}


def study(games: list[Path], name: str, known: dict[str, dict]) -> dict:
    """One set of flags on every game and fault."""
    sure = settled(name, known)
    compiler, flags, bounds = SETS[name]
    rows, alarms = {}, {}
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(2) as pool, \
            mock.patch.dict(os.environ, {"CC": compiler}), \
            mock.patch("puffer_sdk.toolchain.compilers.bounds_flags", lambda _: bounds):
        jobs = {}

        def measure(folder: Path) -> list[str]:
            one = folder.parent.name.removeprefix("clean-")
            return sure[one] if one in sure else codes_of(folder, flags)

        for game in games:
            jobs[game.name] = pool.submit(measure, copy(game, Path(home) / f"clean-{game.name}"))
            for fault in tomllib.loads((game / "faults.toml").read_text())["fault"]:
                if set(CODES) & set(fault["expect"]):
                    folder = plant(fault, copy(game, Path(home) / fault["id"]))
                    jobs[fault["id"]] = pool.submit(measure, folder)
        for one, job in jobs.items():
            print(f"{name:<34} {one:<14} {' '.join(job.result())}", file=sys.stderr, flush=True)
            (alarms if "-" not in one else rows)[one] = job.result()
    return {"flags": name, "faults": rows, "games": alarms}


def table(figures: dict) -> str:
    """The figures as Markdown."""
    sets = figures["sets"]
    base = {"gcc": sets[0]}
    lines = ["| flags | faults found | found besides | games without a fault that are named |",
             "|---|---|---|---|"]
    for one in sets:
        compiler = SETS[one["flags"]][0]
        first = base.setdefault(compiler, one)
        found = [fault for fault, codes in one["faults"].items() if codes]
        more = [fault for fault in found if not first["faults"][fault]]
        noisy = sum(bool(codes) for codes in one["games"].values())
        lines.append(f"| {one['flags']} | {len(found)} of {len(one['faults'])} | "
                     f"{', '.join(more) or '-'} | {noisy} of {len(one['games'])} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", metavar="GAME", help="some games; writes nothing")
    parser.add_argument("--sets", nargs="*", metavar="SET", choices=SETS, default=list(SETS),
                        help="some sets of flags; keeps what was measured of the others")
    asked = parser.parse_args()
    games = [path for path in sorted(FIELD.glob("*")) if (path / "faults.toml").is_file()
             and (not asked.only or path.name in asked.only)]
    before = json.loads((ROOT / "docs/data/sanitizers.json").read_text())["sets"]
    known = {one["flags"]: one for one in before if one["flags"] not in asked.sets}
    for name in sorted(asked.sets, key=lambda name: name in BETWEEN):       # those last
        known[name] = study(games, name, known)
        sets = [known[one] for one in SETS if one in known]
        if not asked.only:
            write_figures("sanitizers", {"machine": machine(), "sets": sets})
    print(table({"sets": sets}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
