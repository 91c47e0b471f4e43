"""One run of PufferLib 4.0's own trainer: `PYTHON upstream_run.py NAME STEPS SEED HIDDEN` -> JSON.

In the folder that bench_upstream.py has built; prints [agent steps, episodes, score] of each epoch.
"""
from __future__ import annotations

import json
import os
import sys


def make_trainer(name: str, steps: int | None, seed: int, hidden: int | None, threads: int = 1):
    """Theirs for the CPU.

    steps     None: those of its ini
    hidden    of a network that is cut to it at most
    """
    sys.argv[1:] = []
    sys.path.insert(0, os.getcwd())
    sys.setdlopenflags(os.RTLD_LAZY)        # of raylib there are only headers: nothing is drawn
    import torch
    from pufferlib import pufferl, torch_pufferl

    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    args = pufferl.load_config(name)
    policy = args["policy"]
    args["train"]["total_timesteps"] = steps or int(args["train"]["total_timesteps"])
    policy["hidden_size"] = min(hidden or int(policy["hidden_size"]), int(policy["hidden_size"]))
    policy["num_layers"] = int(policy["num_layers"])
    return torch_pufferl.PuffeRL.create_pufferl(args)


def main() -> None:
    name, (steps, seed, hidden) = sys.argv[1], map(int, sys.argv[2:5])
    trainer = make_trainer(name, steps, seed, hidden)
    rows = []
    for _ in range(trainer.total_epochs):
        trainer.rollouts()
        log = dict(trainer.env_logs)
        trainer.train()
        if log.get("n"):
            rows.append([trainer.global_step, log["n"], log["score"]])
    print("\n" + json.dumps(rows))


if __name__ == "__main__":
    main()
