"""check --deep: what MemorySanitizer and valgrind say, as recorded, and what we make of it.

Neither tool is needed: their reports were recorded, and a stand-in takes valgrind's place.
"""
from __future__ import annotations

import os
import shutil
from pathlib import Path

from helpers.check_fixtures import QUICK, specimen
from helpers.short_or_long import long_only

from puffer_sdk.checking.check import check
from puffer_sdk.checking.collect.c import deep
from puffer_sdk.checking.collect.c.frames import Frame
from puffer_sdk.checking.core.facts import Facts
from puffer_sdk.cli import main

MSAN = """\
Uninitialized bytes in __msan_check_mem_is_initialized at offset 0 inside [0x7ffff4efbff8, 8)
==5343==WARNING: MemorySanitizer: use-of-uninitialized-value
    #0 0x55555561fe32  (/cache/harness-msan+0xcbe32) (BuildId: cdadc782)
    #1 0x555555620862  (/cache/harness-msan+0xcc862) (BuildId: cdadc782)

  Uninitialized value was stored to memory at
    #0 0x7ffff781f561  (/tmp/deep/msan.so+0x2561) (BuildId: 789a2935)
    #1 0x55555562080d  (/cache/harness-msan+0xcc80d) (BuildId: cdadc782)

  Uninitialized value was created by an allocation of 'wet' in the stack frame of function 'c_step'
    #0 0x7ffff781e940  (/tmp/deep/msan.so+0x1940) (BuildId: 789a2935)

SUMMARY: MemorySanitizer: use-of-uninitialized-value (/cache/harness-msan+0xcbe32)
Exiting
"""
MSAN_DECIDES = """\
==9802==WARNING: MemorySanitizer: use-of-uninitialized-value
    #0 0x7ffff781f561  (/tmp/deep/msan.so+0x2561)
    #1 0x55555562080d  (/cache/harness-msan+0xcc80d)

  Uninitialized value was created by a heap allocation
    #0 0x55c8bccf4c90  (/cache/harness-msan+0x55c90)
    #1 0x7ffff781e940  (/tmp/deep/msan.so+0x1940)
"""


def look_up(module: str, offset: str) -> list[Frame]:
    places = {"0x2561": ("c_step", "/games/moss/moss.h", 26),
              "0x1940": ("init", "/games/moss/moss.h", 18)}
    return [Frame(*places[offset])] if offset in places else [
        Frame("main", "/package/harness/main.c", 3)]


def test_memory_sanitizer_is_read():
    fault = deep.read_msan(MSAN, Path("/games/moss"), look_up)
    assert (fault.code, fault.frame) == ("PUF202", Frame("c_step", "moss.h", 26))
    assert "hands on" in fault.message and fault.origin == ("moss.h", 18)
    assert fault.actual == "the local variable 'wet' without a value, made at moss.h:18"
    fault = deep.read_msan(MSAN_DECIDES, Path("/games/moss"), look_up)
    assert fault.message == "c_step decides by memory that was never written"
    assert fault.actual == "memory of the heap without a value, made at moss.h:18"
    assert deep.read_msan(MSAN, Path("/games/other"), look_up) is None      # not the author's
    assert deep.read_msan("", Path("/games/moss"), look_up) is None


def valgrind_frame(function: str, folder: str, file: str, line: int) -> str:
    return (f"<frame><ip>0x11A347</ip><obj>/x</obj><fn>{function}</fn><dir>{folder}</dir>"
            f"<file>{file}</file><line>{line}</line></frame>")


