"""One run of CleanRL's PPO: `python learn_cleanrl.py FOLDER TASK SEED` -> a line of JSON.

FOLDER holds its ppo.py and ppo_continuous_action.py, which run as they are, with their defaults.
They are written for Gymnasium 0.29: `as_in_0_29` gives them its vectors and its wrapper. They keep
no weights: only the last ones are played, for 100 fresh episodes.
"""
from __future__ import annotations

import contextlib
import json
import os
import resource
import runpy
import sys
import tempfile
from pathlib import Path

import gymnasium
import numpy as np
import torch
from learn_tasks import EPISODES, TASKS


def main() -> None:
    folder, task, seed = Path(sys.argv[1]).resolve(), TASKS[sys.argv[2]], int(sys.argv[3])
    discrete = isinstance(task.make().action_space, gymnasium.spaces.Discrete)
    script = folder / ("ppo.py" if discrete else "ppo_continuous_action.py")
    gymnasium.register("Benchmarked-v0", entry_point=lambda render_mode=None: task.make())
    as_in_0_29()
    torch.set_num_threads(1)
    sys.argv = [str(script), "--env-id", "Benchmarked-v0", "--total-timesteps", str(task.steps),
                "--seed", str(seed), "--no-cuda"]
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(sys.stderr):
        os.chdir(place)             # it writes runs/
        made = runpy.run_path(str(script), run_name="__main__")
    taken = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu": round(taken.ru_utime + taken.ru_stime, 1),
                      "steps": int(made["global_step"]), "last": play(made, seed)}))


class Vector(gymnasium.vector.SyncVectorEnv):
    """As Gymnasium 0.29 had it: an env that ends is reset in the same step. The scripts would only
    print infos, of which 1.x has other ones."""

    def __init__(self, env_fns):
        super().__init__(env_fns, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)

    def step(self, actions):
        return (*super().step(actions)[:4], {})


def as_in_0_29() -> None:
    """Vectors as above, and a function of observations needs no space."""
    transform = gymnasium.wrappers.TransformObservation
    gymnasium.vector.SyncVectorEnv = Vector
    gymnasium.wrappers.TransformObservation = lambda env, function: transform(
        env, function, env.observation_space)


def play(made: dict, seed: int) -> float:
    """The mean return of fresh episodes, with the scales of observations that training found."""
    args = made["args"]
    env = made["make_env"](args.env_id, 0, False, "play",
                           *([args.gamma] if hasattr(made["agent"], "actor_logstd") else []))()
    with contextlib.suppress(AttributeError):
        env.get_wrapper_attr("obs_rms")
        env.set_wrapper_attr("obs_rms", made["envs"].envs[0].get_wrapper_attr("obs_rms"))
        env.set_wrapper_attr("update_running_mean", False)
    returns = []
    observation, _ = env.reset(seed=1_000_000 + seed)
    while len(returns) < EPISODES:
        with torch.no_grad():
            action = made["agent"].get_action_and_value(
                torch.Tensor(np.asarray(observation)[None]))[0]
        observation, _, terminal, truncated, info = env.step(action[0].numpy())
        if terminal or truncated:
            returns.append(float(info["episode"]["r"]))
            observation, _ = env.reset()
    return float(np.mean(returns))


if __name__ == "__main__":
    main()
