"""A copy of what is reviewed.  a folder or a patch -> Copy: files, and the environments among them

Nothing is compiled or run here. git applies a patch to a copy of a base folder. Before that, the
patch is refused if it could reach beyond the copy (paths that leave it, links, submodules) or has
parts that nobody can read in a diff (binary files).
"""
from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..base import files, paths
from ..base.errors import UsageError
from ..settings.config import find_ini

MAX_PATCH = 16 << 20
MAX_FILES = 20_000
SKIPPED = {".git", ".hg", ".svn", "build", "runs", ".venv", "venv", "node_modules", "__pycache__",
           ".pytest_cache", ".ruff_cache"}
ASSISTANTS = {"agents.md", "claude.md", "gemini.md", "copilot-instructions.md", ".cursorrules"}
DEPTH = 4               # how many folders deep environments are searched for

# In a diff, lines of content begin with ' ', '+' or '-': these patterns match only headers
_LINK = re.compile(r"^(?:(?:new|old|deleted)(?: file)? mode|index \S+) 120000$", re.M)
_MODULE = re.compile(r"^(?:(?:new|old|deleted)(?: file)? mode|index \S+) 160000$", re.M)
_BINARY = re.compile(r"^(?:GIT binary patch|Binary files .* differ)$", re.M)
_MOVED = re.compile(r"^(?:rename|copy) from (.*)$", re.M)


@dataclass(frozen=True)
class Copy:
    """A folder of ours that holds what is reviewed."""

    folder: Path
    envs: tuple[str, ...]           # their folders in it
    changed: tuple[str, ...] = ()   # files that a patch changes
    beside: tuple[str, ...] = ()    # those of them that belong to no env, or that assistants obey


def copy_folder(source: Path, target: Path, *, limit: int) -> Copy:
    """An environment's folder, or one that holds several, with the ini and resources it opens."""
    source = source.resolve()
    if paths.is_env_folder(source):
        root = _root_of(source)
        copy_files(root, _needed(source, root), target, limit)
        return Copy(target, (source.relative_to(root).as_posix() or ".",))
    copy_files(source, _walk(source), target, limit)
    envs = [folder for folder in _folders(target, DEPTH) if paths.is_env_folder(folder)]
    if not envs:
        raise UsageError("this folder contains no environment", where=source,
                         expected="NAME/NAME.h here or below", actual="none",
                         hint="an environment's folder and header have the same name")
    return Copy(target, tuple(env.relative_to(target).as_posix() for env in envs))


def _root_of(env: Path) -> Path:
    """The folder above env, or higher, that holds all it opens: the env keeps its name so."""
    roots = [env.parent]
    ini = find_ini(env)
    if ini is not None and env not in ini.parents:
        roots.append(ini.parent.parent)
    working = paths.working_dir(env)
    project = paths.project_root(env)
    if working != env and project in (working, *working.parents):
        roots.append(working)
    return min(roots, key=lambda root: len(root.parts))


def _needed(env: Path, root: Path) -> Iterable[str]:
    """The env's own files, its ini where that lies elsewhere, and its resources."""
    yield from (f"{env.relative_to(root).as_posix()}/{name}" for name in _walk(env))
    ini = find_ini(env)
    if ini is not None and env not in ini.parents:
        yield ini.relative_to(root).as_posix()
    working = paths.working_dir(env)
    if working != env and root in (working, *working.parents):
        resources = working / "resources"
        own = [resources / name for name in (env.name, "shared")]
        for folder in [path for path in own if path.is_dir()] or [resources]:
            yield from (f"{folder.relative_to(root).as_posix()}/{name}" for name in _walk(folder))


def _walk(folder: Path) -> Iterable[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(place, name), folder)


def _folders(root: Path, depth: int) -> Iterable[Path]:
    for place, folders, _ in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        here = Path(place)
        if len(here.relative_to(root).parts) >= depth:
            folders.clear()
        yield here


def copy_files(root: Path, names: Iterable[str], target: Path, limit: int) -> None:
    """Plain files, readable for all. Links are skipped: they may lead anywhere.

    Raises UsageError where they are more than `limit` bytes or MAX_FILES.
    """
    size = count = 0
    for name in names:
        source, copy = root / name, target / name
        try:
            facts = source.lstat()
            if not stat.S_ISREG(facts.st_mode) or any(
                    parent.is_symlink() for parent in _between(source, root)):
                continue
            size, count = size + facts.st_size, count + 1
            if size > limit or count > MAX_FILES:
                raise UsageError("too many files to review at once", where=root,
                                 expected=f"at most {MAX_FILES:,} files and {limit >> 20} MB",
                                 hint="name one environment, or raise --disk")
            files.mkdir(copy.parent)
            files.write(copy, files.read(source))
            copy.chmod(0o755 if facts.st_mode & stat.S_IXUSR else 0o644)
        except OSError as error:
            raise UsageError("a file cannot be read", where=source,
                             detail=error.strerror or str(error)) from None
    for place, folders, _ in os.walk(target):
        for folder in folders:
            os.chmod(os.path.join(place, folder), 0o755)
    target.chmod(0o755)


def _between(path: Path, root: Path) -> Iterable[Path]:
    """The folders below root that lead to path."""
    for parent in path.parents:
        if parent == root:
            return
        yield parent


# -- patches -------------------------------------------------------------------------