def valgrind_report(folder: Path) -> str:
    """As memcheck 3.19 writes it: an unwritten observation, a stray read, a leak, one of ours."""
    ours = valgrind_frame("look_at_observations", "/package/harness", "plain.c", 118)
    step = valgrind_frame("c_step", str(folder), f"{folder.name}.h", 21)
    init = valgrind_frame("init", str(folder), f"{folder.name}.h", 18)
    return f"""<?xml version="1.0"?>
<valgrindoutput><protocolversion>4</protocolversion><tool>memcheck</tool>
<error><unique>0x0</unique><kind>UninitCondition</kind>
  <what>Conditional jump or move depends on uninitialised value(s)</what>
  <stack>{ours}</stack>
  <auxwhat>Uninitialised value was created by a stack allocation</auxwhat><stack>{init}</stack>
</error>
<error><unique>0x1</unique><kind>InvalidRead</kind><what>Invalid read of size 4</what>
  <stack>{step}{ours}</stack>
  <auxwhat>Address 0x4 is 0 bytes after a block of size 4 alloc'd</auxwhat><stack>{init}</stack>
</error>
<error><unique>0x2</unique><kind>Leak_DefinitelyLost</kind><xwhat><text>64 bytes</text></xwhat>
  <stack>{step}</stack></error>
<error><unique>0x3</unique><kind>UninitCondition</kind><what>ours</what><stack>{ours}</stack></error>
"""


def test_valgrind_is_read():
    folder = Path("/games/moss")
    for end in ("</valgrindoutput>", ""):       # killed: what it had said so far
        one, two = deep.read_valgrind(valgrind_report(folder) + end, folder)
        assert (one.code, one.frame.line, one.frame.function) == ("PUF202", 18, "init")
        assert one.actual == "a local variable without a value, made at moss.h:18"
        assert (two.code, two.frame.line) == ("PUF201", 21)
        assert two.message == "c_step reads memory that is not its own"
    assert list(deep.read_valgrind("<unfinished", folder)) == []


def test_one_fault_is_told_once():
    facts = Facts(Path("/games/moss"), None, None, [], None, 42)
    facts.deep_faults = [deep.read_msan(MSAN, Path("/games/moss"), look_up),
                         *deep.read_valgrind(valgrind_report(Path("/games/moss")),
                                             Path("/games/moss"))]
    assert [f.line for f in deep.findings(facts, "PUF202", [])] == [26]
    (read,) = deep.findings(facts, "PUF201", [])
    assert list(deep.findings(facts, "PUF201", [read])) == []


def test_deep_says_how_to_install_what_is_missing(tmp_path, monkeypatch, capsys):
    bandit = specimen("bandit", tmp_path / "bandit")
    found = shutil.which
    monkeypatch.setattr(deep.shutil, "which", lambda name, **k: None if name.startswith(
        ("clang", "valgrind")) else found(name, **k))
    assert main(["check", str(bandit), *QUICK, "--deep"]) == 0
    out = capsys.readouterr().out
    assert "deep        MemorySanitizer: not installed; " in out
    assert "            valgrind: not installed; " in out
    assert "clang" in out


@long_only
def test_deep_runs_valgrind_on_the_harness(tmp_path, monkeypatch):
    """With a stand-in for valgrind that runs the program and writes what memcheck would."""
    bandit = specimen("bandit", tmp_path / "bandit")
    tool = tmp_path / "bin" / "valgrind"
    tool.parent.mkdir()
    (tmp_path / "report.xml").write_text(valgrind_report(bandit) + "</valgrindoutput>")
    tool.write_text(f"""#!/bin/sh
[ "$1" = --version ] && echo valgrind-3.19.0 && exit
for word in "$@"; do case $word in
    --xml-file=*) cp {tmp_path}/report.xml "${{word#--xml-file=}}";;
    memory=*) exit 1;;
esac; done
while [ "${{1#--}}" != "$1" ]; do shift; done
exec "$@"
""")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(deep, "find_clang", lambda: None)
    result = check(bandit, deep=True, budget=0.01)
    assert result.coverage["deep"]["valgrind"] == "3.19.0, 128 env steps, 2 faults"
    assert {(f.code, f.line, f.seen_in) for f in result.findings} == {
        ("PUF201", 21, "valgrind"), ("PUF202", 18, "valgrind")}
    tool.write_text("#!/bin/sh\nexit 1\n")
    result = check(bandit, deep=True, budget=0.01)
    assert result.findings == [] and result.coverage["deep"]["valgrind"].startswith("not run")
