"""The notebook for a borrowed GPU: a valid notebook whose every command is one that we have."""
import ast
import json
import re
import shlex

import click
import pytest
from helpers.places import ROOT

from puffer_sdk.cli import cli
from puffer_sdk.settings import config

NOTEBOOK = ROOT / "examples" / "gpu.ipynb"
TOOLS = {"git", "unzip", "apt-get", "nvidia-smi", "zip"}      # of the borrowed machine


@pytest.fixture(scope="module")
def cells():
    return json.loads(NOTEBOOK.read_text())["cells"]


@pytest.fixture(scope="module")
def commands(cells):
    """The words of each line that a shell runs."""
    code = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
    return [shlex.split(line) for line in re.findall(r"^ *!(.+)$", code, re.M)]


def test_it_is_a_notebook_that_nobody_ran(cells):
    """As nbformat 4.5 has it: ids that differ, lines that end, no outputs."""
    whole = json.loads(NOTEBOOK.read_text())
    assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
    assert whole["metadata"]["accelerator"] == "GPU" and whole["metadata"]["kernelspec"]["name"]
    assert len({cell["id"] for cell in cells}) == len(cells) > 10
    for cell in cells:
        keys = {"cell_type", "id", "metadata", "source"}
        code = cell["cell_type"] == "code"
        assert set(cell) == keys | ({"outputs", "execution_count"} if code else set())
        assert not code or (cell["outputs"] == [] and cell["execution_count"] is None)
        assert all(line.endswith("\n") for line in cell["source"][:-1])
        if code:                        # what is left without the shell's lines is Python
            text = re.sub(r"^( *)[!%].*$", r"\1pass", "".join(cell["source"]), flags=re.M)
            ast.parse(text)


def test_each_command_parses(commands, squared):
    seen = []
    for program, *words in commands:
        if program.endswith("/puffer-sdk"):
            words = words[:words.index(">")] if ">" in words else words
            with click.Context(cli, **cli.context_settings) as context:
                command = cli.get_command(context, words[0])
                parsed = command.make_context(words[0], words[1:], parent=context).params
            env = ROOT / "examples" / (parsed.get("env") or "")
            config.resolve(env if env.is_dir() and parsed.get("env") else squared,
                           parsed.get("settings") or {})
            seen.append(words[0])
        elif program != "make":
            assert program in TOOLS, program
    assert seen == ["doctor", "new", "check", "train", "eval", "train", "doctor"]


def test_each_target_and_stage_is_there(commands, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from gpu_day import STAGES
    rules = (ROOT / "Makefile").read_text().replace("$(VENV)", ".venv")
    made = [words for program, *words in commands if program == "make"]
    for words in made:
        for target in words:
            assert "=" in target or re.search(rf"^{re.escape(target)}:", rules, re.M), target
    assert [words[1] for words in made if words[0] == "gpu-day"] == \
        [f"STAGE={stage}" for stage in STAGES]
