"""`make fuzz MINUTES=10`: files that nobody meant.  a seed -> a file -> what came of it

    python tools/fuzz.py 10                     ten minutes, all kinds; writes docs/data/fuzz.json
    python tools/fuzz.py --kind inis --seed 7   one input again, and what came of it

Each input is made from its number alone, out of what tests/corpus and the templates hold. A promise
is broken by anything but our own errors with status 1 to 4, and by whatever changes outside of
the folder that the command works in. make test tries the first inputs of each kind
(tests/project/test_fuzz.py). Policies are read by puffernet.h, under sanitizers; where clang has
libFuzzer, that looks for more.
"""
from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from puffer_sdk import cli  # noqa: E402
from puffer_sdk.base.errors import BUG, PufferError  # noqa: E402
from puffer_sdk.env import header  # noqa: E402
from puffer_sdk.policy import export  # noqa: E402
from puffer_sdk.settings import config  # noqa: E402
from puffer_sdk.training import checkpoint  # noqa: E402

CORPUS = ROOT / "tests" / "corpus" / "v1"
HARNESS = ROOT / "tests" / "specimens" / "fuzz" / "policy.c"
DATA = ROOT / "docs" / "data" / "fuzz.json"
SLOW = 20.0             # seconds of one input above which it counts as a wait

# what stands in place of a value, of a line or between two bytes
VALUES = [None, True, False, -1, 0, 1, 2**31, 2**63, -2**63, 1e308, 0.1, float("nan"), float("inf"),
          "", "x", "x" * 2000, "../../x", "/etc/passwd", "a\nb", "\x1b[2J", "\x00", "1e999",
          "gymnasium:X", "\u202e", [], [[]], {}, {"a": {"b": 1}}, [1] * 100]
WORDS = [b"\x00", b"\xff\xfe", b"\r\n", b"%s%n", b"../../../x", b"{" * 300, b"[" * 3000, b"1e999",
         b"NaN", b"-0", b"99999999999999999999", b"\x1b]0;x\x07", b"[env]\n", b"= =", b"#",
         "\u2028\u00e9".encode()]
LINES = ["#include \"/dev/null\"", "#include \"probe.h\"", "#define OBS_SIZE 0", "#undef ACT_SIZES",
         "#define ACT_SIZES {}", "#define ACT_SIZES {-1}", "#define NUM_ATNS 7", "#line 7",
         "typedef int Log;", "struct Log;", "enum { OBS_A, OBS_B };", "union { int a; float b; };",
         "#define float int", "_Static_assert(0, \"no\");", "#error no", "}", "{", "int", "(",
         "extern int rand(void);", "#if 0", "#endif", "__attribute__((aligned(4096))) int a;"]


@dataclass
class Box:
    """A folder to work in, beside one that nothing may touch."""

    home: Path

    def __post_init__(self):
        self.inside, self.outside = self.home / "inside", self.home / "outside"
        shutil.copytree(CORPUS, self.inside)
        self.outside.mkdir()
        (self.outside / "kept").write_text("kept\n")
        for path in self.inside.rglob("sweeps/*/*"):
            if path.name in ("sweep.json", "journal"):          # they name places
                text = path.read_text().replace("/home/me/walk/runs", f"{self.inside}/runs")
                path.write_text(text.replace("/home/me/walk", f"{self.inside}/walk"))
        self.before = self.state()

    def state(self) -> list:
        return [(str(path), path.read_bytes() if path.is_file() else None)
                for path in sorted([*self.home.iterdir(), *self.outside.rglob("*")])]


# ---- changes -------------------------------------------------------------------------------------

