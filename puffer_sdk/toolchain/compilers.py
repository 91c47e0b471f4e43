"""The C compiler. In: a command. Out: the file it makes, or a BuildError that names the line."""
from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..base import files, limited, paths, records, trust, ui
from ..base.errors import BuildError, Damaged, PufferError, Refused, RunError
from . import binaries
from .messages import find_location, shorten

Word = str | os.PathLike[str]     # of a command
COMPILERS = ("cc", "gcc", "clang")
TIMEOUT = 120           # seconds one compiler command may take

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# emcc repeats clang's whole command after what clang said
_EMCC_ECHO = re.compile(r"^em\w+: error: '.*' failed \(returned \d+\)$", re.M)


@dataclass(frozen=True)
class Compiler:
    """A C compiler that answered when asked for its version.

    path      the program itself, absolute
    version   "12.2.0"
    kind      "gcc", "clang" or "other"
    args      words that follow the program in CC: CC="ccache gcc -m64"
    banner    the first line of --version: the version with the vendor's revision
    """

    path: str
    version: str
    kind: str
    args: tuple[str, ...] = ()
    banner: str = ""

    @property
    def command(self) -> list[str]:
        """How every command of this compiler begins."""
        return [self.path, *self.args]

    @property
    def key(self) -> str:
        """What a cache key must hold for this compiler: a wrapper, its flags, its version."""
        return f"{shlex.join(self.command)}\n{self.banner}"


def bounds_flags(compiler: Compiler) -> list[str]:
    """With these, UndefinedBehaviorSanitizer takes the last array of a struct to be as long as it
    is declared; otherwise any such array may be one without an end."""
    first = compiler.version.partition(".")[0]
    major = int(first) if first.isdecimal() else 0
    strict = {"gcc": ["-fsanitize=bounds-strict"]}.get(compiler.kind, [])
    return strict + ["-fstrict-flex-arrays=3"] * (
        major >= {"gcc": 13, "clang": 16}.get(compiler.kind, 1 << 20))


@cache
def has_openmp(compiler: Compiler) -> bool:
    """Whether -fopenmp works: gcc brings its library, clang's is a package of its own."""
    return compiler.kind == "gcc" or any((Path(folder) / "omp.h").is_file()
                                         for folder in include_dirs(compiler))


def install_hint(package: str = "gcc") -> str:
    """The one line that installs a system package here."""
    if platform.system() == "Darwin":
        return "xcode-select --install" if package in ("gcc", "make", "git") \
            else f"brew install {package}"
    for manager, line in (("apt-get", "sudo apt-get install -y"), ("dnf", "sudo dnf install -y"),
                          ("pacman", "sudo pacman -S"), ("apk", "sudo apk add"),
                          ("zypper", "sudo zypper install")):
        if shutil.which(manager):
            extra = " libc6-dev" if package == "gcc" and manager == "apt-get" else ""
            return f"{line} {package}{extra}"
    return f"install {package} with your system's package manager"


def find_compiler() -> Compiler:
    """The compiler named by CC, else the first of cc, gcc, clang on PATH.

    CC may hold flags and wrappers. Raises BuildError when there is none, or none that runs.
    """
    return _find_compiler(os.environ.get("CC", "").strip(), os.environ.get("PATH", os.defpath))


@cache
def _find_compiler(named: str, path: str) -> Compiler:
    if named:
        return _ask_version(*_split_command(named), origin="CC names")
    for name in COMPILERS:
        found = shutil.which(name, path=path)
        if found:
            return _ask_version(os.path.abspath(found), (), origin="PATH holds")
    raise BuildError("no C compiler is installed",
                     expected=f"one of {', '.join(COMPILERS)} on PATH, or CC set", actual="none",
                     hint=install_hint("gcc"))


def _split_command(named: str) -> tuple[str, tuple[str, ...]]:
    """CC's program as an absolute path, and the words after it."""
    whole = shutil.which(named)
    if whole:                                   # a path with blanks in it
        return os.path.abspath(whole), ()
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise BuildError(f"CC cannot be read: {named}", detail=str(error),
                         hint="close the quotes, or unset CC") from None
    if not words:
        raise BuildError(f"CC does not name a program: {named}",
                         hint="unset CC to use cc, gcc or clang")
    program = shutil.which(words[0])
    if program is None:
        raise BuildError(f"CC names '{words[0]}', which does not exist",
                         hint=f"unset CC to use cc, gcc or clang, or: {install_hint('gcc')}")
    return os.path.abspath(program), tuple(words[1:])


def _ask_version(program: str, args: tuple[str, ...], *, origin: str) -> Compiler:
    shown = shlex.join([program, *args])
    try:
        done = subprocess.run([program, *args, "--version"], capture_output=True, check=False,
                              timeout=20, stdin=subprocess.DEVNULL, env=_environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{origin} '{shown}', which cannot run", detail=str(error),
                         hint=install_hint("gcc")) from None
    text = (done.stdout + done.stderr).decode(errors="replace").strip()
    if done.returncode:
        raise BuildError(f"{origin} '{shown}', which failed when asked for its version",
                         detail=shorten(text) or f"exit status {done.returncode}",
                         hint="unset CC to use cc, gcc or clang, or name a compiler that works")
    number = re.search(r"\d+(?:\.\d+)+", text)
    kind = "clang" if "clang" in text else "other"
    if kind == "other" and re.search(r"\bgcc\b|Free Software Foundation", text, re.IGNORECASE):
        kind = "gcc"
    return Compiler(program, number.group() if number else "unknown", kind, args,
                    text.partition("\n")[0])


