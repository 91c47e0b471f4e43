"""`puffer-sdk bind`: parse, write binding.c, print what to know about it."""
from __future__ import annotations

import json

import click

from ..base import paths, ui
from .options import env_argument, format_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk bind my_env", "writes my_env/binding.c, which is used from now on")])
@env_argument
@click.option("--force", is_flag=True, help="Replace an existing binding.c.")
@format_option
def command(env, force, format_):
    """Write a binding.c next to the header, to edit by hand.

    PufferLib 4.0 needs one in every environment. puffer-sdk does not: it makes its own in build/.
    If the file exists, puffer-sdk uses it, and no longer reads sizes, settings and logs from the
    header. To send an environment to PufferLib: puffer-sdk export ENV --ocean.
    """
    from ..projects.ocean import bind

    done = bind(env, force=force)
    if format_ == "json":
        ui.out(json.dumps({"path": str(done.path), "notes": list(done.notes)}))
        return
    ui.out(f"wrote  {paths.shown(done.path)}, and built with it")
    for note in done.notes:
        ui.out(f"note   {note}", style="yellow")
