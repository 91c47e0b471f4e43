"""`puffer-sdk config`: parse, resolve the settings, print each with its origin."""
from __future__ import annotations

import json

import click

from ..base import paths, ui
from ..base.errors import PufferError
from ..settings.config import Config, find_ini, resolve
from ..settings.table import KEYS, show
from .options import env_argument, format_option, takes_settings
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk config my_env", "every setting and its origin"),
    ("puffer-sdk config my_env --explain", "also what each one means"),
    ("puffer-sdk config my_env --train.seed 7", "what would train do with this?")])
@env_argument
@takes_settings
@click.option("--explain", is_flag=True, help="Print what each setting means.")
@format_option
def command(env, settings, explain, format_):
    """Show every setting of ENV and where it came from.

    Takes the same --section.key options as train, so you can see their effect first.
    """
    folder = paths.find_env(env)
    config = resolve(folder, settings, _spec(folder))
    if format_ == "json":
        ui.out(json.dumps(_document(folder, config), indent=2))
    else:
        _print(folder, config, explain)


def _spec(folder):
    """The environment's Spec, or None if its header cannot be read: settings are shown anyway."""
    from ..env import header
    try:
        return header.read(folder)
    except PufferError as error:
        ui.warn(f"[env] is not compared with the struct: {error.message}",
                f"puffer-sdk check {folder.name}")
        return None


def _document(folder, config: Config) -> dict:
    ini = find_ini(folder)
    rows = {}
    for full, value in config.items():
        key = KEYS.get(full)
        rows[full] = {"value": value, "origin": config.origin.get(full, "default"),
                      "help": key.help if key else None}
    return {"env": folder.name, "folder": str(folder), "ini": str(ini) if ini else None,
            "settings": rows, "ignored": dict(config.skipped)}


def _print(folder, config: Config, explain: bool) -> None:
    rows = [(*full.split(".", 1), show(value), config.origin.get(full, "default"),
             KEYS[full].help if full in KEYS else "") for full, value in config.items()]
    wide = max(len(name) for _, name, *_ in rows)
    value_wide = max(len(value) for _, _, value, *_ in rows if len(value) <= 24)
    section = None
    for head, name, value, origin, meaning in rows:
        if head != section:
            ui.out(("" if section is None else "\n") + f"[{head}]", style="bold")
            section = head
        line = f"  {name:<{wide}}  {value:<{value_wide}}  {origin}"
        if explain and meaning:
            ui.out(f"  # {meaning}", style="dim")
        ui.out(line, style="dim" if origin == "default" else None)
    if config.skipped:
        ui.out("\nwithout effect here", style="bold")
        for name, place in config.skipped.items():
            ui.out(f"  {name:<{wide}}  {place}", style="dim")
