"""CONTRIBUTING: the recipes for a setting, an experiment and a kernel, followed literally."""
from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cuda_calls import SHIM_FLAGS, find_cpp
from helpers.places import ROOT, SPECIMENS


def blocks(title: str) -> list[tuple[str, str, str]]:
    """(file, where in it, text) of each code block of a section, by the comment it begins with."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition(f"## {title}\n")[2]
    found = []
    for text in re.findall(r"^```\w+\n(.*?)^```", section.partition("\n## ")[0], re.M | re.S):
        first, _, rest = text.partition("\n")
        file, _, place = first.strip().lstrip("#/ ").partition(", ")
        found.append((file, place, rest))
    return found


def apply(root: Path, title: str) -> None:
    for file, place, text in blocks(title):
        path = root / file
        kind, _, anchor = place.partition(" ")
        old = path.read_text() if path.exists() else ""
        if kind in ("before", "after", "in"):
            anchor = anchor + ":" if anchor.startswith("class ") else anchor
            assert old.count(anchor) == 1, (file, anchor)
            start = old.index(anchor)
            if kind == "before":
                at = old.rindex("\n", 0, start) + 1
                text += "\n" if text.startswith(("typedef", "ARRAYS")) else ""
            else:
                at = old.index("\n", start) + 1
                while kind == "in" and not old[at:].startswith("    seed"):
                    at = old.index("\n", at) + 1       # after the docstring
            path.write_text(old[:at] + text + old[at:])
        else:
            assert place in ("", "at its end"), place
            path.write_text(old + text)


@pytest.fixture
def copy(tmp_path):
    """A copy of the folders that the recipes change."""
    for folder in ("puffer_sdk", "kernels", "trainer"):
        shutil.copytree(ROOT / folder, tmp_path / folder,
                        ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def python(root, *words, status=0) -> str:
    done = subprocess.run([sys.executable, *map(str, words)], cwd=root, text=True, timeout=120,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(root)})
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_a_setting(copy):
    apply(copy, "Adding a setting")
    env = shutil.copytree(SPECIMENS / "correct" / "bandit", copy / "bandit")
    words = ("-m", "puffer_sdk", "config", env)
    assert re.search(r"patience +3\b", python(copy, *words, "--train.patience", "3"))
    assert "patience" in python(copy, *words, "--train.patience", "-1", status=2)
    code = (f"import sys; sys.path.append({str(ROOT / 'tools' / 'site')!r}); import reference; "
            "print(reference.settings())")
    assert "| `patience` |" in python(copy, "-c", code)


RUN = """
import sys
from pathlib import Path
from puffer_sdk.checking.collect.c.driver import FAST, Runner, build_library, build_program
from puffer_sdk.checking.core.fact_kinds import LongestFact
from puffer_sdk.env import header
spec, folder = header.read(Path(sys.argv[1])), Path(sys.argv[2])
runner = Runner(spec, folder, 1, {}, {}, 10.0, {})
outcome = runner.run("longest", build_program(FAST), build_library(spec, FAST, folder), "longest",
                     steps=64, envs=1, agents=1)
assert outcome.ended, outcome
print(outcome.first(LongestFact).largest)
"""


def test_an_experiment(copy, tmp_path_factory):
    apply(copy, "Adding an experiment")
    env = shutil.copytree(SPECIMENS / "correct" / "bandit", copy / "bandit")
    assert float(python(copy, "-c", RUN, env, tmp_path_factory.mktemp("runs"))) > 0


class Args(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32), ("factor", ctypes.c_float),
                ("x", ctypes.POINTER(ctypes.c_float))]


def test_a_kernel(copy):
    """Compiled for the host, as tests without a GPU do; and counted by the traffic header."""
    apply(copy, "Adding a kernel")
    made, include = copy / "kernels.so", f"-I{copy}"
    subprocess.run([find_cpp(), *SHIM_FLAGS, include, copy / "kernels" / "cuda" / "kernels.cu",
                    "-o", made], check=True, timeout=300)
    library = ctypes.CDLL(str(made))
    library.cuda_kernel_name.restype = ctypes.c_char_p
    number = next(number for number in range(100)
                  if library.cuda_kernel_name(number) == b"floats_scale")
    numbers = (ctypes.c_float * 5)(1, 2, 3, 4, 5)
    assert library.cuda_run(number, ctypes.byref(Args(5, 2.0, numbers)), 2, 32, 1) == 0
    assert list(numbers) == [2, 4, 6, 8, 10]
    unit = copy / "traffic.c"
    unit.write_text('#include <stddef.h>\n#include "kernels/cuda/traffic.h"\n')
    subprocess.run(["cc", "-std=gnu11", "-fsyntax-only", include, unit], check=True)
