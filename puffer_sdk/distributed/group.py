"""The processes that share a run, as one of them sees it.  arrays, bytes -> those of all ranks

torch.distributed carries everything: Gloo between CPUs, NCCL between GPUs, for tensors that live
there. Every call is made by all ranks, in the same order. An array is summed where it is, in the
order of ranks or of Gloo's ring: all ranks have the same bits. A call that fails raises an error
that names the rank that failed (failing.py).
"""
from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.errors import PufferError, RunError
from ..base.extras import require_torch
from .failing import Failures
from .meeting import meet
from .rank import Place

if TYPE_CHECKING:
    import torch
    from torch.distributed import ProcessGroup

MEET_SECONDS = 600.0    # that the first process waits for the last: it may have to compile
SHARED_BYTES = 4096     # of each rank's facts, that travel in one round
# Of all ranks together. Gloo's all_reduce goes around the ring twice. To gather all parts and to
# add them here is once: no byte more for two ranks, and quicker for more where they are short
GATHERED_BYTES = 65536

Facts = TypeVar("Facts", bound=Mapping[str, object])    # that a rank tells the others: JSON


class Alone:
    """A group of one process."""

    rank, size = 0, 1
    hosts: tuple[str, ...] = ()
    waited = 0.0        # seconds spent in exchanges, so far

    def sum(self, array: NDArray[np.generic] | torch.Tensor) -> None:
        """Add up the array over all ranks, in place. All have the same bytes then."""

    def share(self, facts: Facts) -> list[Facts]:
        """The facts of all ranks, in their order; JSON."""
        return [facts]

    def gather(self, data: bytes) -> list[bytes] | None:
        """The bytes of all ranks, as many of each, on rank 0; None elsewhere."""
        return [data]

    def broadcast(self, data: bytes | None) -> bytes:
        """Rank 0's bytes, on all ranks."""
        return data or b""

    def barrier(self) -> None:
        """Wait for all ranks."""

    def fail(self, error: PufferError) -> PufferError:
        """What to raise in place of an error that ends this rank, and thereby all others."""
        return error

    def stopping(self) -> None:
        """This rank was told to end, in the middle of an epoch."""

    def close(self) -> None:
        """Leave the group."""


