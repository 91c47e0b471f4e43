"""A name and a template -> a project folder . Nothing half-written stays.

The template is rendered into a hidden folder next to the project's place, so a full disk, a bad
template or Ctrl-C leaves nothing behind. Then the folder moves there in one step. In an existing
project (force), files are replaced one by one, and all are restored if one fails.
"""
from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ..base import files as disk
from ..base import paths, ui
from ..base.errors import RunError, UsageError, did_you_mean
from ..env import binding
from .env_names import TEMPLATES, struct_name, validate_name
from .rendering import is_ours, render

DIALECTS = ("4", "5")        # of PufferLib: 4.0, 5.0
LOOP = "loop.py"
AGENTS = "AGENTS.md"         # what assistants read before they change a project


@dataclass(frozen=True)
class Scaffold:
    """A new project."""

    folder: Path                    # absolute
    files: tuple[str, ...]          # what the template wrote, relative to folder
    replaced: tuple[str, ...]       # those of them that existed before (force)
    next_commands: tuple[str, ...]  # what to type from the current folder
    repository: bool                # whether `git init` ran
    dry_run: bool


def new(name: str, *, template: str | os.PathLike[str] = "squared",
        dialect: str = "4", output_dir: str | os.PathLike[str] = ".", force: bool = False,
        dry_run: bool = False, accept_hooks: bool = False, loop: bool = False) -> Scaffold:
    """Make the project output_dir/name from a template.

    name            the folder, the header and (in CamelCase) the env struct; validate_name
    template        one of TEMPLATES ('squared', 'target', ...), or a cookiecutter template: a
                    folder, .zip or URL (the extra `template`)
    dialect         '4' or '5': the form of PufferLib 4.0 or 5.0, of our templates
    force           write into an existing folder; files that the template lacks stay
    dry_run         write nothing; `files` lists what would be written
    accept_hooks    let a template that is not ours run its own code
    loop            write loop.py besides, a training loop in PyTorch to change; into a project that
                    exists, it alone
    Raises UsageError (name, template, existing folder) and RunError (cannot write).
    """
    validate_name(name)
    source = find_template(template)
    _refuse_dialect(dialect, source)
    folder = Path(os.path.expanduser(output_dir)) / name
    with ExitStack() as stack, _disk_errors(folder):
        folder = disk.typed(folder.parent) / folder.name
        if loop and not force and (folder / f"{name}.h").is_file():
            return _add_loop(folder, name, dry_run)
        refuse_existing(folder, force)
        if folder.is_dir():
            folder = folder.resolve()   # where a link points: files move within one disk
        parent = folder.parent
        staging = stack.enter_context(_staging(None if dry_run else parent, name))
        struct = struct_name(name)
        context = {"name": name, "struct": struct, "__struct": struct, "package": package(),
                   "__dialect": dialect}
        rendered = render(source, context, staging, accept_hooks=accept_hooks and not dry_run,
                          scratch=stack.enter_context(_staging(None, name)))
        if is_ours(source):
            disk.write(rendered / AGENTS, _agents_text(name, dialect))
        if loop:
            disk.write(rendered / LOOP, _loop_text(name))
        files = list_files(rendered)
        replaced = tuple(f for f in files if os.path.lexists(folder / f))
        repository = False
        if not dry_run:
            repository = _git_init(rendered, folder)
            move(rendered, folder, files, staging)
    return Scaffold(folder, files, replaced, next_commands(folder, loop), repository, dry_run)


def _agents_text(name: str, dialect: str) -> str:
    """The contract and the commands for assistants, in the words of a dialect."""
    return binding.template("projects/agents.md.jinja").render(
        name=name, c="puf_" if dialect == "5" else "c_")


def _loop_text(name: str) -> str:
    """The example of a loop, as one of this environment."""
    return paths.text(paths.data_dir("examples") / "ideas" / "ppo_loop.py").replace("my_env", name)


def _add_loop(folder: Path, name: str, dry_run: bool) -> Scaffold:
    """loop.py alone, beside the files of a project. Raises UsageError if there is one."""
    if os.path.lexists(folder / LOOP):
        raise UsageError(f"'{name}' has a {LOOP} already", where=folder / LOOP,
                         hint="move it away, and a new one is written")
    if not dry_run:
        disk.write(folder / LOOP, _loop_text(name))
    return Scaffold(folder, (LOOP,), (), next_commands(folder, True), False, dry_run)


# -- templates -----------------------------------------------------------------------

def find_template(template: str | os.PathLike[str]) -> str:
    """The folder of a template of ours; a path or URL for cookiecutter stays as it is. Raises
    UsageError for anything else."""
    text = os.fspath(template)
    if text in TEMPLATES:
        return str(paths.data_dir("templates") / text)
    path = Path(os.path.expanduser(text))
    if (path / "cookiecutter.json").is_file() or (path.is_file() and path.suffix == ".zip"):
        return str(path.absolute())
    if path.exists():
        raise UsageError(f"'{text}' is not a template", where=path.absolute(),
                         expected="a cookiecutter.json in it, or a .zip of such a folder",
                         actual="none")
    if "://" in text or re.match(r"(gh|gl|bb):|[\w.-]+@[\w.-]+:", text):
        return text
    raise UsageError(f"there is no template '{text}'",
                     hint=f"{did_you_mean(text, TEMPLATES)}; or give a folder or a URL")