def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """A few bits, bytes, words or stretches of it are others."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(6)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1 and out:
            out[at % len(out)] = rng.choice((0, 1, 9, 10, 34, 127, 128, 255))
        elif kind == 2:
            del out[at:at + rng.choice((1, 4, 64, 4096))]
        elif kind == 3:
            out[at:at] = rng.choice(WORDS)
        elif kind == 4:
            begin = rng.randrange(len(out) + 1)
            out[at:at] = out[begin:begin + rng.choice((8, 256))]
        else:
            del out[at:]
    return bytes(out)


def change_json(rng: random.Random, text: str) -> str:
    """One value or key of a JSON text is another; still JSON, but for bytes now and then."""
    document = json.loads(text)
    places: list[tuple] = []

    def visit(node) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                visit(node[key])

    if isinstance(document, (dict, list)):
        visit(document)
    for _ in range(rng.choice((1, 1, 2))):
        if not places:
            break
        node, key = rng.choice(places)
        kind = rng.randrange(4)
        if kind == 0 and isinstance(node, dict):
            node.pop(key, None)
        elif kind == 1 and isinstance(node, dict):
            node[str(rng.choice(VALUES))] = node.get(key)
        else:
            with contextlib.suppress(LookupError):
                node[key] = rng.choice(VALUES)
    made = json.dumps(document)
    return change_bytes(rng, made.encode()).decode("utf-8", "surrogateescape") \
        if rng.random() < 0.1 else made


def change_text(rng: random.Random, text: str) -> str:
    """Lines of a text are gone, doubled, swapped or others."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 2, 4))):
        at, kind = rng.randrange(len(lines)), rng.randrange(5)
        if kind == 0:
            del lines[at:at + 1]
        elif kind == 1:
            lines.insert(at, lines[rng.randrange(len(lines) or 1)] if lines else "")
        elif kind == 2:
            lines[at] = re.sub(r"-?\d+(?:\.\d+)?", lambda _: str(rng.choice(VALUES)), lines[at])
        elif kind == 3:
            lines.insert(at, rng.choice(LINES))
        else:
            lines[at] = change_bytes(rng, lines[at].encode()).decode("utf-8", "replace")
        lines = lines or [""]
    return "\n".join(lines)


def change_any(rng: random.Random, path: Path, box: Box) -> None:
    """A file of a folder is another: changed, or no file at all."""
    kind = rng.randrange(12)
    data = path.read_bytes()
    if kind < 4 and path.suffix != ".ini":
        lines = data.decode().rstrip("\n").split("\n") if path.suffix != ".json" else \
            [data.decode()]
        at = rng.randrange(len(lines))
        lines[at] = change_json(rng, lines[at])
        path.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    elif kind < 9:
        path.write_bytes(change_bytes(rng, data))
    else:
        path.unlink()
        if kind == 9:
            path.symlink_to(box.outside / "kept")
        elif kind == 10:
            os.mkfifo(path)
        else:
            path.mkdir()


# ---- kinds ---------------------------------------------------------------------------------------

def run_command(*words: str) -> str:
    """Its status as a word; raises if it says that it met a bug."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = cli.main(list(words))
        except SystemExit as end:
            status = end.code or 0
    if status == BUG or "Traceback" in said.getvalue():
        raise RuntimeError(f"{' '.join(words)}: status {status}\n{said.getvalue()[-2000:]}")
    return "read" if status == 0 else "refused"


def try_checkpoint(rng: random.Random, box: Box) -> str:
    """The container's bytes, its header, or what our metadata say."""
    whole = (box.inside / "runs/walk/0001/best.safetensors").read_bytes()
    size = int.from_bytes(whole[:8], "little")
    head, rest, kind = whole[8:8 + size].decode(), whole[8 + size:], rng.randrange(3)
    if kind == 0:
        data = change_bytes(rng, whole)
    else:
        if kind == 1:
            head = change_json(rng, head)
        else:
            document = json.loads(head)
            facts = document["__metadata__"]
            facts["puffer"] = change_json(rng, facts["puffer"])
            head = json.dumps(document)
        made = head.encode("utf-8", "surrogateescape")
        data = len(made).to_bytes(8, "little") + made + rest
    path = box.inside / "changed.safetensors"
    path.write_bytes(data)
    checkpoint.load(path)
    policy = export.read_policy(path)
    if not policy.config.policy.torch_class:
        export.pack(policy)
    return "read"


