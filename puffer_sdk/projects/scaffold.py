"""A name and a template -> a project folder (cookiecutter). Nothing half-written stays.

The template is rendered into a hidden folder next to the project's place, so a full disk, a bad
template or Ctrl-C leaves nothing behind. Then the folder moves there in one step. In an existing
project (force), files are replaced one by one, and all are restored if one fails.
"""
from __future__ import annotations

import errno
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import files as disk
from ..base import paths, ui
from ..base.errors import RunError, UsageError, did_you_mean
from .env_names import struct_name, validate_name

if TYPE_CHECKING:
    from jinja2 import Environment, Template

TEMPLATES = ("squared", "target")


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
        output_dir: str | os.PathLike[str] = ".", force: bool = False, dry_run: bool = False,
        accept_hooks: bool = False) -> Scaffold:
    """Make the project output_dir/name from a template.

    name            the folder, the header and (in CamelCase) the env struct; validate_name
    template        'squared', 'target', or a cookiecutter template: a folder, .zip or URL
    force           write into an existing folder; files that the template lacks stay
    dry_run         write nothing; `files` lists what would be written
    accept_hooks    let a template that is not ours run its own code
    Raises UsageError (name, template, existing folder) and RunError (cannot write).
    """
    validate_name(name)
    source = find_template(template)
    folder = Path(os.path.expanduser(output_dir)) / name
    with ExitStack() as stack, _disk_errors(folder):
        folder = disk.typed(folder.parent) / folder.name
        refuse_existing(folder, force)
        if folder.is_dir():
            folder = folder.resolve()   # where a link points: files move within one disk
        parent = folder.parent
        staging = stack.enter_context(_staging(None if dry_run else parent, name))
        rendered = render(source, name, staging, accept_hooks=accept_hooks and not dry_run,
                          scratch=stack.enter_context(_staging(None, name)))
        files = list_files(rendered)
        replaced = tuple(f for f in files if os.path.lexists(folder / f))
        repository = False
        if not dry_run:
            repository = _git_init(rendered, folder)
            move(rendered, folder, files, staging)
    return Scaffold(folder, files, replaced, next_commands(folder), repository, dry_run)


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


def is_ours(source: str) -> bool:
    """True for the templates that the package carries."""
    return Path(source).parent == paths.data_dir("templates")


def render(source: str, name: str, staging: Path, *, accept_hooks: bool, scratch: Path) -> Path:
    """Run cookiecutter without questions, and without files in the user's home.

    Returns the folder that it made in staging. Clones and replays go to scratch. Raises UsageError
    for a template that cannot be used, RunError if one of its hooks fails.
    """
    from cookiecutter.exceptions import FailedHookException
    from cookiecutter.main import cookiecutter
    from requests import RequestException

    config = {"cookiecutters_dir": str(scratch / "clones"), "replay_dir": str(scratch / "replay")}
    struct = struct_name(name)
    before = Path.cwd()
    try:
        with _quiet_cookiecutter(scratch, trusted=accept_hooks or is_ours(source)), \
                _inside(staging):
            made = cookiecutter(source, no_input=True, output_dir=str(staging),
                                extra_context={"name": name, "struct": struct,
                                               "__struct": struct, "package": package()},
                                default_config=config, accept_hooks=accept_hooks)
    except FailedHookException as error:
        raise RunError("a hook of the template failed", where=source, detail=str(error)) from error
    except UsageError:
        raise
    except Exception as error:          # anything that a third-party template can cause
        if is_ours(source) or (isinstance(error, OSError)
                               and not isinstance(error, RequestException)):
            raise
        raise UsageError("the template cannot be used", where=source,
                         detail=_what_it_said(error)) from error
    finally:
        os.chdir(before)
    made = Path(made)
    if made.parent != staging or not (made / f"{name}.h").is_file():
        raise UsageError("the template does not make an environment", where=source,
                         expected=f"{name}/{name}.h", actual="a project without it",
                         hint="name folder and header {{cookiecutter.name}}")
    for folder in list(made.rglob("__pycache__")):      # pip compiles what lies in a template
        disk.rmtree(folder)
    _warn_about_hooks(source, scratch, accept_hooks)
    return made


def _what_it_said(error: Exception) -> str:
    """The text of cookiecutter, Jinja or git."""
    from cookiecutter.exceptions import UnknownRepoType

    if isinstance(error, UnknownRepoType):
        return "it is not a .zip, and may not be git: write git+https://..."
    output = getattr(error, "output", None)
    return output.decode(errors="replace") if isinstance(output, bytes) else (
        str(error) or type(error).__name__)


