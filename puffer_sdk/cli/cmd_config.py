"""`puffer-sdk config`: parse, resolve the settings, print each with its origin."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base import ui
from ..base.errors import PufferError
from ..base.spec import OBS_UNITS, Spec
from ..env import obs_spec
from ..interop.python_envs import env_source
from ..settings import inifile
from ..settings.config import sized_for_a_gpu
from ..settings.table import AUTO, KEYS
from ..settings.texts import show
from ..settings.values import Config
from .options import env_argument, format_option, takes_settings
from .pages import Page

if TYPE_CHECKING:
    from ..env.obs_spec import ObsSpec
    from ..interop.python_envs.python_spec import PythonSpec

Sizes = Mapping[str, tuple[object, object]]     # key -> value, our default


@click.command(cls=Page, examples=[
    ("puffer-sdk config my_env", "every setting and its origin"),
    ("puffer-sdk config my_env --explain", "also show each setting's meaning"),
    ("puffer-sdk config my_env --train.seed 7", "preview the settings of train")])
@env_argument
@takes_settings
@click.option("--explain", is_flag=True, help="Print each setting's meaning.")
@format_option
def command(env: str | None, settings: dict[str, str], ini: Path | None, explain: bool,
            format_: str) -> None:
    """Show every setting of ENV and where it came from.

    Takes the same --section.key options and --config FILE as train, to preview their effect.
    """
    source = env_source.find(env, ini)
    files = [*source.own_inis(), *source.over]
    spec: Spec | PythonSpec | None = None
    if isinstance(source, env_source.CompiledSource):
        spec = _spec(source.folder)
        config = source.resolve(settings, spec)
        sizes = sized_for_a_gpu(config) if len(source.own_inis()) > 1 else {}
        found = obs_spec.read(spec, None, spec.act_widths or (), config.env) if spec else None
    else:
        prepared = source.prepare(settings)
        spec, config, sizes = prepared.spec, prepared.config, {}
        found = prepared.spec.row()
    if format_ == "json":
        ui.out(json.dumps(_document(source, files, config, sizes, found, spec), indent=2))
    else:
        _print_files(files)
        _print(config, explain)
        _print_sizes(config, sizes)
        if spec and found:
            _print_row(spec, found)
        if spec:
            ui.out("\nfinal observations", style="bold")
            ui.out(f"  {spec.final_obs or f'none: {spec.no_final_obs}'}")


def _spec(folder: Path) -> Spec | None:
    """The environment's Spec, or None if its header cannot be read: settings are shown anyway."""
    from ..env import header
    try:
        return header.read(folder)
    except PufferError as error:
        ui.warn(f"[env] is not compared with the struct: {error.message}",
                f"puffer-sdk check {folder.name}")
        return None


def _document(source: env_source.CompiledSource | env_source.PythonSource,
              files: Sequence[Path], config: Config, sizes: Sizes, row: ObsSpec | None,
              spec: Spec | PythonSpec | None) -> dict[str, object]:
    rows = {}
    for full, value in config.items():
        key = KEYS.get(full)
        rows[full] = {"value": value, "origin": config.origin.get(full, "default"),
                      "help": key.help if key else None}
    return {"env": source.name, "folder": str(source.folder) if source.folder else None,
            "inis": [str(file) for file in files],
            "settings": rows, "ignored": dict(config.skipped),
            "sized_for_a_gpu": {full: {"value": value, "ours": ours}
                                for full, (value, ours) in sizes.items()},
            "row": row.to_dict() if row else None,
            "final_observations": str(spec.final_obs) if spec and spec.final_obs else None}


def _print_files(files: Sequence[Path]) -> None:
    """The ini files, if one overrides another."""
    if len(files) > 1:
        shown = [inifile.where(file) for file in files]
        ui.out("files, each overriding those before it", style="bold")
        for file in shown:
            ui.out(f"  {file}")
        ui.out("")


def _print(config: Config, explain: bool) -> None:
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


def _print_sizes(config: Config, sizes: Sizes) -> None:
    """Sizes that upstream's default.ini chooses for a GPU, and the options that restore our
    defaults."""
    if not sizes:
        return
    ui.out("\nsized for a GPU by PufferLib's config/default.ini; ours are for the cores of a CPU",
           style="bold")
    wide = max(map(len, sizes))
    for full, (value, ours) in sizes.items():
        why = f" ({KEYS[full].auto})" if ours == AUTO else ""
        ui.out(f"  {full:<{wide}}  {show(value)}, {config.origin[full]}; ours: {show(ours)}{why}")
    ui.out("  ours again: " + " ".join(f"{KEYS[full].flag} {show(ours)}"
                                       for full, (_, ours) in sizes.items()), style="dim")


def _print_row(spec: Spec | PythonSpec, row: ObsSpec) -> None:
    """An agent's observations and actions, with the author's names."""
    kind = OBS_UNITS[spec.obs_dtype]
    ui.out("\nobservation", style="bold")
    whole = row.whole.described if row.whole else ""
    ui.out(f"  {row.size} {kind}" + (f": {whole}" if whole else ""))
    places = [str(part.first) if part.count == 1 else f"{part.first}-{part.last}"
              for part in row.parts]
    wide = max(map(len, places), default=0)
    name_wide = max((len(part.name) for part in row.parts), default=0)
    for place, part in zip(places, row.parts):
        ui.out(f"  {place:<{wide}}  {part.name:<{name_wide}}  {part.described}".rstrip())
    ui.out("\nactions", style="bold")
    names = row.heads or [f"head {number}" for number in range(len(spec.act_widths or ()))]
    name_wide = max(map(len, names), default=0)
    for name, width in zip(names, spec.act_widths or ()):
        of = "a number" if width == 1 else f"{width} ids"
        ui.out(f"  {name:<{name_wide}}  {of}" + (f": {', '.join(row.ids)}" if row.ids else ""))
