"""puffer_minmax.h: the C library's bits, without a call of it."""
import platform
import subprocess

import pytest

from puffer_sdk.base import paths
from puffer_sdk.toolchain import compilers

KINDS = {"fminf": "float", "fmaxf": "float", "fmin": "double", "fmax": "double"}
# the author's calls come first, as in a binding
CODE = """
#include <math.h>
{uses}
#include "puffer_minmax.h"
#ifdef COMPARE
#include <stdio.h>
#include <string.h>
int main(void) {{
    const double numbers[] = {{0.0, -0.0, 1.0, -1.0, 1e-40, INFINITY, -INFINITY, NAN, 3.5, 1e30}};
    const int count = sizeof numbers / sizeof *numbers;
    {compared}
    return 0;
}}
#endif
"""
COMPARED = """
    for (int i = 0; i < count * count; i++) {{
        {kind} (*volatile real)({kind}, {kind}) = {name}, a = ({kind})numbers[i / count],
            b = ({kind})numbers[i % count], want = real(a, b), got = use_{name}(a, b);
        if (memcmp(&want, &got, sizeof want)) printf("{name}(%g, %g): %g %g\\n", a, b, want, got);
    }}"""


@pytest.fixture
def source(tmp_path):
    uses = "\n".join(f"{kind} use_{name}({kind} a, {kind} b) {{ return {name}(a, b); }}"
                     for name, kind in KINDS.items())
    compared = "".join(COMPARED.format(name=name, kind=kind) for name, kind in KINDS.items())
    file = tmp_path / "uses.c"
    file.write_text(CODE.format(uses=uses, compared=compared))
    return file


def compiled(source, name, *flags):
    target = source.parent / name
    subprocess.run([*compilers.find_compiler().command, "-O2", "-Wall", "-Wextra", "-Werror",
                    "-I", paths.include_dir(), *flags, source, "-o", target, "-lm"], check=True)
    return target


def test_the_same_bits_for_every_kind_of_number(source):
    done = subprocess.run([compiled(source, "compare", "-DCOMPARE")], capture_output=True,
                          text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("flags", [["-march=native"], []])
def test_nothing_is_called_on_x86(source, flags):
    needed = subprocess.run(["nm", "-u", compiled(source, "uses.o", "-c", *flags)],
                            capture_output=True, text=True, check=True).stdout
    assert platform.machine() != "x86_64" or not {*KINDS} & {*needed.split()}
