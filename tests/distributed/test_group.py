"""Two real processes over Gloo: sums and bytes, and what is said where one of them fails."""
from __future__ import annotations

import sys

import pytest
from helpers.groups import Group
from helpers.places import TESTS
from helpers.short_or_long import short_or_long

from puffer_sdk.base import extras
from puffer_sdk.base.errors import UsageError
from puffer_sdk.distributed import group as joining
from puffer_sdk.training.action_log import checksum, shown

HEAD = f"""
import os, sys, time
sys.path.insert(0, {str(TESTS)!r})
import numpy as np
from puffer_sdk.base.errors import PufferError, RunError
from puffer_sdk.distributed import rank
from puffer_sdk.distributed.failing import Elsewhere
from puffer_sdk.distributed.group import join
place = rank.find()
group = join(place, 5.0)
"""

CALLS = HEAD + """
import torch
rank = group.rank
every = sum(range(1, group.size + 1))
for dtype in (np.float32, np.float64):
    array = np.arange(5, dtype=dtype) * (rank + 1)
    group.sum(array)
    assert array.tolist() == [0, every, 2 * every, 3 * every, 4 * every], array
for size in (3, 20_000):            # of more than two ranks gathered, and reduced
    array = np.full(size, 0.1 * (rank + 1), np.float32)
    want = np.float32(0.1)
    for other in range(1, group.size):
        want += np.float32(0.1 * (other + 1))
    group.sum(array)
    assert (np.abs(array - want) < 1e-6).all(), array
    assert len(set(facts["bits"] for facts in group.share({"bits": array.tobytes().hex()}))) == 1
if group.size > 2:
    group.close()
    sys.exit(print("done"))
tensor = torch.full((3,), 1.0 + rank)
group.sum(tensor)
assert tensor.tolist() == [3, 3, 3]
assert group.share({"rank": rank}) == [{"rank": 0}, {"rank": 1}]
long = ["x" * 3000, "y" * 9000]
assert group.share({"text": long[rank]}) == [{"text": text} for text in long]
nan = group.share({"value": float("inf"), "third": 1 / 3})
assert nan[1] == {"value": float("inf"), "third": 1 / 3}
found = group.gather(bytes([rank] * 4))
assert found == ([bytes(4), bytes([1] * 4)] if rank == 0 else None), found
assert group.broadcast(b"from the first" if rank == 0 else None) == b"from the first"
assert group.broadcast(b"" if rank == 0 else None) == b""
group.barrier()
assert group.waited > 0 and len(group.hosts) == 2
group.close()
print("done")
"""

FAILS = HEAD + """
array = np.zeros(1000, np.float32)
group.sum(array)
if group.rank == 1:
    {how}
try:
    group.sum(array)
except Elsewhere as error:
    error = group.fail(error)
    print(error.message, "|", error.quiet)
"""


def run(script: str, size: int = 2) -> list[tuple[int, str, str]]:
    with Group(size, [sys.executable, "-c", script]) as group:
        return group.finish()


@pytest.mark.parametrize("size", short_or_long([3], [2, 3]))
def test_sums_and_bytes_of_processes(size):
    for status, out, err in run(CALLS, size):
        assert (status, out) == (0, "done\n"), err


@pytest.mark.parametrize("how, message, quiet", [
    ("os._exit(3)", "rank 1 on {host} ended without an error: it was killed, or its machine or "
                    "network is gone", False),
    ("group.fail(RunError('the sky fell')); os._exit(4)",
     "rank 1 on {host}: the sky fell", True)])
def test_a_process_that_ends_is_named(how, message, quiet):
    import socket

    (status, out, err), _ = run(FAILS.format(how=how))
    assert status == 0, err
    assert out == f"{message.format(host=socket.gethostname())} | {quiet}\n"


def test_a_process_that_hangs_is_named_after_the_timeout():
    with Group(2, [sys.executable, "-c", FAILS.format(
            how="import signal; os.kill(os.getpid(), signal.SIGSTOP)")]) as group:
        out, err = group.processes[0].communicate(timeout=60)
    assert "rank 1 on " in out and "hangs, or its network is cut: no answer for 5 s" in out, err


TRAINER = HEAD + """
from helpers.ranks import part_of_vec
import puffer_sdk, torch.distributed as dist
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env import open_env
from puffer_sdk.settings import config
library = open_env.load(sys.argv[1])
vec = part_of_vec(library, 64, group, env_settings=config.resolve(sys.argv[1]).env)
settings = {"train.horizon": 8, "train.minibatch_size": 256, "train.total_timesteps": 2048,
            "train.device": "cpu", "policy.hidden_size": 16, "vec.num_threads": 1}
with puffer_sdk.Trainer(vec, settings, group=dist.group.WORLD) as trainer:
    assert (trainer.agents, trainer.batch_size, trainer.total_epochs) == (32, 512, 4)
    assert trainer.config.vec.total_agents == 64
    while not trainer.finished:
        trainer.rollout()
        trainer.update()
    import zlib
    print(trainer.global_step, zlib.crc32(trainer.parameters["decoder"]))
try:
    puffer_sdk.Trainer(vec, {**settings, "train.minibatch_size": 8 * 3}, group=group)
except UsageError as error:
    print(error.message)
group.close()
print(sum("gloo" in open(f"/proc/self/task/{task}/comm").read()
          for task in os.listdir("/proc/self/task")), "threads left")
"""


def test_a_trainer_takes_a_process_group(games):
    with Group(2, [sys.executable, "-c", TRAINER, games["squared"]]) as group:
        first, second = group.finish()
    assert first[0] == 0, first[2]
    assert first[1] == second[1] and first[1].startswith("2048 ")
    assert "minibatch_size = 24 cannot be shared by 2 processes" in first[1]
    assert "\n0 threads left\n" in first[1], "whoever keeps a process group keeps its threads"


def test_without_pytorch_one_sentence_says_what_is_needed(monkeypatch):
    monkeypatch.setattr("puffer_sdk.base.extras.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="requires PyTorch") as caught:
        joining.join(type("Place", (), {"size": 2})(), 1.0)
    assert caught.value.hint == extras.install_torch()
    assert joining.join(None, 1.0).size == 1


def test_the_checksum_of_parts_is_that_of_the_whole():
    import zlib
    from types import SimpleNamespace

    import numpy as np

    random = np.random.default_rng(1)

    def vec(rows):
        return SimpleNamespace(observations=random.integers(0, 255, (rows, 5), np.uint8),
                               **{name: random.random(rows, np.float32) for name in
                                  ("rewards", "terminals", "truncations")})

    parts = [vec(rows) for rows in (3, 1, 4)]
    crc = 0
    for name in ("observations", "rewards", "terminals", "truncations"):
        whole = np.concatenate([getattr(part, name) for part in parts])
        crc = zlib.crc32(whole, crc)
    assert checksum([shown(part) for part in parts]) == crc
    assert checksum([shown(part) for part in parts[::-1]]) != crc