def _refuse_dialect(dialect: str, source: str) -> None:
    """Raises UsageError for an unknown dialect, and for one that a template lacks."""
    if dialect not in DIALECTS:
        raise UsageError(f"there is no dialect '{dialect}'", expected=" or ".join(DIALECTS))
    if dialect == DIALECTS[0] or is_ours(source) and _has_dialect(Path(source), dialect):
        return
    ours = paths.data_dir("templates")
    known = [name for name in TEMPLATES if _has_dialect(ours / name, dialect)]
    raise UsageError("this template has one dialect, its own", where=source,
                     expected=f"--dialect {dialect} with --template "
                              f"{', '.join(known[:-1])} or {known[-1]}",
                     hint="leave --dialect out")


def _has_dialect(template: Path, dialect: str) -> bool:
    return (template / f"dialect{dialect}").is_dir()


def package() -> str:
    """What pip installs to get this puffer-sdk: the public repository that it was installed from,
    if known; else its name."""
    try:
        text = distribution("puffer-sdk").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    origin = json.loads(text) if text else {}
    url = str(origin.get("url", ""))
    if url.startswith("file://") and shutil.which("git"):
        done = subprocess.run(["git", "-C", url.removeprefix("file://"), "remote", "get-url",
                               "origin"], capture_output=True, text=True, check=False)
        url = done.stdout.strip()
    if not re.fullmatch(r"https://[\w.-]+/[\w./-]+", url):      # no password, no local folder
        return "puffer-sdk"
    commit = origin.get("vcs_info", {}).get("commit_id")
    return f"puffer-sdk @ git+{url}" + (f"@{commit}" if commit else "")


# -- files ---------------------------------------------------------------------------

def refuse_existing(folder: Path, force: bool) -> None:
    """Raise UsageError for an existing folder without force, and for anything but a folder."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise UsageError(f"'{folder.name}' exists and is not a folder", where=folder,
                         hint="move it away, or choose another name")
    if folder.resolve().name != folder.name:
        raise UsageError(f"'{folder.name}' is a link to a folder of another name", where=folder,
                         hint="an environment's folder and header have the same name")
    if not force:
        raise UsageError(f"the folder '{folder.name}' exists already", where=folder,
                         hint="choose another name, or --force to overwrite the template's files "
                              "(others stay)")


def list_files(folder: Path) -> tuple[str, ...]:
    """All files below a folder except .git, relative and sorted."""
    found = (p.relative_to(folder) for p in folder.rglob("*") if not p.is_dir() or p.is_symlink())
    return tuple(sorted(p.as_posix() for p in found if p.parts[0] != ".git"))


@contextmanager
def _staging(parent: Path | None, name: str) -> Iterator[Path]:
    """A temporary folder in parent. It is removed at the end; so is parent, if new and empty."""
    made: list[Path] = []
    if parent is not None:
        missing = [p for p in (parent, *parent.parents) if not p.exists()]
        for folder in reversed(missing):
            disk.mkdir(folder, new=True)
            made.insert(0, folder)
    try:
        with disk.private(f".{name}-", inside=parent) as temporary:
            yield temporary
    finally:
        for folder in made:
            with suppress(OSError):
                disk.rmdir(folder)      # fails if the project is in it, as it should


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    """An OSError becomes a RunError that names the folder."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or getattr(error.__cause__, "strerror", None) or str(error)
        raise RunError(f"cannot write '{folder.name}': {cause}", where=error.filename or folder,
                       hint="nothing was written; choose another --output-dir") from error


def move(rendered: Path, folder: Path, files: tuple[str, ...], staging: Path) -> None:
    """Move the rendered project into place: in one step, or file by file if the folder exists.
    Raises UsageError if a folder is in place of a file."""
    if not folder.exists():
        try:
            disk.rename(rendered, folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                refuse_existing(folder, force=False)    # somebody was faster
            raise
        return
    for file in files:
        if (folder / file).is_dir() and not (folder / file).is_symlink():
            raise UsageError(f"'{file}' is a file in the template and a folder here",
                             where=folder / file, hint="move the folder away")
    undo: list[tuple[Path, Path | None]] = []       # (file in place, where its old one is)
    try:
        for number, file in enumerate(files):
            target, kept = folder / file, None
            disk.mkdir(target.parent)
            if os.path.lexists(target):
                kept = staging / f"old-{number}"
                disk.rename(target, kept)
            undo.append((target, kept))
            disk.rename(rendered / file, target)
        if (rendered / ".git").is_dir():
            disk.rename(rendered / ".git", folder / ".git")
    except BaseException:
        for target, kept in reversed(undo):
            disk.remove(target)
            if kept:
                disk.rename(kept, target)
        raise


def _git_init(rendered: Path, folder: Path) -> bool:
    """Make the project a repository, unless it is inside one or git is not installed."""
    real = folder.resolve()
    inside = any((p / ".git").exists() for p in (real, *real.parents))
    if inside or (rendered / ".git").exists() or shutil.which("git") is None:
        return False
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    result = subprocess.run(["git", "init", "--quiet", str(rendered)], env=clean,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        ui.warn(f"git init failed: {result.stderr.strip()}")
        disk.rmtree(rendered / ".git", ignore_errors=True)
        return False
    return True


def next_commands(folder: Path, loop: bool = False) -> tuple[str, ...]:
    """What to type next, from the current folder."""
    text = paths.shown(folder)
    env = shlex.quote(f"./{text}" if text.startswith("-") else text)
    train = f"python {shlex.quote(f'{text}/{LOOP}')}" if loop else f"puffer-sdk train {env}"
    return (f"puffer-sdk check {env}", f"puffer-sdk build {env}", train, f"puffer-sdk eval {env}")
