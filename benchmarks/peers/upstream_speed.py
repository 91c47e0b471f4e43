"""Speed of PufferLib 4.0's trainer: `PYTHON upstream_speed.py NAME SEED SECONDS [wall]` -> JSON.

In the folder that bench_upstream.py has built; prints agent steps, CPU seconds, wall seconds,
bytes of memory at most, and the score of the last episodes. With the network of its ini. One
thread and CPU seconds, the first epoch not measured; or with `wall` OMP_NUM_THREADS and seconds by
the clock.
"""
from __future__ import annotations

import json
import os
import resource
import sys
import time

from upstream_run import make_trainer


def main() -> None:
    name, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    by_clock = sys.argv[4:] == ["wall"]
    threads = int(os.environ["OMP_NUM_THREADS"]) if by_clock else 1
    trainer = make_trainer(name, None if by_clock else 10**9, seed, None, threads)
    clock = time.perf_counter if by_clock else time.process_time
    if not by_clock:
        trainer.rollouts()
        trainer.train()
    steps, cpu, wall, began, score = (trainer.global_step, time.process_time(),
                                      time.perf_counter(), clock(), 0.0)
    while clock() - began < seconds:
        trainer.rollouts()
        score = dict(trainer.env_logs).get("score", score)
        trainer.train()
    print("\n" + json.dumps({
        "steps": trainer.global_step - steps, "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall, "score": score,
        "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    main()
