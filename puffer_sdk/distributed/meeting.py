"""Processes find each other in a store that outlives them.  store, Place -> a name for this meeting

torchrun's store stays the same when it starts the processes again, a new machine may join with
its own count of restarts, and keys of dead processes remain. So each process writes a unique
number, and rank 0 lists those that meet. Only a process that finds its own number in the list, and
confirms it, takes part. Later keys have the name of the meeting as their prefix.
"""
from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING

from ..base.errors import RunError
from .rank import Place

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

PAUSE = 0.05            # seconds between two looks


def meet(store: Store, place: Place, seconds: float) -> str:
    """The meeting's name, the same for all. Raises RunError where ranks are missing."""
    own, deadline = uuid.uuid4().hex, time.monotonic() + seconds
    store.set(f"hello/{place.rank}", own)
    name, hellos = "", list[str]()
    while time.monotonic() < deadline:
        if place.rank == 0:
            found = [_read(store, f"hello/{rank}") for rank in range(place.size)]
            if all(found) and found != hellos:
                name, hellos = uuid.uuid4().hex, found
                store.set("meeting", json.dumps([name, hellos]))
        else:
            name, hellos = json.loads(_read(store, "meeting") or '["", []]')
        if hellos and hellos[place.rank] == own:
            store.set(f"here/{name}/{place.rank}", "")
            if _is_complete(store, place, name):
                return name
        time.sleep(PAUSE)
    missing = [rank for rank in range(place.size)
               if not store.check([f"here/{name}/{rank}" if name else f"hello/{rank}"])]
    raise RunError("the processes of this run could not connect",
                   where=f"rank {place.rank} of {place.size}, {place.host}",
                   expected=f"{place.size} processes at {place.address}:{place.port} within "
                            f"{seconds:g} s",
                   actual=f"none of rank {', '.join(map(str, missing))}",
                   hint="check that their machines reach that address and port")


def _read(store: Store, key: str) -> str:
    return store.get(key).decode() if store.check([key]) else ""


def _is_complete(store: Store, place: Place, name: str) -> bool:
    """Whether all are here, as rank 0 has seen it."""
    if place.rank == 0 and store.check([f"here/{name}/{rank}" for rank in range(place.size)]):
        store.set(f"complete/{name}", "")
    return store.check([f"complete/{name}"])
