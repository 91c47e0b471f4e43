"""Code blocks of pages that are not taken from a file: C compiles, Python runs."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from helpers.places import ROOT
from helpers.sessions import blocks

import puffer_sdk

DOCS = ROOT / "docs"
PREAMBLE = "#include <stddef.h>\n"


@pytest.mark.parametrize(("page", "fragments"), [("tutorials/many-agents.md", 1),
                                                 ("tutorials/ocean.md", 1)])
def test_fragments_of_c_compile(page, fragments, tmp_path):
    text = re.sub(r"<!-- fill: .*?<!-- filled", "", (DOCS / page).read_text(), flags=re.S)
    found = re.findall(r"^```c\n(.*?)^```", text, re.M | re.S)
    assert len(found) == fragments
    source = tmp_path / "fragment.c"
    source.write_text(PREAMBLE + "\n".join(found) + "\nint main(void) { return 0; }\n")
    done = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror",
                           "-fsyntax-only", str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_files_page_reads_a_checkpoint(trained, tmp_path):
    (text,) = blocks(DOCS / "reference/files.md", "python")
    newest = max((trained / "checkpoints").iterdir())
    shutil.copyfile(newest, tmp_path / "policy.safetensors")
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ \(32, 121\)\n", done.stdout)


def test_the_page_of_curricula_does_what_it_says(capsys, tmp_path):
    (text,) = blocks(DOCS / "guides/curricula.md", "ini")
    (tmp_path / "worlds.ini").write_text(text)
    config = puffer_sdk.configure("cartpole", ini=tmp_path / "worlds.ini")
    assert list(config.worlds) == ["max_steps", "gravity"]
    gymnasium = pytest.importorskip("gymnasium")
    names = {"gymnasium": gymnasium, "np": np, "puffer_sdk": puffer_sdk}
    first, second = blocks(DOCS / "guides/curricula.md", "python")
    exec(first, names)
    assert capsys.readouterr().out == "256\n"
    exec(second.replace("num_envs=16", "num_envs=16, workers=0"), names)
    goals = names["envs"].observations[:, 1] * 20
    assert len(set(goals)) > 3 and goals.min() >= 1 and goals.max() <= 8
