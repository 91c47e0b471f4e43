"""What reading a header may take: every command ends with a sentence, and soon."""
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base import limited, processes
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.checking import check
from puffer_sdk.cli import cli
from puffer_sdk.env import build, header


@pytest.fixture
def small(monkeypatch):
    """Limits that are soon exceeded."""
    monkeypatch.setenv(limited.VARIABLE, "1,0.7")
    monkeypatch.setattr(limited, "IDLE", 1.0)


def doubling(count: int, first: str, use: str) -> str:
    """Macros of which each stands twice for the one before."""
    lines = [f"#define A0 {first}", *(f"#define A{n + 1} A{n} A{n}" for n in range(count))]
    return "\n".join([*lines, use.replace("MANY", f"A{count}"), ""])


BEFORE = {      # what stands before the header, and what is said
    "a list that doubles": (doubling(40, "1,", "static int many[] = {MANY 0};"), "takes too much"),
    "a sum that doubles": (doubling(40, "1 +", "enum { MANY_ = MANY 0 };"), "takes too much"),
    "words that double": (doubling(40, "extern int a;", "MANY"), "takes too much"),
    "zeros": ('#include "/dev/zero"\n', "takes too much"),
    "noise": ('#include "/dev/urandom"\n', "takes too much|cannot be read|refuses"),
    "a pipe": ('#include "pipe.h"\n', "waits for something"),
    "itself": ('#undef OBS_SIZE\n#include "probe.h"\n', "refuses this: #include nested"),
    "a line": ("#line 2147483647\n", "#line gives a line that no file has"),
    "a marker": ('# 99999999999999999999 "x.h"\n', "#line gives a line that no file has|refuses"),
    "brackets": ("int f(void) { return " + "(" * 100_000 + "1" + ")" * 100_000 + "; }\n",
                 "bracket nesting"),
    "blocks": ("void f(int a) {" + "if (a) {" * 50_000 + "}" * 50_001 + "\n", "bracket nesting"),
    "a sum": ("int f(int a) { return " + "a + " * 100_000 + "a; }\n",
              "crashes libclang|takes too much"),
    "eight megabytes": ("//" + "x" * (8 << 20) + "\n", "too large"),
}
REPLACED = {    # what is replaced in the header, and what is said
    "ACT_SIZES": ("{3}", "{2147483647}", "too many actions"),
    "ranges": ("{3}", "{[0 ... 2147483646] = 3}", "takes too much memory|crashes"),
    "heads": ("{3}", "{" + "3, " * 3000 + "}", "too many heads"),
    "OBS_SIZE": ("OBS_SIZE 2", "OBS_SIZE 2147483647", "OBS_SIZE is too large"),
    "fields": ("    int limit;", "".join(f"    int f{n};\n" for n in range(20_000))
               + "    int limit;", "has too many fields"),
    "Log": ("    float n;", "    float many[100000000];\n    float n;", "too many numbers"),
    "logs": ("    float n;", "".join(f"    float f{n};\n" for n in range(5000)) + "    float n;",
             "too many numbers"),
}


@pytest.fixture
def hostile(probe, small):
    """A function that makes an environment of one kind; and what is said of it."""
    return lambda kind: make(probe, kind)


def make(probe, kind):
    if kind in REPLACED:
        return probe(REPLACED[kind][:2]), REPLACED[kind][2]
    text, said = BEFORE[kind]
    folder = probe(("#pragma once\n", "") if kind == "itself" else ("#pragma once", "#pragma once"))
    (folder / "probe.h").write_text(text + (folder / "probe.h").read_text())
    if kind == "a pipe":
        os.mkfifo(folder / "pipe.h")
    return folder, said


@pytest.mark.parametrize("kind", some_or_all([*BEFORE, *REPLACED], 0, 5, 6, 10, 14))
def test_a_header_that_asks_for_too_much_is_refused(hostile, kind):
    folder, said = hostile(kind)
    with pytest.raises(BuildError, match=said) as caught:
        header.read(folder)
    assert caught.value.exit_status == 3 and caught.value.where and len(str(caught.value)) < 2000


@pytest.mark.parametrize("starved, said", [(True, (b"read", None)),
                                           (False, (b"", "it waits for something"))])
def test_a_child_that_waits_for_a_core_is_not_idle(monkeypatch, starved, said):
    monkeypatch.setattr(limited, "IDLE", 0.5)
    monkeypatch.setattr(processes, "wants_cpu", lambda pid: starved)
    with subprocess.Popen(["sh", "-c", "sleep 2.5; printf read"], stdout=subprocess.PIPE) as child:
        assert limited._read(child.pid, child.stdout) == said
        child.kill()


