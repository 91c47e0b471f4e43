"""Which rank failed, and why.  a broken exchange -> one error that names rank, host and cause

Each rank has a pulse: a number in the group's store that a thread raises twice a second. A rank
that ends with an error first writes it there. So when an exchange breaks, the others know which
rank failed and why, or whose pulse stopped: it was killed, hangs, or its network is cut.

On each machine only the first rank that fails prints its error: one error is shown, not one for
every process.
"""
from __future__ import annotations

import contextlib
import json
import threading
import time
from datetime import timedelta

from ..base.errors import PufferError, RunError
from .rank import Place

PULSE = 0.5             # seconds between two pulses
SILENCE = 3.0           # seconds without one, after which a rank counts as gone
STORE_SECONDS = 5.0     # that the store may take to answer


class Elsewhere(RunError):
    """Why an exchange broke. stopped: another rank had to end (Ctrl-C) before its epoch did"""

    stopped = False


class Failures:
    """The pulse of this rank, and a look at those of the others."""

    def __init__(self, place: Place, seconds: float, meeting: str):
        """seconds: how long an exchange waits. meeting: the prefix of keys in the store"""
        from torch._C._distributed_c10d import PrefixStore, TCPStore

        self.place, self.seconds = place, seconds
        self.hosts: tuple[str, ...] = ()
        # a connection of its own: the group's waits inside of calls
        store = TCPStore(place.address, place.port, None, False,
                              timeout=timedelta(seconds=STORE_SECONDS), wait_for_workers=False)
        self._store = PrefixStore(f"puffer/{meeting}", store)
        self._closed, self._lock = threading.Event(), threading.Lock()

    def begin(self) -> None:
        """Start the pulse."""
        self._beat(0)
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _beat(self, number: int) -> None:
        with self._lock:
            self._store.set(f"pulse/{self.place.rank}", str(number))

    def _run(self) -> None:
        number = 0
        while not self._closed.wait(PULSE):
            number += 1
            with contextlib.suppress(RuntimeError):     # the store's own machine may be gone
                self._beat(number)

    # -- this rank fails

    def tell(self, error: PufferError) -> PufferError:
        """Report why this rank ends. Returns what to raise: quiet where another rank of this
        machine has failed before."""
        if isinstance(error, Elsewhere):
            error = RunError(error.message, where=error.where, hint=error.hint)
        else:
            error.message = f"rank {self.place.rank} on {self.place.host}: {error.message}"
            self._write(error.message)
        error.quiet = not self._is_first()
        self._leave()
        return error

    def tell_stopped(self) -> None:
        """This rank was told to end in the middle of an epoch."""
        self._write(f"rank {self.place.rank} on {self.place.host} was told to end", stopped=True)

    def _write(self, message: str, stopped: bool = False) -> None:
        """Report it to the others, unless a rank has reported before: what fails later follows."""
        with contextlib.suppress(RuntimeError), self._lock:
            if not self._store.check(["verdict"]):
                self._store.set("verdict", json.dumps([message, stopped]))

    def _leave(self) -> None:
        """Without torchrun's agent the store is rank 0's and ends with it: rank 0 waits for the
        others to leave."""
        if self.place.group_id:
            return
        deadline = time.monotonic() + SILENCE
        with contextlib.suppress(RuntimeError):
            with self._lock:
                self._store.set(f"left/{self.place.rank}", "")
            while self.place.rank == 0 and time.monotonic() < deadline and not self._store.check(
                    [f"left/{rank}" for rank in range(self.place.size)]):
                time.sleep(0.05)

    def _is_first(self) -> bool:
        """Whether no other rank of this machine has failed."""
        try:
            with self._lock:
                return self._store.add(f"said/{self.place.host}", 1) == 1
        except RuntimeError:
            return True

    # -- another one fails

    def find(self, waited: float) -> Elsewhere:
        """Why an exchange broke. waited: seconds that it took"""
        try:
            message, stopped = self._verdict() or (self._judge(waited), False)
        except RuntimeError:
            message, stopped = (f"the store of this group, at {self.place.address}:"
                                f"{self.place.port}, does not answer: its process or machine is "
                                "gone, or the network is cut"), False
        error = Elsewhere(message, where=f"rank {self.place.rank} on {self.place.host} waited for "
                                         "its numbers")
        error.stopped = stopped
        return error

    def _judge(self, waited: float) -> str:
        """Whose pulse stopped, unless a rank reports its failure first."""
        hung = waited > 0.9 * self.seconds
        first, deadline = self._look(), time.monotonic() + SILENCE
        while time.monotonic() < deadline:
            if verdict := self._verdict():
                return verdict[0]
            time.sleep(0.1)
        silent = [rank for rank, pulse in enumerate(self._look())
                  if pulse == first[rank] and rank != self.place.rank]
        if not silent:
            message = f"all ranks are alive, but an exchange took more than {self.seconds:g} s" \
                if hung else "the connection between two ranks broke"
        else:
            cause = f"hangs, or its network is cut: no answer for {waited:.0f} s" if hung else \
                "ended without an error: it was killed, or its machine or network is gone"
            message = " and ".join(f"rank {rank} on {self._host(rank)}" for rank in silent) \
                + f" {cause}"
        self._write(message)
        return message

    def _look(self) -> list[bytes]:
        """The pulses of all ranks."""
        with self._lock:
            keys = [f"pulse/{rank}" for rank in range(self.place.size)]
            return [self._store.get(key) if self._store.check([key]) else b"" for key in keys]

    def _verdict(self) -> tuple[str, bool] | None:
        """What a rank reported: the message, and whether it was told to end."""
        with self._lock:
            if not self._store.check(["verdict"]):
                return None
            message, stopped = json.loads(self._store.get("verdict"))
            return message, stopped

    def _host(self, rank: int) -> str:
        return self.hosts[rank] if self.hosts else "its machine"
