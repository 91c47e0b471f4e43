"""A worker process.  messages on a socket, steps in shared memory -> rows

The parent sends what to open over the socket; after that it only counts up. A message is a pickled
tuple, and each gets one answer:

    ("probe", maker)                -> ("facts", Facts), and again with a second instance's
    ("open", part), then a file     -> ("opened",)      the environments are made
    ("anew", part)                  -> ("opened",)      they are closed, and others are made
    ("render", number)              -> ("found", what render() returned)
    ("call", number, name, args, keywords), ("set_attr", number, name, value)   likewise
    ("close",)                      -> ("closed",)

or ("raised", Failure). While environments are open, a message counts only after the lane was asked
for a LANE_CALL. What an environment raises in a step ends the lane: it says so in its state, and
the Failure waits in the socket.
"""
from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import traceback
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from ...base import processes
from ...base.errors import PufferError
from ...env.abi import CObject
from . import probe_env, shared_rows
from .games.base import INIT, EnvError, Lane, Part
from .games.lane_kinds import open_lane
from .lanes import SPINS, ffi, library
from .shared_rows import Block, PoolBlock

PATIENCE = 1_000_000_000                # nanoseconds between two looks whether the parent lives


Message = tuple[Any, ...]               # its name, and what belongs to it


@dataclass
class Failure:
    """What ended a lane, or a message.

    parts       of a PufferError: its fields; else None
    kind        the exception's class
    text        str() of it
    trace       the worker's traceback
    pickled     the exception itself, if that can be
    env         index over all lanes; -1: none was running
    phase       STEP, ...; 0: none
    """

    kind: str
    text: str
    trace: str
    pickled: bytes | None = None
    parts: dict[str, str | None] | None = None
    env: int = -1
    phase: int = 0

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        env, phase = -1, 0
        if isinstance(error, EnvError):
            env, phase, error = error.env, error.phase, error.cause
        parts: dict[str, str | None] | None = None
        pickled = None
        if isinstance(error, PufferError):
            parts = {name: None if (value := getattr(error, name)) is None else str(value)
                     for name in ("message", "where", "expected", "actual", "hint", "detail",
                                  "code")}
        else:
            with contextlib.suppress(Exception):
                pickled = pickle.dumps(error)
                pickle.loads(pickled)           # some can only be written
        trace = "".join(traceback.format_exception(type(error), error, _theirs(error)))
        return cls(type(error).__name__, str(error), trace, pickled, parts, env, phase)


def _theirs(error: BaseException) -> TracebackType | None:
    """The part of a traceback that is not in this package, if there is one."""
    trace, here = error.__traceback__, os.path.dirname(__file__)
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename.startswith(here):
        inner = inner.tb_next
    return inner or trace


def main(fd: str, answering: str = "") -> None:
    """The process: answer messages until the parent is gone.

    fd          the channel's descriptor
    answering   "module:function" that returns what is called with the socket and each message;
                "": messages as above
    """
    answer = answer_closed
    if answering:
        module, _, name = answering.partition(":")
        answer = getattr(import_module(module), name)()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    channel = Connection(int(fd))
    with contextlib.suppress(EOFError, OSError):
        while True:
            message = channel.recv()
            try:
                answer(channel, message)
            except (EOFError, OSError, BrokenPipeError):
                raise
            except BaseException as error:
                channel.send(("raised", Failure.of(error)))


def answer_closed(channel: Connection, message: Message) -> None:
    """One message to a worker whose lane is closed."""
    if message[0] == "probe":
        try:
            env = message[1]()
            facts = probe_env.probe(env)
        except Exception as error:
            raise EnvError(-1, INIT, error) from error
        channel.send(("facts", facts))
        facts = probe_env.beside(facts, message[1], env)
        with contextlib.suppress(Exception):
            env.close()
        channel.send(("facts", facts))
    elif message[0] == "open":
        part = message[1]
        block = PoolBlock(part.sizes, receive_file(channel))
        block.close_fd()
        lane = open_lane(part, block)
        channel.send(("opened",))
        serve(channel, lane, block, part)
    else:
        channel.send(("closed",))


def send_file(channel: Connection, fd: int) -> None:
    with socket.socket(fileno=os.dup(channel.fileno())) as end:
        socket.send_fds(end, [b"F"], [fd])


def receive_file(channel: Connection) -> int:
    with socket.socket(fileno=os.dup(channel.fileno())) as end:
        _, files, _, _ = socket.recv_fds(end, 1, 1)
    return files[0]


class Turns:
    """A lane's counters, as its worker sees them."""

    def __init__(self, block: Block, lane: int):
        c: CObject = ffi()
        at = block.lanes[lane].ctypes.data
        self._go = c.cast("LaneCounter*", at)
        self._done = c.cast("LaneCounter*", at + shared_rows.DONE_AT)
        self._bell = c.cast("LaneCounter*", block.bell.ctypes.data)
        self._wait, self._post, self._ring = (getattr(library(), name) for name in
                                              ("lane_wait", "lane_post", "lane_ring"))
        self._parent, self._count = processes.parent(), int(self._done.value)

    def wait(self) -> None:
        """Until the parent asks for something. Ends the process if the parent is gone."""
        self._count += 1
        while self._wait(self._go, self._count, SPINS, PATIENCE):
            if os.getppid() != self._parent:
                os._exit(0)

    def done(self) -> None:
        """Say that it is done."""
        self._post(self._done, self._count)
        self._ring(self._bell)


def serve(channel: Connection, opened: Lane[Any], block: PoolBlock, part: Part) -> None:
    """Step when asked, until the lane is closed."""
    lane: Lane[Any] | None = opened
    words, turns = opened.words, Turns(block, part.lane)
    while lane is not None:
        turns.wait()
        try:
            command = words[shared_rows.COMMAND]
            if command == shared_rows.STEP:
                lane.step()
            elif command == shared_rows.RESET:
                lane.reset()
            else:
                lane = call(channel, lane, block)
        except BaseException as error:
            channel.send(("raised", Failure.of(error)))
            words[shared_rows.STATE] = shared_rows.RAISED
        turns.done()


def call(channel: Connection, lane: Lane[Any], block: PoolBlock) -> Lane[Any] | None:
    """The message that waits. Returns the lane from now on; None: it is closed."""
    if not channel.poll():
        return lane                     # it went to the process whose place this one took
    message = channel.recv()
    if message[0] == "close":
        lane.close()
        channel.send(("closed",))
        return None
    if message[0] == "anew":
        lane.close()
        lane = open_lane(message[1], block)
        channel.send(("opened",))
        return lane
    try:
        kind, *given = message
        found = ("found", getattr(lane, kind)(*given))      # "render", "call", "set_attr"
    except BaseException as error:
        found = ("raised", Failure.of(error))
    channel.send(found)
    return lane