@pytest.mark.parametrize("kind", ["a pipe"])
@pytest.mark.parametrize("command", some_or_all(["config", "check", "build", "list"], 1))
def test_every_command_says_so(hostile, kind, command, monkeypatch):
    folder, said = hostile(kind)
    monkeypatch.chdir(folder.parent)
    done = CliRunner().invoke(cli, [command, *([] if command == "list" else [str(folder)])])
    text = done.output + str(done.exception)
    assert said in text.replace("\n", " ")
    assert done.exit_code == 0 if command in ("config", "list") else \
        done.exception.exit_status == 3


@long_only
def test_check_reads_no_pipe_of_the_folder(probe):
    folder = probe()
    os.mkfifo(folder / "other.h")
    assert check.check(folder, prove=False).verdict in ("pass", "fail")


def test_the_limit_is_named_and_an_option_raises_it(probe, monkeypatch):
    folder = probe()
    (folder / "probe.h").write_text(doubling(21, "extern int a;", "MANY")
                                    + (folder / "probe.h").read_text())
    monkeypatch.setenv(limited.VARIABLE, "1,2")
    with pytest.raises(BuildError, match="too much time") as caught:
        header.read(folder)
    assert caught.value.expected == "at most 1 s of CPU time and 2 GB"
    assert "--read-limit 4,8" in caught.value.hint
    monkeypatch.delenv(limited.VARIABLE)
    assert limited.limits() == limited.Limits(30, 2 << 30)
    done = CliRunner().invoke(cli, ["--read-limit", "600,1.5", "explain", "PUF101"])
    assert done.exit_code == 0 and limited.limits() == limited.Limits(600, 3 << 29)


@pytest.mark.parametrize("said", ["", "x", "0", "-1", "1,0", "1,x", "1,2,3", "1e9", "9999999"])
def test_a_limit_that_is_none(said):
    with pytest.raises(UsageError, match="invalid --read-limit"):
        limited.parse(said)


def test_what_was_read_is_read_again_once_it_changes(probe, monkeypatch):
    folder, calls, real = probe(), [], limited.call
    monkeypatch.setattr(limited, "call", lambda *a, **k: calls.append(1) or real(*a, **k))
    first = header.read(folder)
    assert header.read(folder) == first and len(calls) == 1
    (folder / "other.h").write_text("")             # another name in the folder: an #include may
    assert header.read(folder) == first and len(calls) == 2         # find it
    path = folder / "probe.h"
    facts = path.stat()
    path.write_text(path.read_text().replace("OBS_SIZE 2", "OBS_SIZE 3"))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))       # a clock that stands still
    assert header.read(folder).obs_count == 3 and len(calls) == 3


def test_problems_come_as_they_were(probe):
    folder = probe(("#define ACT_SIZES {3}\n", ""), ("    float* rewards;\n", ""))
    first, second = (header.inspect(folder)[1] for _ in range(2))
    assert [str(each) for each in first] == [str(each) for each in second]
    assert {each.code for each in first} == {"PUF102", "PUF112"}
    assert all(isinstance(each, BuildError) for each in first)


@pytest.mark.parametrize(("code", "said"), [
    ("import os; os.kill(os.getpid(), 11)", "crashes libclang"), ("print('{')", "crashes libclang"),
    ("while True: print('x' * 4096)", "does not end")])
def test_a_reader_that_dies_says_so(probe, monkeypatch, code, said):
    folder = probe()
    monkeypatch.setattr(limited.processes, "python", lambda *words: [sys.executable, "-c", code])
    monkeypatch.setattr(limited, "LARGEST", 1 << 20)
    with pytest.raises(BuildError, match=said):
        header.read(folder)


@long_only
@pytest.mark.parametrize(("largest", "said"), some_or_all(
    [(256 << 20, "time|memory"), (1 << 20, "memory")], 0))
def test_preprocessors_have_the_limit_too(probe, small, monkeypatch, largest, said):
    """What is hidden from libclang is read by the compiler; what it prints has a limit, too."""
    folder = probe()
    path = folder / "probe.h"
    path.write_text(doubling(40, "extern int a;", "#ifndef PUFFER_PROBE\nMANY\n#endif")
                    + path.read_text())
    monkeypatch.setattr(limited, "LARGEST", largest)
    with pytest.raises(BuildError, match=f"reading probe.h takes too much ({said})"):
        build.build(folder)


def test_gcov_has_the_limit_too(monkeypatch):
    monkeypatch.setenv(limited.VARIABLE, "1,0.5")
    said = subprocess.run(limited.words(["sh", "-c", "ulimit -t; ulimit -v"]), text=True,
                          capture_output=True, check=True).stdout.split()
    assert said == ["1", str((1 << 29) >> 10)]


def test_a_compiler_reads_under_the_limits_and_its_text_stays_its_own():
    done = subprocess.run(limited.words(["sh", "-c", "ulimit -St; ulimit -Ht; ulimit -v"]),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    allowed = limited.limits()
    assert done.stdout.split() == [str(allowed.seconds), str(allowed.seconds + 1),
                                   str(allowed.memory >> 10)]
