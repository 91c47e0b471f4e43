"""One vectoriser on one workload, in the interpreter that has it: a line of JSON.

    PYTHON race.py VECTORISER WORKLOAD ENVS WORKERS SECONDS

Actions are drawn beforehand. CPU is of the whole process tree, from the scheduler's own counters;
the run is cut into slices, and the least CPU and the best rate of a slice count: on a busy machine
the other slices measure its neighbours.
"""
from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import games  # noqa: E402

DRAWN, SLICES = 64, 4
FILE = Path(games.__file__)
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def cpu_of_tree() -> float:
    """CPU seconds of this process and its descendants so far."""
    total, left = 0, [os.getpid()]
    while left:
        pid = left.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                path = Path(f"/proc/{pid}/task/{task}")
                total += int((path / "schedstat").read_text().split()[0])
                left += map(int, (path / "children").read_text().split())
    return total / 1e9


# ---- vectorisers: make(workload, envs, workers) -> (step, what closes it). step() takes one row of
# the drawn actions, (envs,) int64, and returns the number of environment steps that it made

def ours(workload: str, envs: int, workers: int):
    vec, count = our_vec(workload, envs, workers), envs
    vec.reset()
    buffer = vec.actions[:, 0]

    def step(actions):
        buffer[:] = actions
        vec.step()
        return count
    return step, vec.close


def ours_pool(workload: str, envs: int, workers: int):
    """send() and recv(): whoever is done first goes on."""
    vec = our_vec(workload, envs, workers)
    vec.reset()
    vec.send()

    def step(actions):
        ids = vec.recv(1)
        vec.actions[ids, 0] = actions[ids]
        vec.send(ids)
        return len(ids)
    return step, vec.close


def our_vec(workload: str, envs: int, workers: int):
    import puffer_sdk
    name = games.MAKERS[workload].__name__
    return puffer_sdk.wrap(f"{FILE}:{name}", envs, workers=workers, seed=0)


def loop(workload: str, envs: int, workers: int):
    """A plain Python loop over environments as they were made."""
    made = [games.MAKERS[workload]() for _ in range(envs)]
    for seed, env in enumerate(made):
        env.reset(seed=seed)

    def step(actions):
        for env, action in zip(made, actions):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return envs
    return step, lambda: [env.close() for env in made]


def gymnasium_vec(kind: str, workload: str, envs: int, workers: int):
    import gymnasium
    makers = [games.MAKERS[workload]] * envs
    vec = getattr(gymnasium.vector, kind)(makers)
    vec.reset(seed=0)
    return lambda actions: vec.step(actions) and envs, vec.close


def sb3(kind: str, workload: str, envs: int, workers: int):
    from stable_baselines3.common import vec_env
    maker = games.StructuredFlat if workload == "structured" else games.MAKERS[workload]
    vec = vec_env.DummyVecEnv([maker] * envs) if kind == "dummy" else \
        vec_env.SubprocVecEnv([maker] * envs, start_method="fork")
    vec.seed(0)
    vec.reset()
    return lambda actions: vec.step(actions) and envs, vec.close


def pufferlib(kind: str, workload: str, envs: int, workers: int):
    import pufferlib.emulation
    import pufferlib.vector
    maker = functools.partial(pufferlib.emulation.GymnasiumPufferEnv,
                              env_creator=games.MAKERS[workload])
    more = {} if kind == "Serial" else {"num_workers": workers, "overwork": True}
    vec = pufferlib.vector.make(maker, num_envs=envs, backend=getattr(pufferlib.vector, kind),
                                **more)
    vec.reset(seed=0)
    return lambda actions: vec.step(actions) and envs, vec.close


def torchrl(workload: str, envs: int, workers: int):
    import torch
    from torchrl.envs import GymWrapper, ParallelEnv
    maker = games.StructuredAnew if workload == "structured" else games.MAKERS[workload]
    vec = ParallelEnv(envs, lambda: GymWrapper(maker(), categorical_action_encoding=True),
                      mp_start_method="fork")
    state = vec.reset()

    def step(actions):
        nonlocal state
        state["action"] = torch.from_numpy(actions)
        _, state = vec.step_and_maybe_reset(state)
        return envs
    return step, vec.close


def envpool(workload: str, envs: int, workers: int):
    """EnvPool's own copy of the environment, in C++."""
    import envpool as package
    if workload != "cartpole":
        raise ImportError(f"it has no {workload}")
    vec = package.make_gymnasium("CartPole-v1", num_envs=envs, num_threads=workers)
    vec.reset()
    drawn = {}

    def step(actions):
        at = id(actions)
        if at not in drawn:
            drawn[at] = actions.astype(np.int32)
        vec.step(drawn[at])
        return envs
    return step, vec.close


