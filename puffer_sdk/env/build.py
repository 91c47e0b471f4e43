"""Compile an environment.  Spec -> build/NAME-HASH.so, by one compiler command.

The hash covers everything the library depends on: the preprocessed source (so every header it
includes), the flags, the compiler and this machine's CPU. An unchanged environment is not
compiled again; a changed one never overwrites a library that another process has open.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base import files, paths
from ..base.codes import CODE
from ..base.errors import BuildError
from ..base.spec import Spec
from ..raylib import headers as raylib
from ..settings import outside_libraries
from ..toolchain import compilers
from ..toolchain.libraries import NATIVE, SHARED, compile_library, is_intact, prune
from . import binding, dialects, header, probe, pufferlib5, wide_types

KEEP = 8            # libraries of one environment that stay in build/


# The same numbers at every level of optimisation: no multiply-add that the source does not write.
# With the first flag alone, gcc 12 still makes one of x*y - z beside x*y + z
EXACT = ("-ffp-contract=off", "-fno-tree-slp-vectorize")


@dataclass(frozen=True)
class Build:
    """What a build gave."""

    library: Path
    spec: Spec
    command: list[str]      # what a user would type to compile the same
    seconds: float
    cached: bool            # True if an earlier build was still good
    warnings: str = ""      # what the compiler remarked on


def env_flags(spec: Spec, raylib_headers: Path | None = None) -> list[str]:
    """The flags that every compilation of this environment carries, library or program.

    raylib_headers    of the raylib that it will be linked with; the wheel's unless given
    """
    headers = raylib_headers or raylib.headers()
    language = pufferlib5.CPP if spec.is_cpp else ("-std=gnu11",)
    return [*language, *EXACT, "-DRAYMATH_STATIC_INLINE", "-DPLATFORM_DESKTOP",
            *(f"-I{folder}" for folder in (paths.include_dir(), headers, spec.folder,
                                           *paths.checkout_includes(spec.folder))),
            *outside_libraries.read(spec.folder).compile_flags,
            f'-DPUFFER_NAME="{spec.name}"', *spec.field_flags]


def library_flags(spec: Spec, raylib_headers: Path | None = None) -> list[str]:
    """env_flags for code that becomes part of a library, where rand() is the env's own."""
    prelude = paths.include_dir() / "puffer_prelude.h"
    written = spec.final_obs.flags if spec.final_obs and spec.writes_final_obs else []
    return [*env_flags(spec, raylib_headers), "-DPUFFER_LIBRARY", *written, "-include",
            str(prelude)]


def closing_flags(spec: Spec) -> list[str]:
    """What follows the author's files in a command that compiles and links them."""
    return ["-xnone", "-lstdc++"] if spec.is_cpp else []


def openmp_flags(spec: Spec, compiler: compilers.Compiler) -> list[str]:
    """What makes `#pragma omp` count, where the author's files have it and the compiler can."""
    uses = probe.uses_openmp(spec.folder) and compilers.has_openmp(compiler)
    return ["-fopenmp"] * uses


def build(folder: Path, *, env_settings: Mapping[str, float] | None = None, opt: str = "-O3",
          raylib_headers: Path | None = None, keys: bool = False, verbose: bool = False) -> Build:
    """Compile the environment in `folder` into its library, unless that has been done.

    env_settings      [env] values for build/NAME_config.h, which NAME.c includes
    raylib_headers    for a library that will draw: those of the raylib that serves it
    keys              with puffer_keys(env), which calls the author's c_keys, where there is one
    Raises BuildError with the author's file and line.
    """
    began = time.perf_counter()
    spec = header.read(Path(folder))
    build_dir = paths.writable(paths.build_dir(spec.folder), purpose="build products")
    source = binding.write(spec, build_dir)
    if env_settings is not None:
        binding.write_config_header(spec, env_settings, build_dir)

    compiler = compilers.find_compiler()
    looks = spec.final_obs.flags if spec.final_obs and not spec.writes_final_obs else []
    flags = [*library_flags(spec, raylib_headers), *wide_types.flags(spec.folder),
             *openmp_flags(spec, compiler), *looks, opt, NATIVE,
             "-fPIC", "-fvisibility=hidden", "-Wall"]
    if keys:
        source = binding.write_player(spec, source, build_dir)
        flags += ["-w", f"-I{build_dir}", f"-I{build_dir.parent}",
                  *dialects.layer_flags(spec.folder)]
    needs = outside_libraries.read(spec.folder)
    key = _key(compiler, [*flags, *SHARED], source, spec, needs.key)
    library = build_dir / f"{spec.name}-{key}.so"
    command = [*compiler.command, *flags, *SHARED, str(source), *closing_flags(spec),
               *needs.link_flags, "-lm"]
    shown = [*command, "-o", str(library)]
    warnings = ""
    cached = is_intact(library)
    if not cached:
        warnings = _compile(library, command, spec, verbose)
        prune(build_dir, spec.name, keep=KEEP, spare=library)
    _write_compile_commands(build_dir, spec, compiler)
    return Build(library, spec, shown, time.perf_counter() - began, cached, warnings)


def _compile(library: Path, command: list[str], spec: Spec, verbose: bool) -> str:
    try:
        return compile_library(library, command, source=spec.header, what=spec.header.name,
                               verbose=verbose)
    except BuildError as error:
        raise of_assertion(error) or error from None


def of_assertion(error: BuildError) -> BuildError | None:
    """The sentence and code of a static assertion of vecenv.h, where one stopped the compiler."""
    found = re.search(rf"({CODE}): ([^\"\n]+)", error.detail or "")
    return BuildError(found[2].strip(), where=error.where, code=found[1]) if found else None


def _key(compiler: compilers.Compiler, flags: list[str], source: Path, spec: Spec,
         libraries: str) -> str:
    """Twelve hex digits that change with anything that the library depends on."""
    expand = [*compiler.command, *flags, "-E", "-P", str(source)]
    expand = [word for word in expand if word not in SHARED]
    text = compilers.run_compiler(expand, source=spec.header, what=spec.header.name, reads=True)
    relevant = [flag for flag in flags if not flag.startswith(("-I", "-include"))
                and not os.path.isabs(flag)]
    parts = [text, " ".join(relevant), libraries, compiler.key, compilers.cpu_features_key()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _write_compile_commands(build_dir: Path, spec: Spec, compiler: compilers.Compiler) -> None:
    """build/compile_commands.json: lets clangd and editors read the environment."""
    entries, layers = [], dialects.layer_flags(spec.folder)
    for file in sorted(spec.folder.glob("*.[ch]")):
        flags = library_flags(spec) if file == spec.binding else [*env_flags(spec), *layers]
        entries.append({"directory": str(spec.folder), "file": str(file),
                        "arguments": [*compiler.command, *flags, "-xc", "-c", str(file)]})
    files.write_if_changed(build_dir / "compile_commands.json",
                           json.dumps(entries, indent=1) + "\n")