class Group(Alone):
    """Several processes. Made by join(), or over a process group that exists already."""

    def __init__(self, process_group: ProcessGroup | None = None, *,
                 failures: Failures | None = None):
        require_torch("a run in several processes")
        import torch.distributed as dist

        self._group, self._failures, self.waited = process_group, failures, 0.0
        self.rank, self.size = dist.get_rank(process_group), dist.get_world_size(process_group)
        self._rooms: dict[tuple[torch.dtype, torch.Size], list[torch.Tensor]] = {}
        _let_others_run()
        self._first = 0 if process_group is None else dist.get_global_rank(process_group, 0)
        names = self.share({"host": failures.place.host if failures else _host()})
        self.hosts = tuple(facts["host"] for facts in names)
        if failures:
            failures.hosts = self.hosts

    # -- sums and bytes

    def sum(self, array: NDArray[np.generic] | torch.Tensor) -> None:
        """array: NumPy's, contiguous and writable, or a torch tensor."""
        import torch
        import torch.distributed as dist

        tensor = torch.from_numpy(array) if isinstance(array, np.ndarray) else array
        with self._together():
            if tensor.device.type != "cpu" or (
                    self.size > 2 and self.size * tensor.nbytes > GATHERED_BYTES):
                dist.all_reduce(tensor, group=self._group)
                return
            parts = self._room_for(tensor)
            dist.all_gather(parts, tensor, group=self._group)
        torch.add(parts[0], parts[1], out=tensor)
        for part in parts[2:]:
            tensor += part

    def _room_for(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """A tensor like this one for each rank; kept, as few sizes are asked for."""
        import torch

        key = tensor.dtype, tensor.shape
        if key not in self._rooms:
            if len(self._rooms) > 8:
                self._rooms.clear()
            self._rooms[key] = [torch.empty_like(tensor) for _ in range(self.size)]
        return self._rooms[key]

    def share(self, facts: Facts) -> list[Facts]:
        text = json.dumps(facts).encode()
        found = self._all(len(text).to_bytes(8, "little") + text, SHARED_BYTES)
        sizes = [int.from_bytes(each[:8], "little") for each in found]
        if max(sizes) + 8 > SHARED_BYTES:
            found = self._all(bytes(8) + text, max(sizes) + 8)
        return [json.loads(each[8:8 + size]) for each, size in zip(found, sizes)]

    def _all(self, data: bytes, room: int) -> list[bytes]:
        """So many bytes of each rank, on all."""
        import torch
        import torch.distributed as dist

        mine = torch.zeros(room, dtype=torch.uint8)
        mine[:min(len(data), room)] = _tensor(data[:room])
        found = [torch.empty_like(mine) for _ in range(self.size)]
        with self._together():
            dist.all_gather(found, mine, group=self._group)
        return [each.numpy().tobytes() for each in found]

    def gather(self, data: bytes) -> list[bytes] | None:
        import torch
        import torch.distributed as dist

        mine = _tensor(data)
        found = [torch.empty_like(mine) for _ in range(self.size)] if self.rank == 0 else None
        with self._together():
            dist.gather(mine, found, dst=self._first, group=self._group)
        return None if found is None else [each.numpy().tobytes() for each in found]

    def broadcast(self, data: bytes | None) -> bytes:
        import torch
        import torch.distributed as dist

        mine = data or b""
        size = torch.tensor([len(mine)])
        with self._together():
            dist.broadcast(size, src=self._first, group=self._group)
            if not int(size):
                return b""
            tensor = _tensor(mine) if self.rank == 0 else torch.empty(int(size), dtype=torch.uint8)
            dist.broadcast(tensor, src=self._first, group=self._group)
        return mine if self.rank == 0 else tensor.numpy().tobytes()

    def barrier(self) -> None:
        import torch

        self.sum(torch.zeros(1))

    # -- the end

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        """A call into torch.distributed. What it raises becomes an error that names a rank."""
        began = time.perf_counter()
        try:
            yield
        except RuntimeError as error:
            seconds = time.perf_counter() - began
            if self._failures:
                raise self._failures.find(seconds) from None
            raise RunError("communication between the processes of this run failed",
                           where=f"rank {self.rank} of {self.size}", detail=str(error)) from None
        finally:
            self.waited += time.perf_counter() - began

    def fail(self, error: PufferError) -> PufferError:
        return self._failures.tell(error) if self._failures else error

    def stopping(self) -> None:
        if self._failures:
            self._failures.tell_stopped()

    def close(self) -> None:
        """End a group that join() made, and let go of one that the caller made.

        Whoever keeps a process group keeps its threads, beyond destroy_process_group(). One that
        frees a tensor while Python exits aborts the process.
        """
        import torch.distributed as dist

        self._group = None
        if self._failures:
            self._failures.close()
            dist.destroy_process_group()


def join(place: Place | None, seconds: float, *, cuda: bool = False) -> Alone:
    """Meet the other processes. Alone where there are none.

    seconds   that a rank waits for another, from then on
    cuda      whether sums over tensors on GPUs will be asked for
    Raises UsageError without PyTorch, RunError where they do not meet.
    """
    if place is None or place.size == 1:
        return Alone()
    require_torch("a run in several processes")
    import torch.distributed as dist
    from torch._C._distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    # as env:// reads it; srun and mpirun have other names
    os.environ.update(RANK=str(place.rank), WORLD_SIZE=str(place.size),
                      MASTER_ADDR=place.address, MASTER_PORT=str(place.port))
    try:
        store, rank, size = next(rendezvous(
            "env://", place.rank, place.size, timeout=timedelta(seconds=MEET_SECONDS)))
        name = meet(PrefixStore("puffer", store), place, MEET_SECONDS)
        store = PrefixStore(name, store)
        failures = Failures(place, seconds, name)
        failures.begin()
        dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", store=store, rank=rank,
                                world_size=size, timeout=timedelta(seconds=seconds))
    except RuntimeError as error:
        raise RunError("the processes of this run could not connect",
                       where=f"rank {place.rank} of {place.size}, {place.host}",
                       detail=str(error), hint="check that each machine reaches "
                       f"{place.address}:{place.port} and the other machines") from None
    return Group(failures=failures)


def over(group: Alone | ProcessGroup | None) -> Alone:
    """A Group over what the caller has: a Group, a torch process group, or None: Alone."""
    if group is None:
        return Alone()
    return group if isinstance(group, Alone) else Group(group)


def _let_others_run() -> None:
    """Keep Gloo's loop from displacing the thread that it waits for.

    The loop spins while another thread of Gloo holds its lock (gloo/transport/tcp/pair.cc,
    handleEvents). Woken on that thread's core, it would spin there until the kernel's next tick,
    4 ms: one sum in five. A batch thread displaces nobody when it wakes. Linux; elsewhere nothing.
    """
    tasks = Path("/proc/self/task")
    for task in tasks.iterdir() if tasks.is_dir() else ():
        with contextlib.suppress(OSError):          # it has ended; or this is not permitted
            if (task / "comm").read_text().strip() == "gloo_tcp_loop":
                os.sched_setscheduler(int(task.name), os.SCHED_BATCH, os.sched_param(0))


def _tensor(data: bytes) -> torch.Tensor:
    import torch

    return torch.from_numpy(np.frombuffer(data, np.uint8).copy())


def _host() -> str:
    import socket

    return socket.gethostname()
