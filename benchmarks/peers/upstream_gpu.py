"""PufferLib 4.0's CUDA trainer: `PYTHON upstream_gpu.py NAME SEED SECONDS` -> JSON.

In a folder with their module built for a GPU, pufferlib/ and config/. With the network and settings
of its ini. SECONDS of training measured after a second that is not; 0: the whole run of its ini.
Prints agent steps, seconds by the clock, those before the first step, and the score of the
episodes that ended in the last tenth of the steps.
"""
from __future__ import annotations

import json
import os
import sys
import time

WARM = 1.0


def main() -> None:
    name, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    sys.argv[1:] = []
    sys.path.insert(0, os.getcwd())
    sys.setdlopenflags(os.RTLD_LAZY)        # of raylib there are only headers: nothing is drawn
    from pufferlib import _C, pufferl

    args = pufferl.load_config(name)
    whole = int(args["train"]["total_timesteps"])
    args |= {"seed": seed, "nccl_id": b""}
    args["train"]["total_timesteps"] = 10**10 if seconds else whole
    began = time.perf_counter()
    trainer = _C.create_pufferl(args)
    start = time.perf_counter() - began

    def epochs(until) -> tuple[int, float, list]:
        first, began, rows = trainer.global_step, time.perf_counter(), []
        while not until(trainer.global_step, time.perf_counter() - began):
            _C.rollouts(trainer)
            _C.train(trainer)
            if not seconds and trainer.global_step > 0.9 * whole:
                log = _C.log(trainer)["env"]
                rows.append((log.get("n", 0), log.get("score", 0)))
        return trainer.global_step - first, time.perf_counter() - began, rows[1:]

    if seconds:
        epochs(lambda steps, passed: passed >= WARM)
        _C.log(trainer)             # waits for the GPU
        first, began = trainer.global_step, time.perf_counter()
        epochs(lambda steps, passed: passed >= seconds)
        _C.log(trainer)
        steps, took, rows = trainer.global_step - first, time.perf_counter() - began, []
    else:
        steps, took, rows = epochs(lambda steps, passed: steps >= whole)
    ended = sum(n for n, _ in rows)
    print("\n" + json.dumps({
        "steps": steps, "seconds": took, "start": start,
        "score": sum(n * score for n, score in rows) / ended if ended else None}))


if __name__ == "__main__":
    main()
