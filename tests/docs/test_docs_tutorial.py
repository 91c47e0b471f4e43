"""The first environment: six steps compile, the last learns, what is shown is still true."""
from __future__ import annotations

import json
import os
import statistics
import subprocess

import measure  # noqa: E402, I001  (of tools/site)
import pytest
from helpers.places import ROOT
from helpers.sessions import shape
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.base import paths
from puffer_sdk.env import header
from puffer_sdk.env.build import build
from puffer_sdk.raylib import headers
from puffer_sdk.training import train

STEPS, SOUND, FAULTS = measure.STEPS, measure.SOUND, tuple(measure.faults())
OUTPUTS = json.loads(measure.OUTPUTS.read_text())


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """{step or fault: folder that holds drips/}"""
    root = tmp_path_factory.mktemp("tutorial")
    return {name: measure.place(name, root) for name in (*STEPS, SOUND, *FAULTS)}


@pytest.mark.parametrize("standard", [("c", "-std=c11"), ("c++", "-std=c++17")], ids=" ".join)
@pytest.mark.parametrize("variant", [*STEPS, *FAULTS])
def test_it_compiles_without_a_warning(variant, standard, projects, tmp_path):
    source = tmp_path / "main.c"
    source.write_text('#include "drips.h"\nint main(void) { return sizeof(Drips) == 0; }\n')
    unused = [] if variant in STEPS else ["-Wno-unused-function"]
    done = subprocess.run(
        [os.environ.get("CC", "cc"), "-x", standard[0], standard[1], "-Wall", "-Wextra", "-Werror",
         *unused, "-fsyntax-only", f"-I{projects[variant] / 'drips'}",
         f"-I{headers.headers()}", f"-I{paths.include_dir()}", str(source)],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("step", short_or_long(STEPS[-1:], STEPS))
def test_a_step_is_an_environment(step, projects):
    built = build(projects[step] / "drips")
    assert built.library.is_file()
    assert header.read(projects[step] / "drips").struct == "Drips"


@pytest.mark.parametrize("variant", short_or_long([FAULTS[0]], [*STEPS, *FAULTS]))
def test_check_says_what_the_page_shows(variant, projects):
    """Line by line; numbers may differ, they do between compilers."""
    shown = OUTPUTS["steps"].get(variant) or OUTPUTS["variants"][variant]["check"]
    said = measure.check(projects[variant])
    assert [shape(line) for line in told(said)] == [shape(line) for line in told(shown)]


TOLD = ("error", "warning", "  expected", "  hint", "not tested", "drips:")


def told(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(TOLD)]


def test_each_step_has_less_to_mend_than_the_one_before():
    left = [sum(line.startswith(("error", "warning")) for line in told(OUTPUTS["steps"][step]))
            for step in STEPS]
    assert left == sorted(left, reverse=True)
    assert left[0] >= 5 and left[-2:] == [0, 0]


@long_only
def test_the_last_step_is_trained_to_its_goal(projects):
    result = train.train(projects[SOUND] / "drips", {"train.seed": 3})
    assert result.goal, "the goal of its ini was not reached"
    assert result.goal[0] < 4_000_000


@long_only
@pytest.mark.parametrize("variant", short_or_long(FAULTS[:1], FAULTS))
def test_a_fault_does_to_the_curve_what_the_page_shows(variant, projects):
    """One seed again: its end, and whether it gets to the goal."""
    committed = OUTPUTS["variants"][variant]
    ends = [statistics.mean(seed[-5:]) for seed in committed["perf"]]
    again = measure.curve(projects[variant], committed["seeds"][0])
    end = statistics.mean(again["perf"][-5:])
    assert min(ends) - 0.03 <= end <= max(ends) + 0.03
    assert bool(again["solved"]) == bool(committed["solved"][0])
    assert again["steps"] == committed["steps"]


def test_the_faults_differ_in_what_they_teach():
    """One that check finds and training shows, two that only check finds, one that nobody does."""
    import fills
    found = {variant: "error" in OUTPUTS["variants"][variant]["check"]
             or "warning" in OUTPUTS["variants"][variant]["check"] for variant in FAULTS}
    learns = {variant: len(fills.solved(variant)) for variant in FAULTS}
    assert found == {"stale": True, "late": True, "terminal": True, "early": False}
    assert learns == {"stale": 0, "late": 5, "terminal": 5, "early": 5}
    slower = statistics.median(fills.solved("early")) / statistics.median(fills.solved(SOUND))
    assert slower > 1.1, "the page says that it is learned more slowly"


def test_the_ported_game_was_a_program(tmp_path):
    """before.c compiles without a warning and plays: halving finds each number in four tries."""
    program = tmp_path / "before"
    subprocess.run([os.environ.get("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-O1",
                    str(ROOT / "docs/tutorials/porting/before.c"), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], input="x\n", capture_output=True, text=True, timeout=10)
    assert done.stdout == "A number from 1 to 15. You have 4 tries.\n"
    game = subprocess.Popen(["stdbuf", "-oL", str(program)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, bufsize=1)
    game.stdout.readline()
    low, high, answer = 1, 15, ""
    while not answer.startswith("Yes"):
        guess = (low + high) // 2
        game.stdin.write(f"{guess}\n")
        answer = game.stdout.readline()
        assert answer.startswith(("Higher", "Lower", "Yes")), answer
        low, high = (guess + 1, high) if answer.startswith("Higher") else (low, guess - 1)
    game.stdin.close()
    assert game.wait(10) == 0
