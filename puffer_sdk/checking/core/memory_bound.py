"""A bound on the memory of all experiments together.  their processes -> which one has to end

The address space of a process can be limited, but not what several use together, and a sanitizer
needs terabytes of it. So whoever waits for an experiment looks at all of them now and then.
"""
import threading
import time
from collections.abc import Iterable

from ...base import process_memory

PERIOD = 0.1                # seconds between two looks
GIB = 1 << 30
MEMORY = 4 * GIB


class Bound:
    """Looks at processes, at most once in PERIOD."""

    def __init__(self, limit: int = MEMORY):
        self.limit = limit
        self._lock, self._looked = threading.Lock(), 0.0

    def exceeded_by(self, pids: Iterable[int]) -> int | None:
        """The process whose tree uses the most, if all together use more than the limit."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked < PERIOD:
                return None
            self._looked = now
            for measure in (process_memory.used_by_tree, process_memory.share_of_tree):
                used = {pid: measure(pid) for pid in pids}
                if sum(used.values()) <= self.limit:
                    return None
            return max(used, key=lambda pid: used[pid])
