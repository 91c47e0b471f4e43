"""The child's side.  a job and a shared page -> the target's events and its result

What env code may do without disturbing the run: close descriptors, change directory, fork (the
copy ends at once), install signal handlers, print as much as it likes.
"""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from importlib import import_module
from typing import TYPE_CHECKING

from ..base.errors import PufferError, RunError
from ..base.limited import PARTS
from .shared_memory import Page

if TYPE_CHECKING:
    from .abi import CObject


class Link:
    """What a target that runs in the child uses to talk to the parent."""

    def __init__(self, page: Page, log: str = ""):
        self.page = page
        self._log = log
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._armed = False
        self._emitted = 0

    @property
    def stop(self) -> bool:
        """True once the parent wants the work saved and ended."""
        return bool(self.page.head[0])

    def emit(self, kind: str, /, **payload: object) -> None:
        """Send an event. Payloads are JSON."""
        if os.getpid() != self._pid:    # an env forked: its copy has no business here
            os._exit(0)
        self.restore_descriptors()
        data = json.dumps([kind, payload]).encode()
        with self._lock:
            self.page.write(len(data).to_bytes(8, "little") + data)
            self._emitted += 1

    def wait_for_parent(self, behind: int = 0) -> None:
        """Wait until the parent has dealt with every event so far, but for the last `behind`.

        What it writes to a file then is there before what we write next, even if all of us are
        killed in between.
        """
        while int(self.page.head[3]) < self._emitted - behind:
            time.sleep(0.001)

    def emit_error(self, error: PufferError) -> None:
        """The parent raises it, and with that the work is over."""
        parts = {name: None if (value := getattr(error, name)) is None else str(value)
                 for name in PARTS}
        # the parent makes it again of base/errors.py: a subclass of another module goes as its base
        kind = next(each.__name__ for each in type(error).__mro__
                    if each.__module__ == PufferError.__module__)
        self.emit("error", kind=kind, parts=parts, quiet=error.quiet,
                  fits=getattr(error, "fits", None))

    def restore_descriptors(self) -> None:
        """Open the standard descriptors again if an env closed them.

        Otherwise the next file that is opened, a checkpoint say, would be what an env prints to.
        """
        for fd in range(3):
            try:
                os.fstat(fd)
            except OSError:             # open() takes the lowest number that is free: this one
                path, mode = ((self._log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
                              if fd and self._log else (os.devnull, os.O_RDWR))
                with contextlib.suppress(OSError):
                    os.open(path, mode)

    def watches(self, arm: bool = True) -> CObject:
        """The page's PufferWatch array as cffi sees it, for VecEnv(watches=...).

        arm     from here on, env code that calls exit() or fork() meets what `_arm` has laid out:
                not for Python, where a library may have a process of its own by a fork
        """
        from .abi import ffi
        if arm and not self._armed:
            self._armed = True
            _arm()
        return ffi().cast("PufferWatch*", self.page.watches.ctypes.data)


def _arm() -> None:
    """exit() in env code leaves at once with its status; the copy that fork() makes ends.

    Without this, exit() would run the destructors of libraries whose threads are still at work,
    and a forked copy would train along. glibc's calls; elsewhere emit() catches a copy later.
    """
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):
        leave = ctypes.cast(libc._exit, ctypes.c_void_p)
        libc.on_exit(leave, None)               # runs last: _exit(status)
        libc.__cxa_atexit(ctypes.cast(libc.fflush, ctypes.c_void_p), None, None)
        getattr(libc, "__register_atfork")(None, None, leave, None)     # noqa: B009


def _prepare() -> None:
    """What a process that runs env code needs: plain signals, prints that survive a crash."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    libc = ctypes.CDLL(None)
    with contextlib.suppress(ValueError, AttributeError):
        libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, 1, ctypes.c_size_t(0))


def child_main(fd: str, target: str, log: str) -> None:
    """Entry point of the child: job on stdin, events on the page.

    fd      the page's descriptor
    """
    page = Page(int(fd))
    os.close(int(fd))
    _prepare()
    link = Link(page, log)
    try:
        job = pickle.load(sys.stdin.buffer)
        module, _, function = target.partition(":")
        result = getattr(import_module(module), function)(job, link)
        link.emit("result", value=result)
    except PufferError as error:
        link.emit_error(error)
    except BaseException as error:
        if _is_out_of_memory(error):
            link.emit_error(RunError(
                "not enough memory", detail=str(error).partition("\n")[0] or None,
                hint="lower vec.total_agents, train.horizon, policy.hidden_size or "
                     "policy.num_layers"))
        else:
            link.emit("bug", text=traceback.format_exc())
    os._exit(0)                     # at once: what an env left in atexit is not our concern


def _is_out_of_memory(error: BaseException) -> bool:
    text = str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and (
        "can't allocate memory" in text or "out of memory" in text))