def _warn_about_hooks(source: str, scratch: Path, accepted: bool) -> None:
    """Warn if the template has hooks that did not run."""
    folders = [Path(source), *(scratch / "clones").glob("*"), *scratch.glob("tmp*/*")]
    if not accepted and any((folder / "hooks").is_dir() for folder in folders):
        ui.warn("the template has hooks, which did not run",
                hint="read them, then run it again with --force --accept-hooks")


@contextmanager
def _quiet_cookiecutter(scratch: Path, trusted: bool) -> Iterator[None]:
    """No log lines, no password prompts, all temporary files in scratch.

    An untrusted template is rendered in Jinja's sandbox, without extensions: only as text.
    """
    from cookiecutter import utils
    from cookiecutter.environment import StrictEnvironment
    from jinja2.sandbox import SandboxedEnvironment

    class Sandbox(StrictEnvironment, SandboxedEnvironment):     # type: ignore[misc]  # untyped
        def _read_extensions(self, context: Mapping[str, object]) -> list[str]:
            if super()._read_extensions(context):
                raise ValueError("it loads Python code (_extensions): read it, then run it "
                                 "again with --accept-hooks")
            return []

    logger = logging.getLogger("cookiecutter")
    level = logger.level
    ssh = os.environ.get("GIT_SSH_COMMAND", "ssh") + " -oBatchMode=yes"
    silent = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "GIT_SSH_COMMAND": ssh}
    before = {name: os.environ.get(name) for name in silent}
    temporary, environment = tempfile.tempdir, utils.StrictEnvironment
    try:
        os.environ.update(silent)
        tempfile.tempdir = str(scratch)
        logger.setLevel(logging.CRITICAL + 1)
        if not trusted:
            utils.StrictEnvironment = Sandbox
        yield
    finally:
        utils.StrictEnvironment = environment
        logger.setLevel(level)
        tempfile.tempdir = temporary
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def _inside(staging: Path) -> Iterator[None]:
    """No template copies what a link leads to, or writes elsewhere than in staging."""
    from cookiecutter import generate, main

    make_files, make_env = main.generate_files, generate.create_env_with_context

    def checked_files(repo_dir: str, **options: object) -> str:
        _refuse_links(Path(repo_dir))
        return str(make_files(repo_dir, **options))

    def checked_env(context: dict[str, object]) -> Environment:
        env: Environment = make_env(context)
        parse = env.from_string         # cookiecutter.generate renders nothing but names with it
        vars(env)["from_string"] = lambda text: _Name(parse(text), text, staging)
        return env

    try:
        main.generate_files, generate.create_env_with_context = checked_files, checked_env
        yield
    finally:
        main.generate_files, generate.create_env_with_context = make_files, make_env


@dataclass(frozen=True)
class _Name:
    """A path of a template, which renders to one in staging."""

    parsed: Template
    text: str
    staging: Path

    def render(self, **context: object) -> str:
        name = self.parsed.render(**context)
        inside = Path(name).relative_to(self.staging) if Path(name).is_relative_to(self.staging) \
            else name
        disk.below(self.staging, os.fspath(inside), "a file of the template", where=self.text)
        _refuse_repository(Path(inside), self.text)
        return name


def _refuse_repository(path: Path, where: object) -> None:
    """Raises UsageError for a path within .git: git runs its hooks and what its settings say."""
    if any(part.lower() == ".git" for part in path.parts):
        raise UsageError("the template contains its own git repository", where=where,
                         hint="remove .git from the template")


def _refuse_links(template: Path) -> None:
    """Raises UsageError if what is rendered is not all files and folders of a project."""
    for top in sorted(template.iterdir()):
        if "{{" in top.name or top.name in ("cookiecutter.json", "templates", "hooks"):
            for path in (top, *top.rglob("*")):
                _refuse_repository(path.relative_to(template), path)
                if path.is_symlink() or not (path.is_file() or path.is_dir()):
                    raise UsageError("the template contains entries other than files and folders",
                                     where=path, expected="a file", actual="a link"
                                     if path.is_symlink() else "a pipe or a device")


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


def next_commands(folder: Path) -> tuple[str, ...]:
    """What to type next, from the current folder."""
    text = paths.shown(folder)
    env = shlex.quote(f"./{text}" if text.startswith("-") else text)
    return (f"puffer-sdk check {env}", f"puffer-sdk build {env}", f"puffer-sdk train {env}",
            f"puffer-sdk eval {env}")
