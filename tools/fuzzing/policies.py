"""puffernet.h reads policies, under sanitizers.  a number of inputs, seconds -> Outcome"""
from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from .box import CORPUS
from .running import Outcome

ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / "tests" / "specimens" / "fuzz" / "policy.c"


def build_policy_reader(folder: Path, *, fuzzer: bool) -> Path | None:
    """The harness as a program, or as one of libFuzzer; None if it cannot be built."""
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
    """Try `count` inputs of the harness; then run libFuzzer for so many seconds, if available."""
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
