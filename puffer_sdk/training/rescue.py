"""A stop within a long epoch.  the parent's request -> what was saved last, and the end"""
from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

from ..base.errors import PufferError
from ..distributed.group import Alone
from ..env.child_pipe import Link

RESCUE = 4.0                        # seconds that a signal waits for the current epoch


def rescue(link: Link, group: Alone, saving: threading.Lock, save: Callable[[], None],
           outcome: Callable[[], Mapping[str, object]]) -> None:
    """Runs on a thread. If the stop comes within a long epoch (or an env's endless loop), save the
    state before that epoch, and end."""
    while not link.stop:
        time.sleep(0.05)
    time.sleep(RESCUE)
    saving.acquire()
    group.stopping()                # the other ranks have their own part of the last checkpoint
    try:
        if group.size == 1:
            save()
        link.emit("result", value=outcome())
    except PufferError as error:
        link.emit_error(error)
    os._exit(0)
