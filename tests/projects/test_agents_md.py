"""AGENTS.md of a scaffold: short, and its commands find and clear planted faults as written."""
from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from helpers.places import ROOT
from helpers.short_or_long import LONG, short_or_long

from puffer_sdk.projects import env_names, scaffold

FAULTS = {
    "PUF302": ("    memset(env->observations, TILE_EMPTY, (size_t)OBS_SIZE);\n", ""),
    "PUF321": ("    env->terminals[0] = done ? 1.0f : 0.0f;\n",
               "    if (done) env->terminals[0] = 1.0f;\n"),
    "PUF404": ("    env->tick = 0;\n", ""),
}


def commands(text):
    """The lines of the two sessions, without their comments."""
    return [shlex.split(line, comments=True)
            for line in re.findall(r"^    ((?:puffer-sdk|pytest) .*)$", text, re.MULTILINE)]


def run(words, folder):
    """One command, here as a module: its status and its document, if it prints one."""
    words = ["puffer_sdk", *words[1:]] if words[0] == "puffer-sdk" else words
    if words[1] == "check" and not LONG:
        words = [*words, "--budget", "0.1"]
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    document = json.loads(done.stdout) if "--format" in words else {}
    return done.returncode, document


def test_it_is_short_and_in_every_scaffold(tmp_path):
    for template in env_names.TEMPLATES:
        made = scaffold.new("walker", template=template, output_dir=tmp_path / template)
        text = (made.folder / "AGENTS.md").read_text()
        assert len(text.splitlines()) <= 60 and "walker.h" in text and "{{" not in text
        assert len(commands(text)) == 6


@pytest.mark.parametrize("code", short_or_long(["PUF302"], FAULTS))
def test_its_commands_lead_from_a_fault_to_a_policy(code, tmp_path):
    folder = scaffold.new("walker", output_dir=tmp_path).folder
    text = (folder / "AGENTS.md").read_text()
    check, explain, replay, *rest = commands(text)
    header = folder / "walker.h"
    sound = header.read_text()
    assert sound.count(FAULTS[code][0]) == 1
    header.write_text(sound.replace(*FAULTS[code]))

    status, document = run(check, folder)
    finding = document["findings"][0]
    assert status == 1 and finding["severity"] == "error"
    assert code in {each["code"] for each in document["findings"]}
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)))
    assert set(named) <= finding.keys() and {"code", "line", "repro"} <= set(named)
    status, page = run([finding["code"] if word == "CODE" else word for word in explain], folder)
    assert status == 0 and page["code"] == finding["code"]
    assert run([finding["repro"] if word == "REPRO" else word for word in replay], folder)[0] == 1

    header.write_text(sound)
    status, document = run(check, folder)
    assert status == 0 and not document["findings"]
    for words in rest if LONG else ():
        assert run(words, folder)[0] == 0, words