def try_ini(rng: random.Random, box: Box) -> str:
    folder = box.inside / "walk"
    text = (folder / "walk.ini").read_text()
    path = box.inside / "changed.ini"
    path.write_bytes(change_bytes(rng, text.encode()) if rng.random() < 0.3 else
                     change_text(rng, text).encode("utf-8", "replace"))
    config.resolve(folder, ini=path)
    return "read"


def try_run(rng: random.Random, box: Box) -> str:
    run = box.inside / "runs/walk" / rng.choice(("0001", "0002"))
    path = run / rng.choice(("run.json", "metrics.jsonl", "config.ini", "spec.json"))
    kept = path.read_bytes()
    try:
        change_any(rng, path, box)
        return run_command(*rng.choice((
            ("runs", "list", "walk"), ("runs", "list", "walk", "--format", "json"),
            ("runs", "compare", "1", "2", "--env", "walk"), ("runs", "show", "1", "--env", "walk"),
            ("export", str(run), "--output", str(box.inside / "policy.bin")))))
    finally:
        restore(path, kept)


def try_sweep(rng: random.Random, box: Box) -> str:
    sweep = box.inside / "runs/walk/sweeps/0001"
    path = sweep / rng.choice(("journal", "journal", "sweep.json"))
    kept = path.read_bytes()
    try:
        change_any(rng, path, box)
        return run_command("sweep", "walk", *rng.choice((("--show",), ("--best",), ("--show", "1"),
                                                         ("--show", "--format", "json"))))
    finally:
        restore(path, kept)


def restore(path: Path, kept: bytes) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.write_bytes(kept)


def try_header(rng: random.Random, box: Box) -> str:
    path = box.inside / "walk/walk.h"
    kept = path.read_text()
    try:
        path.write_text(change_text(rng, kept))
        _, problems = header.inspect(path.parent)
        return "refused" if problems else "read"
    finally:
        path.write_text(kept)


KINDS: dict[str, Callable[[random.Random, Box], str]] = {
    "checkpoints": try_checkpoint, "inis": try_ini, "runs": try_run, "sweeps": try_sweep,
    "headers": try_header}


@dataclass
class Outcome:
    """What came of some inputs of one kind."""

    kind: str
    counts: Counter = field(default_factory=Counter)        # "read", "refused"
    broken: list[str] = field(default_factory=list)         # "seed 7: what"
    slowest: float = 0.0

    @property
    def inputs(self) -> int:
        return sum(self.counts.values()) + len(self.broken)


def try_one(kind: str, seed: int, box: Box, outcome: Outcome) -> None:
    began = time.monotonic()
    try:
        outcome.counts[KINDS[kind](random.Random(f"{kind} {seed}"), box)] += 1
    except PufferError:
        outcome.counts["refused"] += 1
    except Exception as error:  # noqa: BLE001 (what we look for)
        outcome.broken.append(f"seed {seed}: {type(error).__name__}: {error}")
    took = time.monotonic() - began
    outcome.slowest = max(outcome.slowest, took)
    if took > SLOW:
        outcome.broken.append(f"seed {seed}: took {took:.0f} seconds")
    if box.state() != box.before:
        outcome.broken.append(f"seed {seed}: something outside of its folder has changed")
        box.before = box.state()


def try_many(kind: str, seeds, *, until: float | None = None) -> Outcome:
    """seeds in order; until: a time of time.monotonic() after which no other begins"""
    outcome, here = Outcome(kind), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="puffer-fuzz-") as home:
        box = Box(Path(home).resolve())
        os.chdir(box.inside)
        try:
            for seed in seeds:
                if until and time.monotonic() > until:
                    break
                try_one(kind, seed, box, outcome)
        finally:
            os.chdir(here)
    return outcome


# ---- policies: puffernet.h under sanitizers ------------------------------------------------------

def build_policy_reader(folder: Path, *, fuzzer: bool) -> Path | None:
    """The harness as a program of its own, or of libFuzzer; None where that cannot be."""
    program = folder / ("libfuzzer" if fuzzer else "policies")
    command = ["clang", "-fsanitize=fuzzer,address,undefined", "-DLIBFUZZER"] if fuzzer else \
        ["gcc", "-fsanitize=address,undefined"]
    words = [*command, "-fno-sanitize-recover=all", "-g", "-O1", "-w",
             f"-I{ROOT / 'puffer_sdk' / 'include'}", str(HARNESS), "-lm", "-o", str(program)]
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode and not fuzzer:
        raise RuntimeError(done.stderr)
    return None if done.returncode else program


