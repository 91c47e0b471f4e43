"""Speed of PufferLib 4.0's own trainer: `PYTHON upstream_speed.py NAME SEED SECONDS` -> JSON.

In the folder that bench_upstream.py has built; prints agent steps, CPU seconds, wall seconds and
bytes of memory at most. One thread, the network of its ini; the first epoch is not measured.
"""
from __future__ import annotations

import json
import resource
import sys
import time

from upstream_run import make_trainer


def main() -> None:
    name, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    trainer = make_trainer(name, 10**9, seed, None)
    trainer.rollouts()
    trainer.train()
    steps, cpu, wall = trainer.global_step, time.process_time(), time.perf_counter()
    while time.process_time() - cpu < seconds:
        trainer.rollouts()
        trainer.train()
    print("\n" + json.dumps({
        "steps": trainer.global_step - steps, "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    main()
