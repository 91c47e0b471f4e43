"""What a run was made of.  a prepared environment, settings -> run.json's "code", and code/

    hash        of the author's code: names and bytes of its files, versions of packages. Settings
                do not count: config.ini has them
    files       "my_env/my_env.h": {"sha256", "copied"}; names are relative to the project. The C
                that the environment includes, its inis, a network's file and the modules beside it
                that it imports, or all modules of a Python environment's author
    loop        those of `files` that a loop of the user's own (own_run.py) adds
    packages    of a Python environment: {"gymnasium": "1.4.0"}
    flags       of its compilation
    commit      of the repository that holds it, and dirty: whether these files differ from it
    machine     processor, system, compiler, versions; no name of a host
    command     that began the run, without the path of a home
    before      hashes of earlier parts of a run that was resumed with other code
    mac         shows that this user's own command made the copies (base/trust.py)

Files of at most MOST bytes are copied to code/ in the run's folder.
"""
from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from modulefinder import ModuleFinder
from pathlib import Path

from ..base import files, paths, trust
from ..env import build, header, probe
from ..interop.python_envs.env_source import Prepared, PythonEnv
from ..interop.python_envs.makers import Maker
from ..interop.python_envs.probe_env import Facts
from ..raylib import headers as raylib
from ..settings import torch_class
from ..settings.values import Config
from ..toolchain.libraries import NATIVE
from .run_records import Code, CodeFile
from .runs import Run
from .this_machine import machine

MOST = 256 << 10        # bytes of a file that is copied
ELSEWHERE = "elsewhere"     # begins the names of files outside the project


@dataclass(frozen=True)
class Made:
    """The code of an environment and of a network, as it is now."""

    files: dict[str, Path]          # name -> where it is
    loop: frozenset[str]            # those of a loop of the user's own
    packages: dict[str, str]
    flags: list[str]
    home: Path                      # the folder that the repository is looked for from
    pickled: bytes = b""            # a function that was given as an object

    @cached_property
    def hashes(self) -> dict[str, str]:
        """name -> SHA-256"""
        found = {name: hashlib.sha256(paths.content(path, 1 << 30)).hexdigest()
                 for name, path in self.files.items()}
        if self.pickled:
            found["given as an object"] = hashlib.sha256(self.pickled).hexdigest()
        return found

    @property
    def hash(self) -> str:
        code = [*_by_name(self.hashes), *sorted(self.packages.items())]
        return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:16]

    def facts(self) -> Code:
        """What run.json says, before anything is copied."""
        commit, dirty = _commit(self.home, self.files.values())
        return {"hash": self.hash, "packages": self.packages, "flags": self.flags,
                "files": {name: {"sha256": found, "copied": False}
                          for name, found in self.hashes.items()},
                "loop": sorted(self.loop), "commit": commit, "dirty": dirty, "machine": machine(),
                "command": _command()}


def look(prepared: Prepared, config: Config) -> Made:
    """What this environment is made of now, with the network of these settings."""
    found = [*prepared.source.own_inis(), *prepared.source.over,
             *(file for spec in torch_class.specs(config).values() for file in network_files(spec))]
    if isinstance(prepared.opener, PythonEnv):
        return of_python(prepared.opener.maker, prepared.opener.facts, found)
    return of_folder(prepared.opener.folder, found)


def of_folder(folder: Path, more: Iterable[Path], loop: Iterable[Path] = ()) -> Made:
    """A compiled environment, other files, and those of a loop of the user's own."""
    spec = header.read(folder)
    found = [*_c_files(folder), spec.header, *([spec.binding] if spec.binding else []), *more]
    flags = [*build.library_flags(spec), "-O3", NATIVE]
    return Made(*_with_loop(found, loop, folder), {}, [
        flag for flag in flags if "/" not in flag and flag != "-include"], folder)


def of_python(maker: Maker, facts: Facts, more: Iterable[Path], loop: Iterable[Path] = ()) -> Made:
    """The same of a Python environment."""
    target = Path(maker.target.rpartition(":")[0])
    own = [target.resolve()] if target.suffix == ".py" else []
    home = own[0].parent if own else Path.cwd()
    return Made(*_with_loop([*own, *map(Path, facts.files), *more], loop, home),
                dict(facts.packages), [], home, maker.pickled or b"")


def _with_loop(found: list[Path], loop: Iterable[Path], home: Path
               ) -> tuple[dict[str, Path], frozenset[str]]:
    """files and loop of a Made."""
    named = _named([*found, *loop], home)
    of_env = set(map(files.real, found))
    return named, frozenset(name for name, path in named.items() if path not in of_env)


