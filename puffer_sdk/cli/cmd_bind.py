"""`puffer-sdk bind`: parse, write binding.c, print what to know about it."""
from __future__ import annotations

import json
from collections.abc import Iterable

import click

from ..base import paths, ui
from ..base.errors import BuildError
from .options import env_argument, format_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk bind my_env", "writes my_env/binding.c; later builds use it"),
    ("puffer-sdk bind old_env --upgrade", "converts a PufferLib 3 environment to 4.0"),
    ("puffer-sdk bind my_env --upgrade --dialect 5", "converts a 4.0 environment to 5.0's form")])
@env_argument
@click.option("--force", is_flag=True, help="Replace an existing binding.c.")
@click.option("--upgrade", is_flag=True,
              help="Convert an environment of PufferLib 3, of early 4.0 or of 5.0 to 4.0.")
@click.option("--dialect", type=click.Choice(("4", "5")), default="4", show_default=True,
              help="With --upgrade: the PufferLib to convert to, 4.0 or 5.0.")
@format_option
def command(env: str | None, force: bool, upgrade: bool, dialect: str, format_: str) -> None:
    """Write a binding.c next to the header, to edit by hand.

    PufferLib 4.0 requires this file; puffer-sdk generates its own in build/. If the file exists,
    puffer-sdk uses it, and no longer reads sizes, settings and logs from the header. To send an
    environment to PufferLib: puffer-sdk export ENV --ocean.

    --upgrade converts the binding and the header of an older Ocean environment to 4.0. It keeps the
    originals as binding.c.orig and so on, and lists what it cannot convert. With --dialect 5, it
    makes one header in PufferLib 5.0's form of a 4.0 environment; a header of 5.0 becomes a header
    and a binding.c of 4.0. Both are played: if they differ by a byte, nothing is written.
    """
    if upgrade and force:
        raise click.UsageError("--upgrade and --force cannot be combined: --upgrade keeps the "
                               "originals")
    if dialect == "5" and not upgrade:
        raise click.UsageError("--dialect 5 requires --upgrade: a header of 5.0 has no binding.c")
    if upgrade:
        _upgrade(env, dialect, format_)
    else:
        _bind(env, force, format_)


def _bind(env: str | None, force: bool, format_: str) -> None:
    from ..projects.ocean import bind

    done = bind(env, force=force)
    if format_ == "json":
        ui.out(json.dumps({"path": str(done.path), "notes": list(done.notes)}))
        return
    ui.out(f"wrote  {paths.shown(done.path)}; builds use it")
    _notes(done.notes)


def _upgrade(env: str | None, dialect: str, format_: str) -> None:
    from ..projects.to_form4 import to_form4
    from ..projects.to_form5 import to_form5
    from ..projects.upgrading import upgrade

    is_5 = paths.is_form5(paths.header_of(paths.find_env(env)))
    done = (to_form5 if dialect == "5" else to_form4 if is_5 else upgrade)(env)
    if format_ == "json":
        ui.out(json.dumps({"folder": str(done.folder), "changed": done.changed,
                           "notes": done.notes, "problems": [str(p) for p in done.problems]}))
    else:
        for name in done.changed:
            kept = (done.folder / f"{name}.orig").exists()
            ui.out(f"wrote  {paths.shown(done.folder / name)}"
                   + f" (original: {name}.orig)" * kept)
        _notes(done.notes)
    if done.problems:
        more = len(done.problems) - 1
        first = done.problems[0]
        raise BuildError(f"converted, but not yet a valid 4.0 environment: {first.message}",
                         where=first.where, expected=first.expected, actual=first.actual,
                         code=first.code,
                         hint=first.hint or (f"puffer-sdk check {done.folder.name} lists this and "
                                             f"{more} more" if more else None))


def _notes(notes: Iterable[str]) -> None:
    for note in notes:
        ui.out(f"note   {note}", style="yellow")
