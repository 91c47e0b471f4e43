"""PUF115: code that acts on the machine outside the game, or before anybody calls it."""
import os
import re
from collections.abc import Iterator
from pathlib import Path

from ....base import paths
from ....env.source import hide
from ...collect.c.source.functions import Call
from ...core.vocabulary import Facts, Finding, Findings, OutsideFact, rule
from ..memory.memory import call_of, place_of

_DOES = {
    "starts a program": (
        "system", "popen", "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe",
        "execveat", "fexecve", "posix_spawn", "posix_spawnp"),
    "makes a process": ("fork", "vfork", "clone", "clone3", "daemon"),
    "uses the network": (
        "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "send", "sendto",
        "sendmsg", "recv", "recvfrom", "recvmsg", "getaddrinfo", "gethostbyname"),
    "loads or changes code": ("dlopen", "dlmopen", "mprotect", "memfd_create", "ptrace",
                              "process_vm_readv", "process_vm_writev", "syscall"),
    "takes signals from the trainer, or sends them": (
        "signal", "sigaction", "bsd_signal", "sigprocmask", "pthread_sigmask", "kill", "killpg",
        "tgkill", "alarm", "setitimer", "timer_create"),
    "changes the process for all envs": (
        "setenv", "unsetenv", "putenv", "clearenv", "chdir", "fchdir", "chroot", "umask", "setuid",
        "setgid", "prctl", "setrlimit", "atexit", "on_exit", "at_quick_exit", "feenableexcept"),
    "changes files": ("creat", "remove", "unlink", "unlinkat", "rmdir", "rename", "mkdir",
                      "symlink", "link", "chmod", "chown", "truncate"),
}
_CALLS = {name: does for does, names in _DOES.items() for name in names}
_OPENS = {"fopen": 1, "open": 1, "openat": 2, "opendir": 1}       # which argument is the path
_FAR = re.compile(r"/|~|\.\./")
_EARLY = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*?"
                    r"\b(?:__)?(constructor|destructor|ifunc)(?:__)?\b")
_ASSEMBLY = re.compile(r"\b(?:__asm__|__asm|asm)\b\s*"
                       r"(?:(?:__)?volatile(?:__)?|goto|inline|\s)*[({]")
KEPT = "a game that keeps to itself"
_HARMLESS = {"/proc/self/statm"}        # of puffer_os.h


@rule("PUF115", "acts-outside", "warning")
def acts_outside(facts: Facts) -> Findings:
    """The environment acts outside its game: it starts programs or processes, uses the network,
    loads code, handles signals, reads or writes files that are not its own, holds inline
    assembly, or runs before anybody calls it (a constructor).

    Why it matters: whoever trains on an environment runs its code with all of their permissions.
    A game needs none of this, so a reviewer should know why it is there. It also disturbs
    training: a fork copies the trainer, a handler takes Ctrl-C away from it, and a working
    directory is that of all envs.

    Bad:

        __attribute__((constructor)) static void setup(void) { system("make -C assets"); }

    Good:

        void init(Maze* env) { FILE* map = fopen("resources/maze.txt", "r"); ... }

    Not reported: NAME.c, which is a program of its own; reading files below the environment's
    folder or its resources. Calls that happened while the game was played are listed with the
    system's answer, whoever made them; `puffer-sdk review` shows them, too.

    Fix: leave it out, or do it in a script beside the environment.
    """
    tried = {(fact.call.split()[0], *_place(facts, fact)): fact for fact in asked(facts)}
    program = f"{facts.folder.name}.c"
    for file, text in sorted(facts.source.files.items()):
        plain = "" if file == program else hide(text)
        for found in _EARLY.finditer(plain):
            yield Finding("PUF115", f"a {found[1]} runs without being called", file=file,
                          line=plain.count("\n", 0, found.start()) + 1,
                          expected="code that init, c_reset, c_step, c_render or c_close calls",
                          actual=" ".join(found[0].split()) + "))", hint="call it from init")
        for found in _ASSEMBLY.finditer(plain):
            yield Finding("PUF115", "there is inline assembly, which nobody can check", file=file,
                          line=plain.count("\n", 0, found.start()) + 1, hint="write it in C")
    for call, does in _calls(facts, program):
        key = call.name, call.function.file, call.node.line
        fact = tried.pop(key, None)
        yield Finding("PUF115", f"{call.function.name} calls {call.name}(), which {does}",
                      **call.at, expected=KEPT if fact else None, actual=_answer(fact))
    for fact in tried.values():
        yield Finding("PUF115", f"{_who(fact)} asks the machine for '{_shown(fact)}'",
                      **place_of(facts, fact), expected=KEPT, actual=_answer(fact))


def _calls(facts: Facts, program: str) -> Iterator[tuple[Call, str]]:
    """Calls of the library's functions that do such things, and what they do; not the program's."""
    for function in facts.source.functions.values():
        for call in function.library_calls if function.file != program else ():
            if call.name in _CALLS:
                yield call, _CALLS[call.name]
            elif call.name in _OPENS and (does := _opening(call)):
                yield call, does


def _opening(call: Call) -> str | None:
    """What is wrong with opening this file, as far as the source shows."""
    texts = [node.text.strip('"') for node in
             (child.bare() for child in call.node.children[1:]) if node.kind == "string"]
    if call.name == "fopen" and len(call.node.children) == 3:
        mode = call.node.children[2].bare()
        if set("wa+") & set(mode.text):
            return "writes a file"
    names = {node.name for node in call.node.walk()}
    if names & {"O_WRONLY", "O_RDWR", "O_CREAT"}:
        return "writes a file"
    if texts and _FAR.match(texts[0]) and texts[0] not in _HARMLESS:
        return f"opens {texts[0]}"
    return None


def asked(facts: Facts) -> Iterator[OutsideFact]:
    """Calls that the env made to the machine while it was played, each once."""
    seen = set()
    for outcome in facts.outcomes.values():
        for fact in outcome.all(OutsideFact):
            if (fact.call, fact.what) not in seen and not _is_own(facts, fact):
                seen.add((fact.call, fact.what))
                yield fact


def _is_own(facts: Facts, fact: OutsideFact) -> bool:
    """A file to read, below the environment's folder or where it finds its resources."""
    if fact.what in _HARMLESS:
        return True
    if fact.call not in _OPENS:
        return False
    home = paths.working_dir(facts.folder).resolve()
    path = Path(os.path.normpath(home / fact.what))
    return path.is_relative_to(home) or path.is_relative_to(facts.folder.resolve())


def _place(facts: Facts, fact: OutsideFact) -> tuple[str | None, int | None]:
    place = place_of(facts, fact)
    return place.get("file"), place.get("line")


def _who(fact: OutsideFact) -> str:
    return call_of(fact) if fact.phase not in ("", "idle") else "code that runs by itself"


def _answer(fact: OutsideFact | None) -> str | None:
    """"connect 10.0.0.1:80: Network is unreachable", where it was tried."""
    return f"{fact.call} {_shown(fact)}: {fact.denied or 'done'}" if fact else None


def _shown(fact: OutsideFact) -> str:
    """The argument, on one line: the environment chose its characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in fact.what)
