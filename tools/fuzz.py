"""`make fuzz MINUTES=10`: damaged and hostile files.  a seed -> a file -> the result

    python tools/fuzz.py 10                     ten minutes, all kinds; writes docs/data/fuzz.json
    python tools/fuzz.py --full                 the counts of FULL, hours
    python tools/fuzz.py --full --kind inis     the counts of one kind; other rows stay
    python tools/fuzz.py --kind inis --seed 7   one input again, with its result

Each input depends only on its number, and changes files of tests/corpus and the templates. Failures
are: anything but our own errors with status 1 to 4, a control character sent to the terminal, and
any read or write outside the command's folder (counted by inotify and, for whole commands, by
strace if installed). make test tries the first inputs of each kind (tests/project/test_fuzz.py).
puffernet.h reads policies under sanitizers, and under libFuzzer if clang has it.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fuzzing import policies, running  # noqa: E402

DATA = ROOT / "docs" / "data" / "fuzz.json"
FULL = {"policies": 100_000, "checkpoints": 100_000, "inis": 100_000, "runs": 100_000,
        "sweeps": 100_000, "reports": 100_000, "headers": 2_000, "commands": 3_000}
WHAT = {"policies": "`NAME_policy.bin`, read by puffernet.h", "checkpoints": "checkpoints",
        "inis": "inis", "runs": "run folders", "sweeps": "journals and `sweep.json`",
        "reports": "reports to compare with", "headers": "headers",
        "commands": "projects, by whole commands"}


def try_kind(kind: str, first: int, count: int, seconds: float | None) -> running.Outcome:
    """Try `count` inputs of a kind, or as many as time allows."""
    if kind == "policies":
        return policies.try_policies(count if seconds is None else int(100 * seconds),
                                     int(seconds or 0))
    return running.try_all(kind, range(first, first + count),
                           until=seconds and time.monotonic() + seconds)


def row(found: running.Outcome, first: int) -> dict:
    """A row of docs/data/fuzz.json for a kind."""
    commit = subprocess.run(["git", "describe", "--always"], cwd=ROOT, capture_output=True,
                            text=True, check=False).stdout.strip()
    return {"inputs": found.inputs, "read": found.counts["read"],
            "refused": found.counts["refused"], "broken": found.broken[:20],
            "slowest": round(found.slowest, 2), "seconds": round(found.seconds),
            "traced": found.traced, "first": first, "commit": commit}


def table(results: dict) -> str:
    """The table of docs/why/fuzz.md."""
    rows = ["| files | inputs | read | refused with a sentence | promises broken | slowest | "
            "commit |", "|---|---|---|---|---|---|---|"]
    rows += [f"| {WHAT[kind]} | {each['inputs']:,} | {each['read']:,} | {each['refused']:,} | "
             f"{len(each['broken']) or 'none'} | {each['slowest']:.2g} s | {each['commit']} |"
             for kind in WHAT for each in [results.get(kind)] if each]
    traced = sum(each["traced"] for each in results.values())
    said = f"strace showed {traced:,} system calls of the commands." if traced else ""
    return "\n".join([*rows, *(["", said] if said else [])])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", type=float, nargs="?")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--kind", choices=list(FULL))
    parser.add_argument("--seed", type=int)
    asked = parser.parse_args()
    if asked.seed is not None:
        one = running.try_many(asked.kind or "inis", [asked.seed])
        print(dict(one.counts), *one.broken, sep="\n")
        return int(bool(one.broken))
    chosen = [asked.kind] if asked.kind else list(FULL)
    each = None if asked.full else 60 * (asked.minutes or 10) / len(chosen)
    first = time.time_ns() // 1_000_000_000 * 1_000_000         # other inputs each time
    results = json.loads(DATA.read_text())
    broken = 0
    for kind in chosen:
        found = try_kind(kind, first, FULL[kind] if asked.full else 10**9, each)
        results = {**json.loads(DATA.read_text()), kind: row(found, first)}
        DATA.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{kind}: {found.inputs:,} inputs, {found.counts['read']:,} read, "
              f"{len(found.broken)} broken, {found.seconds:.0f} s", *found.broken[:5], sep="\n",
              flush=True)
        broken += len(found.broken)
    print(table(results))
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