def try_policies(count: int, seconds: int = 0) -> Outcome:
    """count inputs of the harness's own; then libFuzzer for so many seconds, if it is there."""
    outcome, seed = Outcome("policies"), CORPUS / "walk_policy.bin"
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="puffer-fuzz-") as home:
        program = build_policy_reader(Path(home), fuzzer=False)
        done = subprocess.run([program, seed, str(count)], capture_output=True, text=True,
                              check=False, cwd=home)
        found = re.search(r"(\d+) read, (\d+) refused", done.stdout)
        if done.returncode or not found:
            outcome.broken.append(f"status {done.returncode}: {done.stderr[-2000:]}")
        else:
            outcome.counts.update(read=int(found[1]), refused=int(found[2]))
        fuzzer = build_policy_reader(Path(home), fuzzer=True) if seconds else None
        if fuzzer:
            inputs = Path(home) / "inputs"
            inputs.mkdir()
            shutil.copy(seed, inputs)
            done = subprocess.run([fuzzer, f"-max_total_time={seconds}", "-timeout=20",
                                   "-close_fd_mask=1", "-print_final_stats=1", str(inputs)],
                                  capture_output=True, text=True, check=False, cwd=home)
            tried = re.search(r"number_of_executed_units: (\d+)", done.stderr)
            outcome.counts["read"] += int(tried[1]) if tried else 0
            if done.returncode:
                outcome.broken.append(done.stderr[-2000:])
    outcome.slowest = (time.monotonic() - began) / max(1, outcome.inputs)
    return outcome


# ---- the command line ----------------------------------------------------------------------------

WHAT = {"policies": "`NAME_policy.bin`, read by puffernet.h", "checkpoints": "checkpoints",
        "inis": "inis", "runs": "run folders", "sweeps": "journals and `sweep.json`",
        "headers": "headers"}


def table(results: dict) -> str:
    """docs/why/fuzz.md's."""
    rows = ["| files | inputs | read | refused with a sentence | promises broken |",
            "|---|---|---|---|---|"]
    rows += [f"| {WHAT[each['kind']]} | {each['inputs']:,} | {each['read']:,} | "
             f"{each['refused']:,} | {len(each['broken']) or 'none'} |"
             for each in results["kinds"]]
    return "\n".join([*rows, "", f"Minutes: {results['minutes']:g}, at {results['commit']}."])


def main() -> int:
    import argparse

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", type=float, nargs="?", default=10)
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--seed", type=int)
    asked = parser.parse_args()
    if asked.seed is not None:
        one = try_many(asked.kind or "inis", [asked.seed])
        print(dict(one.counts), *one.broken, sep="\n")
        return int(bool(one.broken))
    each = 60 * asked.minutes / (len(KINDS) + 1)
    first = time.time_ns() // 1_000_000_000 * 1_000_000         # other inputs each time
    found = [try_policies(int(100 * each), int(each))]
    for kind in KINDS:
        print(f"{kind} ...", flush=True)
        found.append(try_many(kind, range(first, first + 10**9), until=time.monotonic() + each))
    commit = subprocess.run(["git", "describe", "--always"], cwd=ROOT, capture_output=True,
                            text=True, check=False).stdout.strip()
    results = {"minutes": asked.minutes, "commit": commit, "kinds": [
        {"kind": one.kind, "inputs": one.inputs, "read": one.counts["read"],
         "refused": one.counts["refused"], "broken": one.broken[:20]} for one in found]}
    DATA.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    for one in found:
        print(*(f"{one.kind}: {each}" for each in one.broken[:5]), sep="\n", end="\n"
              if one.broken else "")
    return int(any(one.broken for one in found))


if __name__ == "__main__":
    sys.exit(main())
