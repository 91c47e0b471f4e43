"""A warm process that forks children.  modules to import -> children that start in milliseconds

A child of child_process.py starts Python and imports what its target needs: about a second. A Warm
process has imported all of it and copies itself for each child. Copies are as separate as any
children: env code that crashes, leaks or changes its globals does not affect later ones.

    warm = Warm(["puffer_sdk.training.train_worker"])
    child = Child(target, job, warm=warm)           # one at a time
    warm.close()
"""
from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from importlib import import_module

from ..base import processes

MESSAGE = 1 << 16


class Forked:
    """One child of a Warm process: what child_process.py uses of subprocess.Popen."""

    def __init__(self, warm: Warm, pid: int):
        self.warm, self.pid = warm, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The status as Popen has it; None while the child runs."""
        if self.returncode is None:
            try:
                self.returncode = self.warm.receive(socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            except OSError:             # closed on our side
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self) -> int:
        while (status := self.poll()) is None:
            time.sleep(0.001)
        return status


class Warm:
    """The process that forks. Where it has died, `start` makes a new one.

    modules     to import before the first child
    variables   environment variables to set, such as OMP_NUM_THREADS
    """

    def __init__(self, modules: list[str], variables: dict[str, str] | None = None):
        self.modules, self.variables = modules, variables or {}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, command: list[str], folder: str, files: list[int]) -> Forked:
        """Fork a child that runs child_main(page, *command), in `folder`.

        files   descriptors of: the page, standard input, standard output
        """
        for _ in range(2):
            if self.process is None or self.process.poll() is not None:
                self._open()
            with contextlib.suppress(OSError):
                socket.send_fds(self.socket, [json.dumps([command, folder]).encode()], files)
                pid = self.receive()
                if pid > 0:
                    return Forked(self, pid)
            self.close()
        raise OSError("the process that forks workers dies")

    def receive(self, flags: int = 0) -> int:
        """The next number from the process; -SIGKILL once it is gone."""
        data = self.socket.recv(8, flags)
        return int.from_bytes(data, "little", signed=True) if data else -signal.SIGKILL

    def _open(self) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            processes.python("puffer_sdk.env.warm:serve", theirs.fileno(), *self.modules,
                             watch=False),      # a thread would not survive the fork
            stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
            env={**os.environ, **self.variables, "PYTHONFAULTHANDLER": "1"})
        theirs.close()

    def close(self) -> None:
        """End the process, and a child that is still at work."""
        if self.process is not None:
            self.socket.close()
            self.process.kill()
            self.process.wait()
            self.process = None


def serve(number: str, *modules: str) -> None:
    """The warm process: fork a child for each message, and send its pid, then its status.

    number  the socket's descriptor
    """
    for name in modules:
        import_module(name)
    channel, own = socket.socket(fileno=int(number)), os.getpid()
    while True:
        data, files, _, _ = socket.recv_fds(channel, MESSAGE, 3)
        if not data:
            return
        pid = os.fork()
        if not pid:
            processes.end_with(own)
            channel.close()
            _become(files, *json.loads(data))
        for each in files:
            os.close(each)
        channel.send(pid.to_bytes(8, "little", signed=True))
        _, status = os.waitpid(pid, 0)
        channel.send(os.waitstatus_to_exitcode(status).to_bytes(8, "little", signed=True))


def _become(files: list[int], command: list[str], folder: str) -> None:
    """The forked copy: the child that Popen would have started. Does not return."""
    from .child_pipe import child_main

    page, given, prints = files
    os.setsid()
    os.dup2(given, 0)
    os.dup2(prints, 1)
    os.dup2(prints, 2)
    os.close(given)
    os.close(prints)
    try:
        if folder:
            os.chdir(folder)
        child_main(str(page), *command)
    finally:
        os._exit(70)