def in_c(workload: str, envs: int, workers: int):
    """Our own copy of the environment, in C."""
    import puffer_sdk
    vec = puffer_sdk.make(FILE.parent.parent.parent / "examples" / workload, num_envs=envs)
    vec.reset()
    buffer = vec.actions[:, 0]

    def step(actions):
        buffer[:] = actions
        vec.step()
        return envs
    return step, vec.close


def adapter(kind: str, workload: str, envs: int, workers: int):
    """Our own copy of the environment, in C, through an adapter. kind: "to_sb3" or "to_vector".

    workers     so many times as many copies: there are no processes
    """
    import puffer_sdk
    more, times = {} if kind == "to_sb3" else {"autoreset": "same_step"}, workers or 1
    vec = getattr(puffer_sdk, kind)(workload, envs * times, **more)
    vec.reset()
    return lambda actions: vec.step(np.tile(actions, times)) and envs * times, vec.close


def our_vector(workload: str, envs: int, workers: int):
    """A Gymnasium vector over our workers."""
    from puffer_sdk.vector import Vector
    vec = Vector([games.MAKERS[workload]] * envs, workers=workers)
    vec.reset(seed=0)
    return lambda actions: vec.step(actions) and envs, vec.close


VECTORISERS = {
    "ours in C": in_c, "to_vector": functools.partial(adapter, "to_vector"),
    "to_sb3": functools.partial(adapter, "to_sb3"), "Vector": our_vector,
    "ours": ours, "ours, send and recv": ours_pool, "Python loop": loop,
    "Gymnasium Sync": functools.partial(gymnasium_vec, "SyncVectorEnv"),
    "Gymnasium Async": functools.partial(gymnasium_vec, "AsyncVectorEnv"),
    "SB3 Dummy": functools.partial(sb3, "dummy"), "SB3 Subproc": functools.partial(sb3, "subproc"),
    "PufferLib Serial": functools.partial(pufferlib, "Serial"),
    "PufferLib Multiprocessing": functools.partial(pufferlib, "Multiprocessing"),
    "TorchRL Parallel": torchrl, "EnvPool (C++)": envpool}


def race(step, envs: int, choices: int, seconds: float) -> dict:
    """{"rate": steps a second, "cpu_us": of a step}: the best slices."""
    rows = np.random.default_rng(0).integers(0, choices, (DRAWN, envs))
    for row in rows[:4]:
        step(row)
    rates, costs = [], []
    for _ in range(SLICES):
        count, cpu, began, at = 0, cpu_of_tree(), time.perf_counter(), 0
        while (wall := time.perf_counter() - began) < seconds / SLICES or not count:
            count += step(rows[at % DRAWN])
            at += 1
        rates.append(count / wall)
        costs.append((cpu_of_tree() - cpu) / count * 1e6)
    return {"rate": max(rates), "cpu_us": min(costs)}


def flatten(seconds: float) -> dict:
    """CPU microseconds of making one row of a structured observation, by whoever is here."""
    space = games.Structured.observation_space
    ob, found = games.Structured().ob, {}
    with contextlib.suppress(ImportError):
        from puffer_sdk.interop.python_envs import layouts
        from puffer_sdk.interop.python_envs.space_rows import observations_of
        for raw, label in ((True, "ours, in bytes"), (False, "ours, in floats")):
            plan = layouts.with_rows(observations_of(space), raw)
            write = plan.writer(np.zeros(plan.size, plan.dtype))
            found[label] = lambda write=write: write(ob)
    with contextlib.suppress(ImportError):
        from pufferlib import emulation
        dtype = emulation.dtype_from_space(space)
        struct = np.zeros((), dtype)
        found["PufferLib emulate, in bytes"] = lambda: emulation.emulate(struct, ob)
    if "ours, in floats" in found:
        from gymnasium import spaces
        found["Gymnasium flatten, in floats"] = lambda: spaces.flatten(space, ob)
    best = {}
    for name, work in found.items():
        costs = []
        for _ in range(SLICES):
            count, began = 0, time.thread_time()
            while (spent := time.thread_time() - began) < seconds / SLICES:
                for _ in range(100):
                    work()
                count += 100
            costs.append(spent / count * 1e6)
        best[name] = {"cpu_us": min(costs)}
    return best


def main() -> int:
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    name, workload, envs, workers, seconds = sys.argv[1:6]
    if workload == "flatten":
        found = flatten(float(seconds))
    else:
        step, close = VECTORISERS[name](workload, int(envs), int(workers))
        found = race(step, int(envs), games.ACTIONS[workload], float(seconds))
        with contextlib.suppress(Exception):
            close()
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)            # whatever a peer's workers do now
