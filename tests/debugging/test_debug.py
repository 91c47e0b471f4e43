"""`puffer-sdk debug`: real faults, found by check, seen by a real gdb (and lldb)."""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.faults import FAULTS, plant
from helpers.places import ROOT
from helpers.shared import another_home
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk import cli
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.checking import check
from puffer_sdk.debugging import batch_report, debug, debugger
from puffer_sdk.env import header


@pytest.fixture(scope="module")
def broken(squared, tmp_path_factory):
    """broken(name) -> (folder of a Squared with that fault, its repro program), checked once."""
    root, made = tmp_path_factory.mktemp("broken"), {}

    def make(name: str) -> tuple[Path, Path]:
        if name not in made:
            folder = root / name
            folder.mkdir()
            text = (squared / "squared.h").read_text().replace("squared", name)
            (folder / f"{name}.h").write_text(text.replace("Squared", name.capitalize()))
            plant(folder, FAULTS[name])
            (folder / f"{name}.ini").write_text(
                (squared / "squared.ini").read_text().replace("squared", name))
            check.check(folder, budget=0.1)
            made[name] = folder, folder / "build" / "check" / f"repro_{FAULTS[name].code}.c"
        assert made[name][1].is_file(), "check wrote no such program"
        return made[name]

    return make


@pytest.fixture(scope="module")
def failure(broken):
    """failure(name) -> its program, compiled for a debugger once."""
    made = {}

    def make(name: str) -> debug.Failure:
        if name not in made:
            made[name] = debug.prepare(broken(name)[1])
        return made[name]

    return make


def tool(name: str) -> debugger.Tool:
    return debugger.find(name)


@pytest.mark.parametrize("name, with_", some_or_all([*((name, "gdb") for name in FAULTS),
                                         ("my_env", "lldb"), ("nans", "lldb")], 0))
def test_batch_stands_in_the_authors_line(broken, failure, name, with_):
    folder, _ = broken(name)
    *_, code, line, function = FAULTS[name]
    if with_ == "lldb" and name == "nans":      # gdb alone waits for the value to change
        line, function = "switch ((int)env->actions[0])", "c_step"
    seen = debug.diagnose(failure(name), tool(with_))
    assert seen.failure.said.startswith(f"{code}, step ")
    frame = seen.frames[0]
    assert (frame.file, frame.function) == (f"{name}.h", function)
    assert line in (folder / frame.file).read_text().splitlines()[frame.line - 1]
    assert seen.inside == (name != "forgets" and not (with_ == "lldb" and name == "nans"))
    assert re.search(r"\btick = \d", seen.state["env"])


def test_batch_prints_stack_variables_and_rows(broken, capsys):
    folder, program = broken("my_env")
    assert cli.main(["debug", str(folder), "--batch"]) == 1
    printed = capsys.readouterr()
    assert f"repro  {program}" in printed.err
    out = printed.out
    assert out.startswith("PUF203, step 9: c_step went outside this env's own observations")
    assert re.search(r"  > +\d+ \|     board\[at\] = TILE_TARGET;", out)
    names = re.findall(r"^  (\w+) at my_env\.h:\d+$", out, re.M)
    assert names == ["mark", "observe", "c_step"]
    assert re.search(r"^    at = 123$", out, re.M)
    for part in ("env 0", "actions of agent 0", "rewards", "terminals", "observations of agent 0"):
        assert f"\n{part}\n  {{" in out
    numbers = re.findall(r"\d+", out.partition("observations of agent 0")[2])
    assert len(numbers) == 121 and set(numbers) <= {"0", "1", "2"}
    assert max(map(len, out.splitlines())) <= 100


ARRAYS = """
#include <stdbool.h>
#include <stdint.h>
struct Env { unsigned char board[2][3]; char word[8]; signed char way[3]; uint8_t cells[2];
             float speed[2][2]; char zeros[4]; bool walls[2][2]; int cube[2][1][2]; int n; };
int step(struct Env* env) {
    return env->n;
}
int main(void) {
    struct Env env = {{{1, 0, 200}, {0, 2, 0}}, "left", {0, -1, 0}, {0, 7}, {{0, 2.5f}, {1, 0}},
                      {0}, {{true, false}, {false, true}}, {{{1, 2}}, {{3, 40}}}, 5};
    return step(&env);
}
"""
SHOWN = {"gdb": ["board = {{  1,   0, 200},{  0,   2,   0}}", 'word = "left"', "way = {0, -1, 0}",
                 "cells = {0, 7}", "speed = {{  0, 2.5},{  1,   0}}", "zeros = {0, 0, 0, 0}",
                 "walls = {{1, 0},{0, 1}}", "cube = {{ 1,  2},{ 3, 40}}", "n = 5"],
         "lldb": ["board = ([0] = [1,0,200], [1] = [0,2,0])", "way = [0,-1,0]", "cells = [0,7]"]}


