"""Python processes of ours.  a function and words -> the command that calls it, and no orphan

    subprocess.Popen(python("puffer_sdk.env.warm:serve", "7"), pass_fds=[7])

Each takes our sys.path. Nothing is imported from the folder that a user happens to stand in:
Python's own -m and -c look there first, and -P, which would not, is not in Python 3.10.
"""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

# before this has run, only built-in modules are imported
_BOOT = (r"import sys; sys.path[:] = sys.argv[1].split('\n'); "
         "from puffer_sdk.base.processes import begin; begin()")
LOOK = 1.0              # seconds between two looks at the parent, where the system does not tell
_parent: int | None = None


def python(target: str, *words: object, watch: bool = True) -> list[str]:
    """The command that calls target, "package.module:function", with these words as texts, and
    exits with what it returns.

    watch   whether a thread looks after the parent, where the system does not: not in a process
            that forks
    """
    return [sys.executable, "-c", _BOOT, "\n".join(search_path()),
            str(os.getpid() if watch else -os.getpid()), target, *map(str, words)]


def search_path() -> list[str]:
    """Our sys.path, with the current folder behind all that is installed where it stands for
    itself, and this package's own folder."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = [entry for entry in sys.path if entry]
    if "" in sys.path:
        found.append(os.getcwd())
    return found if own in found else [*found, own]


def begin() -> None:
    """The beginning of a process of python()."""
    parent, target, *words = sys.argv[2:]
    end_with(abs(int(parent)), watch=int(parent) > 0)
    from importlib import import_module

    sys.argv = [target, *words]
    module, _, function = target.partition(":")
    sys.exit(getattr(import_module(module), function)(*words))


def bound(command: Sequence[str]) -> list[str]:
    """The command that runs another program, which ends with this process: what `end_with` asks of
    the kernel holds for the program that takes its place. Not on macOS."""
    return python("puffer_sdk.base.processes:become", *command, watch=False)


def become(*command: str) -> None:
    os.execvp(command[0], command)


def python_code(code: str) -> list[str]:
    """The command that runs a few lines."""
    return python("puffer_sdk.base.processes:execute", code)


def execute(code: str) -> None:
    exec(code, {"__name__": "__main__"})


def age() -> float:
    """Seconds since this process was started, where the system tells; else 0."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def parent() -> int:
    """The process that started this one; it may have ended."""
    return os.getppid() if _parent is None else _parent


def end_with(number: int, watch: bool = True) -> None:
    """No process outlives its parent, not even one ended by kill -9, and not even one that ended
    before this call.

    number  of the parent, known from itself: a process that asks for it may be told of another
    """
    global _parent
    _parent = number
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)          # PR_SET_PDEATHSIG
    if os.getppid() != number:
        os._exit(0)
    if watch and sys.platform != "linux":
        import threading

        threading.Thread(target=_look, args=(number,), daemon=True).start()


def _look(number: int) -> None:
    while os.getppid() == number:
        time.sleep(LOOK)
    os._exit(0)


def cpu_seconds(pid: int) -> float:
    """CPU seconds of all threads of a process, so far; infinity where they are not known."""
    try:
        return time.clock_gettime(~pid << 3 | 2)        # Linux: the CPU clock of a process
    except OSError:
        return float("inf")


def wants_cpu(pid: int) -> bool:
    """Whether a thread of the process runs or waits for a core; False where that is not known."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as file:
                if file.read().rpartition(") ")[2].startswith("R"):
                    return True
    except OSError:
        pass
    return False
