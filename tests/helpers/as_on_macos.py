"""A process that takes itself for a Mac: everything that macOS would compile is, for that target.

    python tests/helpers/as_on_macos.py MACHINE FOLDER [ENV ...]     MACHINE: aarch64 or x86_64

The ziglang wheel holds clang, a linker and Apple's headers. Nothing that it makes runs here. One
line for each product: its name, and its first bytes in hex. Warnings end it.
"""
import os
import shlex
import sys
import tempfile
from pathlib import Path

MACHINE, FOLDER, ENVS = sys.argv[1], Path(sys.argv[2]), [Path(word) for word in sys.argv[3:]]
WARNINGS = "-Wall -Wextra -Wno-unused-parameter -Werror"

zig = FOLDER / "cc"
# Its linker lacks one flag of Apple's
zig.write_text(f"""#!/bin/bash
exec {shlex.quote(sys.executable)} -m ziglang cc -target {MACHINE}-macos \
    "${{@/-Wl,-flat_namespace/-fPIC}}"
""")
zig.chmod(0o755)
os.environ.update(CC=str(zig), PUFFER_CACHE=str(FOLDER / "cache"))

import multiprocessing.util  # noqa: E402, F401   (modules of Python's that ask where they are)
import platform  # noqa: E402

import cffi  # noqa: E402, F401
import numpy  # noqa: E402, F401

sys.platform = "darwin"
platform.system = lambda: "Darwin"
platform.machine = lambda: {"aarch64": "arm64"}.get(MACHINE, MACHINE)

from puffer_sdk.toolchain import compilers, libraries  # noqa: E402

libraries.NATIVE = "-O3"                # the machine here is another

from puffer_sdk.checking.collect.c import driver  # noqa: E402
from puffer_sdk.checking.prove import program  # noqa: E402
from puffer_sdk.env import build  # noqa: E402
from puffer_sdk.interop.python_envs.lanes import LANES  # noqa: E402
from puffer_sdk.interop.to_learners.steps import STEPS  # noqa: E402
from puffer_sdk.training.native import trainer_library  # noqa: E402


def show(path):
    print(path.name, path.read_bytes()[:4].hex(), flush=True)


def strictly(make, *words):
    """make(), by a compiler whose warnings are errors: for files of ours alone."""
    os.environ["CC"] = f"{zig} {WARNINGS}"
    try:
        return make(*words)
    finally:
        os.environ["CC"] = str(zig)


def repro_object(spec, place):
    """The C of a program as check writes one, without its script."""
    source = place / "repro.c"
    source.write_text(f'#include "{build.binding.write(spec, place)}"\n#include "puffer_repro.h"\n')
    words = program.build_command(spec, str(source), str(place / "repro.o"), ("-w",))
    link = words.index("-o") + 2
    compilers.run_compiler([*words[:link], "-c", "-Werror=implicit"], source=source, what="a repro")
    return place / "repro.o"


show(strictly(trainer_library.build_trainer))
show(strictly(LANES.build))
show(strictly(STEPS.build))
show(strictly(driver.build_program, driver.FAST))
for folder in ENVS:
    found = build.build(folder)
    print(found.warnings, end="")
    show(found.library)
    with tempfile.TemporaryDirectory(dir=FOLDER) as place:
        for kind in (driver.FAST, driver.DEBUG):
            show(driver.build_library(found.spec, kind, Path(place)))
        show(repro_object(found.spec, Path(place)))
