"""puffernet.h reads policies, under sanitizers.  a number of inputs, seconds -> Outcome"""
from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from puffer_sdk.policy import export

from .box import CORPUS
from .running import Outcome

ROOT = Path(__file__).resolve().parents[2]
PARTS = "ids 0 1 of 3 + grid 1 4x4x1 of 3: 4x2 3x2/2 + list 18 3x2 mask 0: 3"
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


def write_with_parts(target: Path) -> None:
    """walk's policy, as if it saw a grid and a list: NAME_policy.bin of version 2."""
    policy = export.read_policy(CORPUS / "runs" / "walk" / "0001" / "best.safetensors")
    sees = replace(policy.config.policy, encoder=PARTS)
    policy = replace(policy, config=replace(policy.config, policy=sees))
    weights = {name: np.full(shape, 0.01, np.float32)
               for name, shape in export.shapes(policy).items()}
    target.write_bytes(export.pack(replace(policy, weights=weights)))


def try_policies(count: int, seconds: int = 0) -> Outcome:
    """Try `count` inputs of the harness, half of them with parts; then run libFuzzer for so many
    seconds, if available."""
    outcome, began = Outcome("policies"), time.monotonic()
    outcome.counts.update(read=0, refused=0)
    with tempfile.TemporaryDirectory(prefix="puffer-fuzz-") as home:
        program = build_policy_reader(Path(home), fuzzer=False)
        seeds = [CORPUS / "walk_policy.bin", Path(home) / "parts_policy.bin"]
        write_with_parts(seeds[1])
        for seed in seeds:
            done = subprocess.run([program, seed, str(-(-count // 2))], capture_output=True,
                                  text=True, check=False, cwd=home)
            found = re.search(r"(\d+) read, (\d+) refused", done.stdout)
            if done.returncode or not found:
                outcome.broken.append(f"{seed.name}: status {done.returncode}: "
                                      f"{done.stderr[-2000:]}")
            else:
                outcome.counts["read"] += int(found[1])
                outcome.counts["refused"] += int(found[2])
        fuzzer = build_policy_reader(Path(home), fuzzer=True) if seconds else None
        if fuzzer:
            inputs = Path(home) / "inputs"
            inputs.mkdir()
            for seed in seeds:
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