def apply_patch(data: bytes, base: Path | None, target: Path, *, limit: int) -> Copy:
    """Copy base, apply the patch, and find the envs that it changes.

    base    the folder that its paths start from; None: the current git checkout
    """
    _refuse_unreadable(data)
    root = _base(base)
    copy_files(root, _tracked(root), target, limit)
    changed = _changes(data, target)
    _git(target, ["apply", "--whitespace=nowarn", "-"], data,
         "the patch does not apply to the base", root)
    for name in changed:
        if (target / name).is_symlink() or (target / name).is_dir():
            raise UsageError("the patch creates something other than a plain file", where=name)
    envs: dict[str, None] = {}
    beside = []
    for name in changed:
        found = _env_of(target, name)
        if found is None or for_assistants(name):
            beside.append(name)
        if found is not None:
            envs[found] = None
    if not envs:
        raise UsageError("the patch changes no environment", where=root,
                         actual=None, detail="\n".join(changed),
                         hint="an environment is a folder NAME with a NAME.h in it")
    for place, folders, names in os.walk(target):
        for name in (*folders, *names):
            os.chmod(os.path.join(place, name), 0o755 if name in folders else 0o644)
    return Copy(target, tuple(envs), tuple(changed), tuple(beside))


def for_assistants(name: str) -> bool:
    """Whether assistants take orders from a file of this name."""
    return name.rpartition("/")[2].lower() in ASSISTANTS


def _refuse_unreadable(data: bytes) -> None:
    if len(data) > MAX_PATCH:
        raise UsageError("the patch is too long", expected=f"at most {MAX_PATCH >> 20} MB",
                         actual=f"{len(data) >> 20} MB")
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    for pattern, what, hint in (
            (_LINK, "a symbolic link", "a link could lead out of the folder"),
            (_MODULE, "a submodule", "its code is not in the patch"),
            (_BINARY, "a binary file", "a diff does not show it; ask for its source")):
        match = pattern.search(text)
        if match:
            line = text.count("\n", 0, match.start()) + 1
            raise UsageError(f"the patch contains {what}", where=f"line {line} of the patch",
                             hint=hint)
    for match in _MOVED.finditer(text):
        _refuse_path(match[1].strip('"'))


def _changes(data: bytes, target: Path) -> list[str]:
    """The files that git will write, according to git itself."""
    listed = _git(target, ["apply", "--numstat", "-z", "-"], data,
                  "this is not a patch that git can read", None)
    names = []
    for entry in listed.split(b"\0"):
        if not entry:
            continue
        added, _, name = entry.split(b"\t", 2)
        shown = name.decode("utf-8", "surrogateescape")
        _refuse_path(shown)
        if added == b"-":
            raise UsageError("the patch contains a binary file", where=shown,
                             hint="a diff does not show it; ask for its source")
        names.append(shown)
    if not names:
        raise UsageError("the patch changes nothing", hint="create it with: git format-patch")
    return sorted(set(names))


def _refuse_path(name: str) -> None:
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "" in parts or "\\" in name or any(
            part.lower() == ".git" for part in parts) or not name.isprintable():
        raise UsageError("the patch has a path that leaves the folder", where=ascii(name),
                         expected="a path below the base folder")


def _base(base: Path | None) -> Path:
    if base is not None:
        if not base.is_dir():
            raise UsageError("the base is not a folder", where=base)
        return base.resolve()
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    raise UsageError("a patch requires a git checkout, and this folder is not in one", where=here,
                     hint="change into the checkout, or name it: --base FOLDER")


def _tracked(root: Path) -> Iterable[str]:
    """The files that git tracks. Untracked secrets and virtual environments are left out."""
    if not (root / ".git").exists():
        return _walk(root)
    # A repository's config can name a program that watches its files: never run it
    done = subprocess.run(["git", "-C", str(root), "-c", "core.fsmonitor=false", "ls-files", "-z"],
                          capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise UsageError("git cannot list the files of the base", where=root,
                         detail=done.stderr.decode(errors="replace")[:2000])
    return [name for name in done.stdout.decode("utf-8", "surrogateescape").split("\0")
            if name and (root / name).is_file()]


def _git(folder: Path, words: list[str], data: bytes, complaint: str, base: Path | None) -> bytes:
    """Run git in a folder that is not a repository, without anybody's settings."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent), "LC_ALL": "C",
              "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    try:
        done = subprocess.run(["git", *words], cwd=folder, input=data, capture_output=True,
                              check=False, env=clean, timeout=120)
    except OSError as error:
        raise UsageError("applying a patch requires git", detail=str(error),
                         hint="install git") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise UsageError(complaint, where=base, detail="\n".join(said.splitlines()[:10]),
                         hint="choose another base: --base FOLDER" if base else
                         "create it with: git format-patch, or git diff")
    return done.stdout


def _env_of(root: Path, name: str) -> str | None:
    """The environment that a file belongs to, by its path."""
    place = Path(name)
    for parent in place.parents:
        if parent != Path(".") and paths.is_env_folder(root / parent):
            return parent.as_posix()
    if place.parent.name == "config" and place.suffix == ".ini":            # upstream's layout
        guess = place.parent.parent / "ocean" / place.stem
    elif "resources" in place.parts[:-1]:
        above = place.parts.index("resources")
        guess = Path(*place.parts[:above], "ocean", place.parts[above + 1])
    else:
        return None
    return guess.as_posix() if paths.is_env_folder(root / guess) else None