def _environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Our environment with the compiler's messages in English and without colours."""
    merged = {**os.environ, "LC_ALL": "C", "GCC_COLORS": "", "CCACHE_COLOR": "0",
              **(changes or {})}
    return {name: value for name, value in merged.items() if value is not None}


def run_compiler(command: Sequence[Word], *, source: Path, what: str,
                 verbose: bool = False, timeout: float = TIMEOUT,
                 env: Mapping[str, str | None] | None = None, reads: bool = False) -> str:
    """Runs one compiler command and returns what it said (warnings, perhaps).

    source    the author's file that the command is about: errors in its folder come first
    what      how messages call the thing being compiled
    env       environment variables to set; None unsets one
    reads     it only reads the author's text: the limits of base/limited.py hold
    Raises BuildError at the first error's file:line, or after `timeout` seconds. The command
    and everything it started has ended when this returns, also on Ctrl-C.
    """
    return run_compilers([command], source=source, what=what, verbose=verbose, timeout=timeout,
                         env=env, reads=reads)[0]


def run_compilers(commands: Sequence[Sequence[Word]], *, source: Path, what: str,
                  verbose: bool = False, timeout: float = TIMEOUT,
                  env: Mapping[str, str | None] | None = None, reads: bool = False,
                  on_done: Callable[[int], None] = lambda count: None) -> list[str]:
    """Runs compiler commands, as many at once as there are cores; what each of them said.

    on_done(count) after each one. Raises what run_compiler does, for the first that fails; the
    others are gone by then.
    """
    waiting = [(number, [os.fspath(word) for word in command])
               for number, command in enumerate(commands)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    running: list[_Running] = []
    said: dict[int, str] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (cores or 1):
                number, words = waiting.pop(0)
                if verbose:
                    ui.say(shlex.join(with_variables(words, env)))
                running.append(_Running(number, words, env, timeout, reads))
            over = running.pop(_first_over(running))
            try:
                text = over.finish(source, what)
            finally:
                over.kill()
            said[over.number] = text
            on_done(len(said))
    finally:
        for command in running:
            command.kill()
    return [said[number] for number in sorted(said)]


def with_variables(words: Sequence[str], env: Mapping[str, str | None] | None) -> list[str]:
    """The command as a user could type it."""
    changes = (env or {}).items()
    drop = [word for name, value in changes if value is None for word in ("-u", name)]
    give = [f"{name}={value}" for name, value in changes if value is not None]
    return [*(["env", *drop, *give] if changes else []), *words]


class _Running:
    """A compiler command on its way."""

    def __init__(self, number: int, words: list[str], env: Mapping[str, str | None] | None,
                 timeout: float, reads: bool):
        self.number, self.words, self.timeout, self.reads = number, words, timeout, reads
        run = limited.words(words) if reads and shutil.which(words[0]) else words
        try:
            self.child = subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, env=_environment(env),
                                          start_new_session=True)
        except OSError as error:
            raise BuildError(f"cannot run '{words[0]}'", detail=str(error),
                             hint=install_hint("gcc")) from None
        assert self.child.stdout
        self.out = self.child.stdout
        self.deadline = time.monotonic() + timeout
        _limit_orphan(self.child.pid, int(timeout) + 10)
        self.raw = bytearray()

    @property
    def says_too_much(self) -> bool:
        return self.reads and len(self.raw) > limited.LARGEST

    def read(self) -> bool:
        """Takes in what the command said; False once it has said all, or too much."""
        chunk = os.read(self.out.fileno(), 1 << 16)
        self.raw += chunk
        return bool(chunk) and not self.says_too_much

    def finish(self, source: Path, what: str) -> str:
        """Its text. Raises BuildError when it failed, or is not over although its time is."""
        if self.says_too_much:
            raise limited.refusal(what, source, "memory")
        try:
            self.child.wait(max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise BuildError(f"compiling {what} took more than {self.timeout:g} seconds",
                             where=source, detail=shlex.join(self.words),
                             hint="look for a macro or a table that expands endlessly") from None
        text = _ESCAPES.sub("", self.raw.decode(errors="replace"))
        if self.child.returncode:
            if self.reads and (lacks := limited.lacking(text, self.child.returncode)):
                raise limited.refusal(what, source, lacks)
            raise _refusal(self, text, source, what)
        return text

    def kill(self) -> None:
        kill_group(self.child)


def _first_over(running: Sequence[_Running]) -> int:
    """Waits until a command has closed its output, or its time is over; which one."""
    with selectors.DefaultSelector() as selector:
        for place, command in enumerate(running):
            selector.register(command.out, selectors.EVENT_READ, place)
        while True:
            first = min(running, key=lambda command: command.deadline)
            left = first.deadline - time.monotonic()
            if left <= 0:
                return running.index(first)
            for key, _ in selector.select(left):
                number: int = key.data
                if not running[number].read():
                    return number


def _limit_orphan(pid: int, seconds: int) -> None:
    """Bounds the CPU time of a command and its children, should we be killed before them."""
    with suppress(ImportError, AttributeError, OSError, ValueError):     # Linux only
        import resource
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Ends whatever is left of a command and of what it started."""
    if child.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.stdout:
        child.stdout.close()


def _refusal(command: _Running, text: str, source: Path, what: str) -> PufferError:
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return RunError(f"the disk is full: {what} was not compiled", detail=shorten(text),
                        hint="free some space, or point PUFFER_CACHE and TMPDIR at another disk")
    missing = next(iter(re.findall(r"fatal error: (\S+): No such file", text)), None)
    undefined = re.search(r"undefined reference to [`'](\w+)'", text)
    hint = None
    if missing in ("stdio.h", "stdlib.h", "math.h", "stdint.h", "string.h"):
        hint = install_hint("gcc")
    elif missing:
        hint = f"put {missing} beside the header, or correct the #include"
    elif undefined:
        hint = f"define {undefined.group(1)}, or link what defines it"
    said = _EMCC_ECHO.sub("", text).strip()
    if not said:
        status = command.child.returncode
        ended = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        said = f"the compiler said nothing and ended with {ended}:\n{shlex.join(command.words)}"
    error = BuildError(f"the compiler {'could not read' if command.reads else 'refused'} {what}",
                       where=find_location(text, source) or source, detail=shorten(said), hint=hint)
    error.header = missing
    return error


def compile_to(target: Path, command: Sequence[Word], *, source: Path, what: str,
               verbose: bool = False, timeout: float = TIMEOUT,
               env: Mapping[str, str | None] | None = None) -> str:
    """`command -o target`, atomically: target is the finished file or what it was before.

    Returns the compiler's text. Raises BuildError as run_compiler does, and if what was made is no
    machine code; RunError when the folder cannot be written.
    """
    mode = 0o777 if target.suffix in (".so", "") else 0o666
    with files.refused(f"cannot write {what}", where=target,
                       hint="free some space, or point PUFFER_CACHE at another disk"), \
            files.replacing(target, mode=mode) as temporary:
        text = run_compiler([*command, "-o", temporary], source=source, what=what,
                            verbose=verbose, timeout=timeout, env=env)
        check_made(temporary, command, source=source, what=what)
    return text


def check_made(file: Path, command: Sequence[Word], *, source: Path,
               what: str) -> None:
    """Raises BuildError if a command that ended well did not make machine code."""
    if wrong := binaries.unlike(file):
        raise BuildError(f"the compiler made {wrong} of {what}", where=source,
                         detail=shlex.join(os.fspath(word) for word in command),
                         hint="does CC name a C compiler?")


def include_dirs(compiler: Compiler, language: str = "c") -> tuple[str, ...]:
    """Where the compiler finds headers of "c" or "c++", which libclang has to be told.

    In search order. Cached in memory and on disk; empty if the compiler does not say.
    """
    variables = [os.environ.get(name, "") for name in ("CPATH", "C_INCLUDE_PATH", "SDKROOT")]
    stamp = os.stat(compiler.path).st_mtime_ns
    parts = (compiler.key, stamp, variables, language)
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    return _include_dirs(compiler, key, paths.cache_dir(), language)


@cache
def _include_dirs(compiler: Compiler, key: str, cache_dir: Path, of: str) -> tuple[str, ...]:
    remembered = cache_dir / "toolchain" / f"include-{key}.json"
    with suppress(OSError, Damaged):
        known = records.read(remembered, dict[str, list[str]])
        dirs = known.get("dirs", [])
        if trust.equal("".join(known.get("mac", [])), trust.mac("include", key, *dirs)) and dirs \
                and all(map(os.path.isdir, dirs)):
            return tuple(dirs)
    text = run_compiler([*compiler.command, "-E", "-v", "-x", of, os.devnull],
                        source=Path(os.devnull), what="an empty file", timeout=20)
    _, _, rest = text.partition("#include <...> search starts here:")
    listed = rest.partition("End of search list.")[0].splitlines()
    found = tuple(os.path.normpath(line.strip()) for line in listed
                  if os.path.isdir(line.strip()))
    with suppress(OSError, Refused):      # only speed is lost
        files.mkdir(remembered.parent)
        files.write(remembered, json.dumps(
            {"dirs": found, "mac": [trust.mac("include", key, *found)]}))
    return found


@cache
def cpu_features_key() -> str:
    """Twelve hex digits that name this CPU's instruction set: -march=native depends on it."""
    described = platform.processor()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("flags", "Features"):
                described = " ".join(sorted(value.split()))
                break
    return hashlib.sha256(f"{platform.machine()} {described}".encode()).hexdigest()[:12]