def keep(run: Run, made: Made) -> Code:
    """Copy the files into the run's folder. Returns what run.json is to say. Raises RunError."""
    code, past = made.facts(), run.info.get("code")
    if past:
        changed = past["hash"] != code["hash"]
        code["before"] = [*past.get("before", ()), *([past["hash"]] if changed else [])]
    for name, path in made.files.items():
        content = paths.content(path, 1 << 30)
        if len(content) <= MOST:
            copy = run.folder / "code" / name
            with files.refused("cannot save a copy of the code", where=copy,
                               hint=f"{files.SPARE}: --runs-dir"):
                files.mkdir(copy.parent)
                files.write(copy, content)
            code["files"][name]["copied"] = True
    code["mac"] = seal(run, code["files"])
    return code


def seal(run: Run, copies: dict[str, CodeFile]) -> str:
    """The MAC of a run's copies, where they are, and of the network that its settings name."""
    return trust.mac("code", run.folder, json.dumps(copies, sort_keys=True),
                     run.settings().get(torch_class.KEY, ""),
                     *torch_class.functions(run.settings()))


def changes(then: Code, now: Made) -> list[str]:
    """Names of an environment's files and packages that are no longer as they were, of code
    alone. A loop of the user's own may hold the network."""
    before = {name: each["sha256"] for name, each in then["files"].items()}
    loop = then.get("loop", ())
    old = _by_name({name: found for name, found in before.items() if name not in loop})
    of_loop = _by_name({name: before[name] for name in loop})
    new = [each for each in _by_name({name: found for name, found in now.hashes.items()
                                      if name not in now.loop}) if each not in of_loop]
    packages = then.get("packages", {})
    return [*dict.fromkeys(name for name, _ in sorted({*old} ^ {*new})),
            *(name for name in sorted({*packages, *now.packages})
              if packages.get(name) != now.packages.get(name))]


def _by_name(hashes: dict[str, str]) -> list[tuple[str, str]]:
    """(name, SHA-256) of code; without folders, which may be renamed."""
    return sorted((Path(name).name, found) for name, found in hashes.items()
                  if not name.endswith(".ini"))


def _named(found: Iterable[Path], home: Path) -> dict[str, Path]:
    """Names relative to the project of a folder; of what lies elsewhere the last part alone, for
    its path may name a person."""
    root = paths.project_root(home)
    root = files.real(root if root != home else home.parent)
    named: dict[str, Path] = {}
    for path in dict.fromkeys(files.real(path) for path in found if path.is_file()):
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) \
            else f"{ELSEWHERE}/{path.name}"
        while name in named:
            name = f"{ELSEWHERE}/{name}"
        named[name] = path
    return named


def _c_files(folder: Path) -> list[Path]:
    """What the author's C includes, without the headers of compilers and libraries."""
    flags = probe.clang_flags(folder)
    others = [files.real(flag[8:]) for flag in flags if flag.startswith("-isystem")]
    others += [files.real(paths.include_dir()), files.real(raylib.headers())]
    return [path for path in map(files.real, header.files_of(folder))
            if not any(path.is_relative_to(other) for other in others)]


def network_files(spec: str) -> list[Path]:
    """FILE.py of FILE.py:NAME, and the modules beside it that it imports."""
    file = Path(os.path.expanduser(spec.rpartition(":")[0]))
    if not spec or not file.is_file():
        return []
    finder = ModuleFinder([str(file.resolve().parent), os.getcwd()])
    try:
        finder.run_script(str(file))
    except (SyntaxError, ImportError, OSError, ValueError):     # the child says what is wrong
        return [file]
    found = (getattr(module, "__file__", None) for module in finder.modules.values())
    return [Path(name) for name in found if name]


def _commit(home: Path, found: Iterable[Path]) -> tuple[str | None, bool | None]:
    """The commit of the repository around this folder, and whether these files differ from it."""
    home = files.real(home)
    root = next((each for each in (home, *home.parents) if (each / ".git").exists()), None)
    inside = [str(path) for path in found if root and path.is_relative_to(root)]
    if root is None or not inside:
        return None, None
    # A repository's config can name a program that watches its files: never run it
    words = ["git", "-c", "core.fsmonitor=false", "--literal-pathspecs", "-C", str(root), "status",
             "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored=matching", "--",
             *inside]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(words, env={**clean, "GIT_OPTIONAL_LOCKS": "0"}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None, None
    lines = done.stdout.splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid")), None)
    if done.returncode or commit is None or commit == "(initial)":
        return None, None
    return commit, any(not line.startswith("#") for line in lines)


def _command() -> str:
    """The command line, without the path of the current folder or of a home."""
    program = Path(sys.argv[0]).name
    program = "puffer-sdk" if program == "__main__.py" else program
    words = [program, *sys.argv[1:]]
    for path, short in ((f"{Path.cwd()}{os.sep}", ""), (str(Path.cwd()), "."),
                        (os.path.expanduser("~"), "~")):
        if len(path) > 1:
            words = [word.replace(path, short) for word in words]
    return shlex.join(words)