@pytest.mark.parametrize("name", SHOWN)
def test_arrays_are_numbers_by_row(name, failure, tmp_path):
    """The session's own beginning, on a program with an array of each kind."""
    source, program = tmp_path / "a.c", tmp_path / "a"
    source.write_text(ARRAYS)
    subprocess.run(["gcc", "-g", "-O0", source, "-o", program], check=True)
    script = debugger.render(tool(name), failure("divides"), [], batch=True)
    first = re.match(r"(?s).*?(?=\ndefine|\nsettings set target.output|\nbreakpoint)", script)[0]
    first = "\n".join(line for line in first.splitlines() if not line.startswith("set cwd"))
    (tmp_path / "s").write_text(first + {
        "gdb": "\nbreak step\nrun\nprint *env\n",
        "lldb": "\nbreakpoint set --name step\nprocess launch\nfr v *env\n"}[name])
    words = debugger.command(tool(name), failure("divides"), tmp_path / "s", batch=True)
    out = subprocess.run([*words[:-1], program], capture_output=True, text=True).stdout
    flat = re.sub(r"\n *(?=\{)", "", out)
    for line in SHOWN[name]:
        assert line in flat, out


@pytest.mark.parametrize(("value", "size", "shown"), [
    ("{0, 1, 10, 2}", "(env->size * env->size)", "{ 0,  1,\n 10,  2}"), ("{0, 1, 2}", "3", None),
    ("{0, 1, 10, 2, 3, 4}", "(2 * env->size)    // grid 2 x env->size of 11 ids",
     "{ 0,  1, 10,\n  2,  3,  4}"),
    ("{0, 1, 10, 2, 3, 4}", "6     // grid 2 x 3", "{ 0,  1, 10,\n  2,  3,  4}"),
    ("{0 <repeats 400 times>...}", "400", None)])
def test_a_board_is_printed_by_row(value, size, shown, squared, tmp_path):
    folder = shutil.copytree(squared, tmp_path / "squared", ignore=shutil.ignore_patterns("build"))
    text = (folder / "squared.h").read_text()
    (folder / "squared.h").write_text(re.sub(r"#define OBS_SIZE.*", f"#define OBS_SIZE {size}",
                                             text))
    assert batch_report._by_row(header.read(folder), value,
                                batch_report._fields("  size = 3,\n  x = 1")) \
        == (shown or value)


def test_the_page_shows_what_is_printed(broken, capsys):
    folder, _ = broken("my_env")
    page = (ROOT / "docs" / "guides" / "debug.md").read_text()
    shown = re.search(r"^\$ puffer-sdk debug my_env --batch\n(.*?)^```", page, re.M | re.S)[1]
    cli.main(["debug", str(folder), "--batch"])

    def shape(line: str) -> str:        # line numbers follow the template
        return re.sub(r" *\d+", " N", line).rstrip()

    printed = [shape(line) for line in capsys.readouterr().out.splitlines()]
    missing = [line for line in shown.splitlines() if line != "..." and shape(line) not in printed]
    assert not missing
    for line in debugger.HOWTO["gdb"]:
        assert f"    {line}\n" in page


def test_batch_as_json(broken, capsys):
    folder, program = broken("divides")
    assert cli.main(["debug", "--repro", str(program), "--batch", "--format", "json"]) == 1
    seen = json.loads(capsys.readouterr().out)
    assert seen["fails"] and seen["step"] == 5 and seen["at_the_fault"]
    assert seen["said"].endswith("relies on undefined behaviour: division by zero")
    assert seen["stack"][0]["function"] == "c_step"
    assert seen["state"]["actions"] == "{0}"


