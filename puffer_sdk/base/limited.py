"""Reads an author's text with a limit, in a child process.  a request -> an answer, or why not

    answer = limited.call("puffer_sdk.env.answers:answer", {"folder": "..."}, what="toy.h")

A header can ask for any time and memory: macros that double, an #include of /dev/zero. The child
may take `limits()`; what it answers is JSON. Preprocessors and gcov, which read the same text, run
under the same limits: `words`.
"""
from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import IO

from . import process_memory, processes
from .errors import BuildError, UsageError
from .records import Json

VARIABLE = "PUFFER_READ_LIMIT"      # SECONDS,GB: what --read-limit says
IDLE = 5.0                          # seconds without CPU time: it waits for something, such as a
#                                     pipe in place of a header
PARTS = ("message", "where", "expected", "actual", "hint", "detail", "code")     # of an error
LARGEST = 256 << 20                 # bytes of an answer
_FULL = re.compile(rb"(out of|virtual) memory|bad_alloc|Allocation failed", re.I)   # LLVM, gcc
CHILD = "puffer_sdk.base.limited:child_main"


@dataclass(frozen=True)
class Limits:
    """What reading may take: CPU seconds, and bytes of memory."""

    seconds: int = 30
    memory: int = 2 << 30

    def __str__(self) -> str:
        return f"{self.seconds} s of CPU time and {self.memory / (1 << 30):g} GB"


def parse(text: str) -> Limits:
    """Limits of a text such as 120,8. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,6})(?:,(\d{1,4}(?:\.\d+)?))?", text.strip())
    seconds, memory = (int(found[1]), float(found[2] or 2)) if found else (0, 0.0)
    if not seconds or not memory:
        raise UsageError("invalid --read-limit", where="--read-limit",
                         expected="SECONDS or SECONDS,GB, such as 120,8", actual=text)
    return Limits(seconds, int(memory * (1 << 30)))


def limits() -> Limits:
    """Those that hold in this process and its children."""
    given = os.environ.get(VARIABLE)
    return parse(given) if given else Limits()


def call(target: str, request: Mapping[str, object], *, what: str, where: object = None) -> Json:
    """What target(request) returns in a child, as JSON.

    target  "module:function" of this package
    what    is read: "toy.h"
    Raises BuildError where the target does, where it takes more than limits(), or crashes.
    """
    allowed = limits()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(json.dumps({**request, "seconds": allowed.seconds,
                                "memory": allowed.memory}).encode())
        given.seek(0)
        program, *ours = processes.python(CHILD, target)
        child = subprocess.Popen(       # -S: sys.path is handed over
            [program, "-I", "-S", *ours], stdin=given, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True)
        assert child.stdout
        out = child.stdout
        try:
            said, idle = _read(child.pid, out)
            status = child.wait() if idle is None else None
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
            out.close()
        errors.seek(0)
        full = bool(_FULL.search(errors.read(1 << 20)))
    with contextlib.suppress(ValueError):
        answer = json.loads(said) if status == 0 else {}
        if "answer" in answer:
            return answer["answer"]
        if "refused" in answer:
            raise BuildError(**answer["refused"])
        full = full or answer.get("full", False)
    lacks = "time" if status in (-signal.SIGXCPU, -signal.SIGKILL) else "memory" if full else ""
    if idle:
        raise BuildError(f"{what} cannot be read: {idle}", where=where or what,
                         hint="is each #include a file?")
    raise refusal(what, where, lacks, allowed)


def _read(pid: int, out: IO[bytes]) -> tuple[bytes, str | None]:
    """What a process wrote; and why reading stopped before its end, if it did."""
    said, seen, since = bytearray(), -1.0, time.monotonic()
    while len(said) < LARGEST:
        if select.select([out], [], [], 1.0)[0]:
            chunk = os.read(out.fileno(), 1 << 20)
            if not chunk:
                return bytes(said), None
            said += chunk
            since = time.monotonic()
        used = processes.cpu_seconds(pid)
        # a C compiler that the child asks works in a process of its own
        if used > seen or any(map(processes.wants_cpu, process_memory.tree(pid))):
            seen, since = used, time.monotonic()
        if time.monotonic() - since > (IDLE if math.isfinite(used) else 10 * IDLE):
            return b"", "it waits for something"
    return b"", "its answer does not end"


def words(command: Sequence[str]) -> list[str]:
    """A command that runs under the same limits, or lower ones that hold already."""
    allowed = limits()
    # the soft limit first: none may be above its hard one
    return ["sh", "-c", f"{{ ulimit -St {allowed.seconds}; ulimit -Ht {allowed.seconds + 1}; "
            f"ulimit -v {allowed.memory >> 10}; }} 2>/dev/null; exec \"$@\"", "sh", *command]


def lacking(text: str, status: int) -> str:
    """What a command of words() lacked, by what it said and its status: "time", "memory" or ""."""
    if "CPU time limit exceeded" in text or status in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        return "time"
    return "memory" if _FULL.search(text.encode(errors="replace")) else ""


def refusal(what: str, where: object, lacks: str, allowed: Limits | None = None) -> BuildError:
    """What to raise where reading lacks "time", "memory" or, by a crash, ""."""
    allowed, place = allowed or limits(), where or what
    raised = Limits(4 * allowed.seconds, 4 * allowed.memory)
    hint = ("look for a macro that expands without end, a huge number or an #include that is no "
            "header; to allow more: puffer-sdk --read-limit "
            f"{raised.seconds},{raised.memory / (1 << 30):g} COMMAND")
    if lacks:
        return BuildError(f"reading {what} takes too much {lacks}", where=place,
                          expected=f"at most {allowed}", hint=hint)
    return BuildError(f"{what} cannot be parsed: its nesting or size crashes libclang",
                      where=place, hint=hint)


# ---- the child ---------------------------------------------------------------------------------

def child_main(target: str) -> None:
    """Entry point of the child: a request on stdin, JSON on stdout."""
    out = os.dup(1)
    os.dup2(2, 1)                       # what libraries print is no answer
    request = json.load(sys.stdin.buffer)
    _bound(request["seconds"], request["memory"])
    try:
        module, _, function = target.partition(":")
        said = json.dumps({"answer": getattr(import_module(module), function)(request)},
                          default=str)
    except BuildError as error:
        said = json.dumps({"refused": {name: getattr(error, name) for name in PARTS}}, default=str)
    except MemoryError:
        said = json.dumps({"full": True})
    except RecursionError:
        said = json.dumps({})
    except Exception as error:
        if type(error).__name__ != "TranslationUnitLoadError":      # libclang's word for a crash
            raise
        said = json.dumps({})
    with os.fdopen(out, "w") as file:
        file.write(said)
    os._exit(0)


def _bound(seconds: int, memory: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

