"""`puffer-sdk build`: parse, build, say where it is."""
from __future__ import annotations

import json
import shlex

import click

from .. import paths, ui
from ..errors import UsageError
from .options import env_argument, format_option, takes_settings, verbose_option


@click.command()
@env_argument
@takes_settings
@click.option("--local", is_flag=True, hidden=True)
@click.option("--fast", is_flag=True, hidden=True)
@click.option("--web", is_flag=True, hidden=True)
@format_option
@verbose_option
def command(env, settings, local, fast, web, format_, verbose):
    """Compile ENV into the library that check, train and Python use.

    One compiler command, shown with --verbose. Unchanged sources are not compiled again. The
    other commands build by themselves.
    """
    from ..api import build

    for name, asked in (("--local", local), ("--fast", fast), ("--web", web)):
        if asked:
            raise UsageError(f"this version does not have build {name} yet")
    built = build(env, settings)
    if verbose:
        ui.say(shlex.join(built.command))
    if format_ == "json":
        ui.out(json.dumps({"library": str(built.library), "seconds": built.seconds,
                           "cached": built.cached, "command": built.command}))
        return
    if built.warnings.strip():
        ui.say(built.warnings.strip())
    how = "unchanged" if built.cached else f"compiled in {built.seconds:.2f} s"
    ui.out(f"built  {paths.shown(built.library)} ({how})")