def converse(words: list[str], lines: list[str], folder: Path, prompt: bytes = b"(gdb) ") -> str:
    """What a person at a terminal sees who types these lines, each behind the prompt."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", COLUMNS="100", **another_home(folder))
        os.execv(sys.executable, [sys.executable, "-m", "puffer_sdk", *words])
    seen, typed, deadline = b"", 0, time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            if not select.select([fd], [], [], 1.0)[0]:
                continue
            try:
                data = os.read(fd, 65536)
            except OSError:             # the other side has ended
                break
            if not data:
                break
            seen += data
            if seen.endswith(prompt) and typed < len(lines):
                os.write(fd, lines[typed].encode() + b"\n")
                typed += 1
    finally:
        os.close(fd)
        os.waitpid(pid, 0)
    assert typed == len(lines), seen.decode()
    return seen.decode().replace("\r\n", "\n")


def test_a_person_stands_at_the_failing_step(broken):
    folder, _ = broken("my_env")
    seen = converse(["debug"], ["rows", "print env->tick", "continue", "print at", "up", "fault",
                                "env", "obs 0", "run", "print env->tick", "quit"], folder)
    start, *answers = seen.split("(gdb) ")
    assert "You stand at the beginning of that c_step." in start
    assert "continue  to the fault" in start and "PUF203, step 9: " in start
    said = [answer.partition("\n")[2] for answer in answers]
    assert "actions of agent 0:  {0}" in said[0] and "observations of agent 0:  {" in said[0]
    assert " = 8\n" in said[1]                      # the ninth step has not counted itself yet
    assert "PUF203" in said[2] and "board[at] = TILE_TARGET;" in said[2]
    assert " = 123\n" in said[3]
    assert "in observe (" in said[4] and "in mark (" in said[5]
    assert "target_row = " in said[6] and said[7].startswith("{")
    assert "You stand at the beginning of that c_step." in said[8] and " = 8\n" in said[9]


@long_only
def test_a_value_stops_where_it_is_written(broken):
    folder, _ = broken("nans")
    seen = converse(["debug"], ["continue", "print env->rewards[0]", "quit"], folder)
    assert "The line before this one caused it." in seen
    assert re.search(r"env->terminals\[0\] = done", seen.partition("Continuing.")[2])
    assert re.search(r"\$\d+ = -?nan", seen)


@long_only
def test_what_shows_after_the_call_says_so(broken):
    folder, _ = broken("forgets")
    seen = converse(["debug"], ["disable 1", "continue", "quit"], folder)
    assert "You stand at the beginning of that c_reset." in seen
    assert "The fault was detected after c_reset had returned" in seen


@long_only
def test_lldb_opens_with_the_hint(broken):
    folder, _ = broken("aborts")
    seen = converse(["debug", "--debugger", "lldb"], ["quit"], folder, b"(lldb) ")
    assert "You stand at the beginning of that c_step." in seen
    assert "stop reason = breakpoint" in seen and "continue  to the fault" in seen


def test_a_changed_header_is_named_and_a_mended_one_passes(broken, tmp_path, capsys):
    folder, _ = broken("divides")
    copy = shutil.copytree(folder, tmp_path / "divides")
    header = copy / "divides.h"
    later = time.time() + 10
    header.write_text(header.read_text() + "\n")
    os.utime(header, (later, later))
    assert cli.main(["debug", str(copy), "--batch"]) == 1
    assert "divides.h has changed since check wrote repro_PUF20" in capsys.readouterr().err
    header.write_text(header.read_text().replace("env->col /= env->tick < 5;", ""))
    assert cli.main(["debug", str(copy), "--batch"]) == 0
    printed = capsys.readouterr()
    assert "not seen any more in 5 steps" in printed.out
    assert "there is nothing to debug" in printed.err
    header.write_text("#error no\n")
    assert cli.main(["debug", str(copy), "--batch"]) == 3


def test_the_first_error_of_the_last_check_is_taken(broken, tmp_path, capsys):
    folder, source = broken("divides")
    copy = tmp_path / "divides"
    shutil.copytree(folder, copy)
    taken = copy / "build" / "check" / source.name
    for code in ("PUF312", "PUF503"):           # written later, listed later
        shutil.copyfile(taken, taken.with_name(f"repro_{code}.c"))
    later = taken.stat().st_mtime + 10
    os.utime(taken.with_name("repro_PUF312.c"), (later, later))
    found, others = debug.first(copy)
    assert (found, others[-2:]) == (taken, ["repro_PUF312.c", "repro_PUF503.c"])
    assert cli.main(["debug", str(copy), "--batch"]) == 1
    printed = capsys.readouterr()
    assert f"repro  {taken}, of the first error" in printed.err
    assert "repro_PUF312.c, repro_PUF503.c; choose one with --repro FILE" in printed.err
    assert "PUF202" in printed.out


def test_refusals(broken, squared, tmp_path, monkeypatch, capsys):
    folder, _ = broken("divides")
    with pytest.raises(UsageError, match="was not written by check"):
        debug.prepare(folder / "divides.h")
    with pytest.raises(UsageError, match="there is no file"):
        debug.prepare(tmp_path / "repro_PUF203.c")
    with pytest.raises(UsageError, match="no repro program of empty") as caught:
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / "empty.h").touch()
        debug.first(tmp_path / "empty")
    assert "puffer-sdk check" in caught.value.hint
    assert cli.main(["debug", str(folder), "--format", "json"]) == 2
    assert cli.main(["debug", str(folder)]) == 2            # no terminal here
    assert "add --batch" in capsys.readouterr().err
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "apt-get").write_text("#!/bin/sh\n")
    (binaries / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(binaries))
    assert cli.main(["debug", str(folder), "--batch"]) == 4
    said = capsys.readouterr().err
    assert "gdb or lldb is not installed" in said
    assert "hint: sudo apt-get install -y gdb" in said


def test_a_debugger_that_cannot_run_is_named(failure, tmp_path):
    fake = tmp_path / "gdb"
    fake.write_text("#!/bin/sh\necho 'ptrace: Operation not permitted.'\n")
    fake.chmod(0o755)
    with pytest.raises(RunError, match="did not reach the fault") as caught:
        debug.diagnose(failure("divides"), debugger.Tool("gdb", str(fake)))
    assert "Operation not permitted" in caught.value.detail


@long_only
def test_the_script_alone_is_enough(broken, failure):
    """What debug leaves in build/debug works with gdb -x, as the page says."""
    folder, _ = broken("aborts")
    debug.diagnose(failure("aborts"), tool("gdb"))
    home = folder / "build" / "debug"
    done = subprocess.run(["gdb", "-batch", "-nx", "-x", home / "repro_PUF208-batch.gdb",
                           home / "repro_PUF208"], capture_output=True, text=True, timeout=120)
    assert "=== end" in done.stdout and "abort" in done.stdout
