"""A template -> a folder in staging. Ours by Jinja alone; others' by cookiecutter, as text."""
from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import extras, paths, ui
from ..base import files as disk
from ..base.errors import RunError, UsageError

if TYPE_CHECKING:
    from jinja2 import Environment, Template


PROJECT = "{{cookiecutter.name}}"


def is_ours(source: str) -> bool:
    """True for the templates that the package carries."""
    return Path(source).parent == paths.data_dir("templates")


def render(source: str, context: Mapping[str, str], staging: Path, *, accept_hooks: bool,
           scratch: Path) -> Path:
    """Render a template without questions, and without files in the user's home.

    context     values of cookiecutter.json: "name", "struct", "__struct", "package", "__dialect"
    Returns the folder that it made in staging. Clones and replays go to scratch. Raises UsageError
    for a template that cannot be used, RunError if one of its hooks fails.
    """
    made = _render_ours(Path(source), context, staging) if is_ours(source) else \
        _render_others(source, context, staging, accept_hooks, scratch)
    name = context["name"]
    if made.parent != staging or not (made / f"{name}.h").is_file():
        raise UsageError("the template does not make an environment", where=source,
                         expected=f"{name}/{name}.h", actual="a project without it",
                         hint="name folder and header {{cookiecutter.name}}")
    for folder in list(made.rglob("__pycache__")):      # pip compiles what lies in a template
        disk.rmtree(folder)
    _warn_about_hooks(source, scratch, accept_hooks)
    return made


def _render_ours(template: Path, context: Mapping[str, str], staging: Path) -> Path:
    """Names and texts, which is all that ours need: cookiecutter brings 15 packages along.

    What lies in dialect5/ replaces the file of that name in an environment of PufferLib 5.0, which
    has no NAME.c.
    """
    from jinja2 import Environment, StrictUndefined

    env = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    files = {path.relative_to(template).as_posix(): path
             for path in sorted(template.glob("{{*/**/*"))}
    if context["__dialect"] == "5":
        del files[f"{PROJECT}/{PROJECT}.c"]
        files |= {f"{PROJECT}/{path.name}": path for path in template.glob("dialect5/*")}
    for name, path in files.items():
        if path.is_file() and "__pycache__" not in path.parts:
            target = staging / env.from_string(name).render(cookiecutter=context)
            disk.mkdir(target.parent)
            disk.write(target, env.from_string(path.read_text(encoding="utf-8")).render(
                cookiecutter=context).encode())
    return staging / context["name"]


def _render_others(source: str, context: Mapping[str, str], staging: Path, accept_hooks: bool,
                   scratch: Path) -> Path:
    """By cookiecutter: hooks only where accepted."""
    extras.require("cookiecutter", "template", "a template from elsewhere", where=source)
    from cookiecutter.exceptions import FailedHookException
    from cookiecutter.main import cookiecutter
    from requests import RequestException

    config = {"cookiecutters_dir": str(scratch / "clones"), "replay_dir": str(scratch / "replay")}
    before = Path.cwd()
    try:
        with _quiet_cookiecutter(scratch, trusted=accept_hooks), _inside(staging):
            made = cookiecutter(source, no_input=True, output_dir=str(staging),
                                extra_context=dict(context), default_config=config,
                                accept_hooks=accept_hooks)
    except FailedHookException as error:
        raise RunError("a hook of the template failed", where=source, detail=str(error)) from error
    except UsageError:
        raise
    except Exception as error:          # anything that a third-party template can cause
        if isinstance(error, OSError) and not isinstance(error, RequestException):
            raise
        raise UsageError("the template cannot be used", where=source,
                         detail=_what_it_said(error)) from error
    finally:
        os.chdir(before)
    return Path(made)


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
