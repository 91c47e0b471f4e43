"""Run an untrusted program.  a command and what it may read -> what it printed, and why it ended

    box = find("auto")                      bubblewrap, else unshare of util-linux; or UsageError
    ended = box.run(command, inputs={"/in": folder}, limits=Limits())

Inside are the system's programs and libraries, the compiler, this Python, this package and the
inputs, all read-only, and a small writable /tmp in memory. There is no network, no other process,
no HOME and none of our environment variables. Namespaces do all of that. Outside, resource_meter.py
counts memory, processes and seconds, and ends everything at a limit.

It does not hide the CPU's model, defend against kernel bugs, or make the output true: code inside
can print any verdict it likes.
"""
from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..base import files, paths
from ..base.errors import UsageError
from ..toolchain import compilers
from . import resource_meter
from .resource_meter import Ended, Limits

TMP = "/tmp"                    # the only writable folder inside
SHM = 64 << 20                  # bytes of /dev/shm; sanitizers and multiprocessing need it
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
          "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
DEVICES = ("null", "zero", "full", "random", "urandom")
HINTS = {"bwrap": "apt-get install bubblewrap (or your system's package of that name)",
         "unshare": "it comes with util-linux"}


def environment(home: str = f"{TMP}/home", tmp: str = TMP) -> dict[str, str]:
    """All environment variables inside. Of ours, only CC."""
    seen = {"PATH": os.pathsep.join(_program_dirs()), "HOME": home, "TMPDIR": tmp,
            "LANG": "C.UTF-8", "PUFFER_CACHE": f"{home}/cache", "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join([str(paths.PACKAGE.parent), *map(str, _packages())]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1", "PUFFER_OFFLINE": "1"}
    if os.environ.get("CC", "").strip():
        seen["CC"] = os.environ["CC"]
    return seen


def _packages() -> list[Path]:
    """The folders of Python's packages."""
    return [Path(entry) for entry in sys.path
            if Path(entry).name in ("site-packages", "dist-packages")]


def _program_dirs() -> list[str]:
    compiler = os.path.dirname(compilers.find_compiler().path)
    wanted = [os.path.dirname(sys.executable), compiler, "/usr/local/bin", "/usr/bin", "/bin",
              "/usr/sbin", "/sbin"]
    return list(dict.fromkeys(wanted))


def readable() -> list[Path]:
    """What programs inside may read: the system, the compiler, this Python and this package."""
    python = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1],
              *_packages()]
    ours = [paths.PACKAGE, *(paths.data_dir(name) for name in
                             ("templates", "kernels", "trainer", "examples"))]
    compiler = compilers.find_compiler()
    programs = [Path(compiler.path).parent, Path(compiler.path).resolve().parents[1]]
    chosen: list[Path] = []
    for path in [*map(Path, SYSTEM), *python, *programs, *ours]:
        if path.exists() and not any(other in (path, *path.parents) for other in chosen):
            chosen.append(path)
    private = {Path("/"), Path.home(), *Path.home().parents, Path("/etc"), Path("/var")}
    for path in chosen:
        if path in private:
            raise UsageError("Python or the compiler is in a folder that a sandbox must not read",
                             where=path, expected="a folder of its own",
                             hint="install puffer-sdk into a virtual environment: python3 -m venv")
    return chosen


@dataclass(frozen=True)
class Sandbox:
    """A way to run a program in isolation."""

    name: str                   # "bwrap", "unshare" or "none"
    program: str = ""           # its path
    refused: dict[str, str] = field(default_factory=dict)   # mechanism -> why not

    def run(self, command: Sequence[str], *, inputs: Mapping[str, Path], scratch: Path,
            limits: Limits, stdin: bytes = b"") -> Ended:
        """Run it to its end, or to a limit. Nothing that it started survives.

        inputs     path inside -> folder outside, read-only
        scratch    an empty folder of ours, outside
        """
        uid = _spare_uid() if os.geteuid() == 0 else None
        if self.name == "none":
            words, env = list(command), environment(f"{scratch}/home", str(scratch))
            files.mkdir(scratch / "home")
        else:
            build = _bwrap if self.name == "bwrap" else _unshare
            words = build(self.program, list(command), dict(inputs), scratch, limits, uid)
            env = environment()
        return resource_meter.run(words, env=env, limits=limits, stdin=stdin, cwd="/" if env["HOME"]
                         .startswith(TMP + "/home") else scratch)


def find(wanted: str = "auto") -> Sandbox:
    """The first mechanism that works here. Raises UsageError with the reasons if none does.

    wanted    "auto", "bwrap" or "unshare"
    """

    refused = {}
    for name in ("bwrap", "unshare") if wanted == "auto" else (wanted,):
        program = shutil.which(name)
        if sys.platform != "linux" or program is None:
            refused[name] = "is not installed" if sys.platform == "linux" else "is for Linux"
            continue
        box = Sandbox(name, program, refused)
        with files.private("puffer-review-") as scratch:
            said = _probe(box, Path(scratch))
        if said is None:
            return box
        refused[name] = f"does not work here: {said}"
    raise UsageError(
        "no sandbox is available, and a review runs untrusted code",
        expected="bubblewrap, or namespaces through unshare",
        detail="\n".join(f"{name} {why}" for name, why in refused.items()),
        hint=f"{HINTS['bwrap']}; in a container, allow user namespaces. --no-sandbox runs the "
             "code without isolation, with your files and your network")


