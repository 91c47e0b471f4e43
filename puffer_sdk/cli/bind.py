"""`puffer-sdk bind`: parse, write binding.c, say what it settles."""
from __future__ import annotations

import json

import click

from ..base import paths, ui
from .options import env_argument, format_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk bind my_env", "my_env/binding.c, which counts from now on")])
@env_argument
@click.option("--force", is_flag=True, help="Replace a binding.c that is there.")
@format_option
def command(env, force, format_):
    """Write a binding.c beside the header, to be edited by hand.

    PufferLib 4.0 wants one in every environment; puffer-sdk makes its own in build/ and needs none.
    Once it stands there it counts: what it says about sizes, settings and logs is no longer read
    from the header. To send an environment to PufferLib: puffer-sdk export ENV --ocean.
    """
    from ..projects.ocean import bind

    done = bind(env, force=force)
    if format_ == "json":
        ui.out(json.dumps({"path": str(done.path), "notes": list(done.notes)}))
        return
    ui.out(f"wrote  {paths.shown(done.path)}, and built with it")
    for note in done.notes:
        ui.out(f"note   {note}", style="yellow")
