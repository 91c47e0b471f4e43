"""Write the C that makes a library of an environment.  Spec -> build/binding.c

The same inputs give the same bytes, and a file whose bytes would not change is not touched.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import paths
from ..base.files import write_if_changed
from ..base.paths import PACKAGE, include_dir
from ..base.spec import Spec
from ..settings.texts import show
from . import dialects
from .source import hide

if TYPE_CHECKING:
    import jinja2


def write(spec: Spec, build_dir: Path) -> Path:
    """The binding's path: the hand-written one, or build/binding.c, generated now."""
    if spec.binding and not spec.by_agent:
        return spec.binding
    return write_if_changed(build_dir / "binding.c", render(spec))


def render(spec: Spec) -> str:
    """The text of the generated binding.c."""
    name = "pufferlib5.c.jinja" if spec.by_agent else "binding.c.jinja"
    return template(f"env/{name}").render(spec=spec, logs=spec.log_values,
                                               log_floats=1 + len(spec.log_names))


def write_player(spec: Spec, source: Path, build_dir: Path) -> Path:
    """build/NAME_player.c: the binding, and NAME.c for the sake of its c_keys.

    The binding itself where there is no c_keys. A header of PufferLib 5.0 may have it.
    """
    program = spec.folder / f"{spec.name}.c"
    owner = next((file for file in (program, spec.header) if file.is_file() and has_keys(file)),
                 None)
    if owner is None:
        return source
    included = () if owner == spec.header else (
        "#define main puffer_program_main", f'#include "{program.name}"', "#undef main")
    lines = (f"// Generated from {owner.name} by puffer-sdk play. Do not edit.",
             f'#include "{source.name}"', *included, "",
             '__attribute__((visibility("default"))) void puffer_keys(void* env) {',
             "    c_keys((Env*)env);", "}", "")
    return write_if_changed(build_dir / f"{spec.name}_player.c", "\n".join(lines))


def has_keys(file: Path) -> bool:
    """Whether this file of the author's defines c_keys."""
    return re.search(r"\bvoid\s+c_keys\s*\([^;{]*\{", hide(paths.text(file))) is not None


def write_program(spec: Spec, build_dir: Path) -> Path:
    """build/NAME_program.c: what plays an environment of PufferLib 5.0 in a window."""
    return write_if_changed(build_dir / f"{spec.name}_program.c",
                            template("env/pufferlib5_program.c.jinja").render(
                                spec=spec, has_keys=has_keys(spec.header)))


def write_config_header(spec: Spec, env_settings: Mapping[str, float], build_dir: Path) -> Path:
    """build/NAME_config.h: the [env] settings as C, for NAME.c to include after NAME.h.

    Settings that no struct field takes are left out (check reports them as PUF105), unless puf_init
    gets them all. A copy of
    puffernet.h goes beside it, so that a compiler needs to be told of no folder.
    """
    types = {f.name: f.type for f in spec.settable}
    settings = [(name, c_literal(value, "double" if spec.by_agent else types[name]))
                for name, value in env_settings.items() if name in types or spec.by_agent]
    observations = next((f.type for f in spec.fields if f.name == "observations"), "void *")
    text = template("env/config.h.jinja").render(
        spec=spec, settings=settings, ini=f"{spec.name}.ini", observations=observations,
        texts={name: c_text(show(value)) for name, value in env_settings.items()})
    policies = (include_dir() / "puffernet.h").read_text(encoding="utf-8")
    write_if_changed(build_dir / "puffernet.h", policies)
    if dialects.layer_flags(spec.folder):
        layers = (include_dir() / "puffernet_layers.h").read_text(encoding="utf-8")
        write_if_changed(build_dir / "puffernet_layers.h", layers)
    return write_if_changed(build_dir / f"{spec.name}_config.h", text)


def c_text(text: str) -> str:
    """A text as a string of C."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def c_literal(value: float, c_type: str) -> str:
    """A number as C source of that type, exact."""
    if c_type == "float":
        import numpy as np
        short = str(np.float32(value))
        return (short if any(c in short for c in ".en") else short + ".0") + "f"
    if c_type == "double":
        return repr(float(value))
    if c_type in ("bool", "_Bool"):
        return "1" if value else "0"
    return str(int(value)) + ("u" if "unsigned" in c_type else "")


@cache
def template(name: str) -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PACKAGE), trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=jinja2.StrictUndefined, autoescape=False)
    return environment.get_template(name)