def _probe(box: Sandbox, scratch: Path) -> str | None:
    """None if a program runs inside; else the error."""
    try:
        ended = box.run(["/bin/sh", "-c", "test -r /proc/self/maps && test -w /tmp && echo alive"],
                        inputs={}, scratch=scratch, limits=Limits(seconds=20))
    except OSError as error:
        return error.strerror or str(error)
    if ended.status == 0 and ended.stdout.strip() == b"alive":
        return None
    lines = ended.stderr.decode(errors="replace").strip().splitlines()
    return lines[0][:200] if lines else ended.cause or f"exit status {ended.status}"


def _spare_uid() -> int:
    """A user id without files, and without processes except this review: root changes to it."""
    return 20_000 + os.getpid() % 40_000


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])


def _bounded(limits: Limits, uid: int | None) -> list[str]:
    """The words that set the kernel's limits, above the meter's.

    They hold even if a fork bomb leaves the meter no time to look. Kernels before 5.14 would also
    count the user's other processes.
    """
    words = ["prlimit", "--core=0", f"--fsize={limits.disk}"]
    if uid is not None or _kernel() >= (5, 14):
        words.append(f"--nproc={4 * limits.processes}")         # threads are among them
    return words


def _drop(uid: int | None) -> list[str]:
    """The words that drop root's remaining capabilities before the program starts."""
    words = ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
    if uid is not None:
        words += [f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return words


def _bwrap(program: str, command: list[str], inputs: dict[str, Path], scratch: Path,
           limits: Limits, uid: int | None) -> list[str]:
    words = [program, "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid",
             "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "review"]
    if uid is None:
        words += ["--unshare-user", "--cap-drop", "ALL"]
        if "--disable-userns" in _help(program):
            words.append("--disable-userns")
    else:
        for power in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
            words += ["--cap-add", power]
        command = [*_drop(uid), *command]
    words += ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", TMP]
    made = {Path("/"), Path(TMP)}       # bwrap would make parents that others cannot read

    def make_parents(path: Path) -> None:
        for parent in reversed(path.parents):
            if parent not in made:
                words.extend(["--perms", "0755", "--dir", str(parent)])
                made.add(parent)

    for path in readable():
        make_parents(path)
        words += ["--symlink", os.readlink(path), str(path)] if _is_alias(path) \
            else ["--ro-bind", str(path), str(path)]
    for place, source in inputs.items():
        make_parents(Path(place))
        words += ["--ro-bind", str(source), place]
    words += ["--proc", "/proc", "--dev", "/dev",
              "--perms", "1777", "--size", str(SHM), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
              "--remount-ro", "/", "--chdir", "/"]
    return [*words, "--", *_bounded(limits, uid), *command]


@cache
def _help(program: str) -> str:
    return subprocess.run([program, "--help"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL).stdout


def _is_alias(path: Path) -> bool:
    """/bin -> usr/bin and the like."""
    return path.is_symlink() and str(path) in SYSTEM


def _unshare(program: str, command: list[str], inputs: dict[str, Path], scratch: Path,
             limits: Limits, uid: int | None) -> list[str]:
    """The same by hand: a shell in new namespaces builds the root, then pivots into it."""
    script = ["set -eu",
              f"mount -t tmpfs -o mode=755,nosuid,nodev,size=4m puffer {_q(scratch)}",
              f"cd {_q(scratch)}", "mkdir ./tmp",
              f"mount -t tmpfs -o mode=1777,nosuid,nodev,size={limits.disk} puffer ./tmp"]
    for path in readable():
        if _is_alias(path):
            script.append(f"ln -s {_q(os.readlink(path))} .{_q(path)}")
        else:
            script += _read_only(path, str(path))
    for place, source in inputs.items():
        script += _read_only(source, place)
    script += ["mkdir -p ./dev ./proc ./old", "mount -t proc -o nosuid,nodev,noexec proc "
               "./proc", "mkdir ./dev/shm",
               f"mount -t tmpfs -o mode=1777,nosuid,nodev,size={SHM} puffer ./dev/shm"]
    for device in DEVICES:
        script += [f": > ./dev/{device}", f"mount --bind /dev/{device} ./dev/{device}"]
    script += ["ln -s /proc/self/fd ./dev/fd",
               "pivot_root . old", "cd /", "umount -l /old", "rmdir /old",
               "mount -o remount,bind,ro,nosuid,nodev /",
               "unset OLDPWD PWD",
               "exec " + shlex.join(["setsid", "--wait", *_bounded(limits, uid),
                                       *_drop(uid), *command])]
    words = ["setpriv", "--pdeathsig", "KILL", program, "--mount", "--net", "--ipc", "--uts",
             "--pid", "--cgroup", "--fork", "--kill-child=KILL"]
    if uid is None:
        words += ["--user", "--map-root-user"]
    return [*words, "--", "/bin/sh", "-c", "\n".join(script)]


def _read_only(source: Path, place: str) -> list[str]:
    """Shell lines: mount source and everything mounted below it at .place, read-only."""
    target = f".{_q(place)}"
    make = f"mkdir -p {target}" if source.is_dir() else \
        f"mkdir -p {_q('.' + os.path.dirname(place))}; : > {target}"
    return [make, f"mount --rbind {_q(source)} {target}",
            f"below=$(awk -v top=\"$PWD\"{_q(place)} '$5 == top || index($5, top \"/\") == 1 "
            "{ print $5 }' /proc/self/mountinfo)",
            "for each in $below; do mount -o remount,bind,ro,nosuid \"$each\"; done"]


def _q(path: object) -> str:
    return shlex.quote(str(path))


def python(target: str) -> list[str]:
    """The words that call one of our functions, "module:function", inside: with the path of that
    place (environment()), and nothing from the folder in which it starts."""
    module, _, function = target.partition(":")
    return [sys.executable, "-s", "-c", "import sys; sys.path[:] = filter(None, sys.path); "
            f"from {module} import {function}; sys.exit({function}())"]
