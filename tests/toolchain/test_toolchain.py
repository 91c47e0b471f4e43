"""The compiler: found, asked, run, stopped; its errors led back to the author's line."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.places import ROOT

from puffer_sdk.base import files
from puffer_sdk.base.errors import BuildError, RunError
from puffer_sdk.toolchain import compilers, messages


def script(folder, name, body):
    """A program of its own in a folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def cc(*words):
    return [*compilers.find_compiler().command, *words]


# ---- finding one -----------------------------------------------------------------------------

def test_the_compiler_of_this_machine_is_found(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    found = compilers.find_compiler()
    assert os.path.isabs(found.path) and os.access(found.path, os.X_OK)
    assert found.kind in ("gcc", "clang")
    assert [int(part) for part in found.version.split(".")][0] >= 4
    assert found.version in found.banner


def test_cc_may_hold_a_wrapper_and_flags(tmp_path, monkeypatch):
    real = compilers.find_compiler().path
    log = tmp_path / "log"
    wrapper = script(tmp_path, "wrap", f'echo "$@" >> {log}; exec "$@"')
    monkeypatch.setenv("CC", f"{wrapper} '{real}' -DANSWER=42")
    found = compilers.find_compiler()
    assert found.command == [str(wrapper), real, "-DANSWER=42"]
    source = tmp_path / "a.c"
    source.write_text("int answer = ANSWER;")
    compilers.compile_to(tmp_path / "a.o", [*found.command, "-c", source], source=source, what="a")
    assert "-DANSWER=42" in log.read_text()


def test_cc_may_be_a_path_with_blanks(tmp_path, monkeypatch):
    folder = tmp_path / "my tools"
    folder.mkdir()
    monkeypatch.setenv("CC", str(script(folder, "cc", 'echo "clang version 17.0.1"')))
    found = compilers.find_compiler()
    assert (found.path, found.args, found.kind) == (str(folder / "cc"), (), "clang")
    assert found.version == "17.0.1"


def test_path_is_searched_in_order(tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    for name in ("gcc", "clang"):
        script(tmp_path, name, f"echo '{name} version 9.8.7'")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compilers.find_compiler().path == str(tmp_path / "gcc")
    monkeypatch.setenv("CC", "")
    assert compilers.find_compiler().path == str(tmp_path / "gcc")
    monkeypatch.setenv("CC", "clang")
    assert compilers.find_compiler().path == str(tmp_path / "clang")


@pytest.mark.parametrize(("named", "message"), [
    ("gcc-that-is-not-there -O2", "CC names 'gcc-that-is-not-there', which does not exist"),
    ("gcc 'open", "CC cannot be read"),
    ("''", "names"),
    ("{bad}", "failed when asked for its version"),
    ("{broken}", "cannot run"),
])
def test_a_cc_that_will_not_do_is_named(tmp_path, monkeypatch, named, message):
    bad = script(tmp_path, "bad", "echo no licence >&2; exit 3")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", named.format(bad=bad, broken=broken))
    with pytest.raises(BuildError) as caught:
        compilers.find_compiler()
    assert message in caught.value.message
    assert caught.value.hint


def test_no_compiler_at_all_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="no C compiler") as caught:
        compilers.find_compiler()
    assert "gcc" in caught.value.hint
    script(tmp_path, "apt-get", "")
    assert compilers.install_hint("gcc") == "sudo apt-get install -y gcc libc6-dev"
    (tmp_path / "apt-get").rename(tmp_path / "dnf")
    assert compilers.install_hint("gcc") == "sudo dnf install -y gcc"


# ---- running it ------------------------------------------------------------------------------

def test_warnings_come_back_and_the_command_is_shown(tmp_path, capsys):
    source = tmp_path / "a.c"
    source.write_text("int f(void) { int unused; return 0; }\n")
    text = compilers.run_compiler(cc("-Wall", "-fsyntax-only", source), source=source, what="a.c",
                                  verbose=True)
    assert "unused" in text
    shown = capsys.readouterr().err.strip()
    assert "\n" not in shown and shown.endswith(f"-Wall -fsyntax-only {source}")


def env_with(tmp_path, text):
    """An environment's folder: build/binding.c includes toy.h, which includes a helper."""
    folder = tmp_path / "toy"
    (folder / "build").mkdir(parents=True)
    (folder / "toy.h").write_text(text)
    binding = folder / "build" / "binding.c"
    binding.write_text('#include "toy.h"\nint generated(void) { return made_up; }\n')
    return folder / "toy.h", cc("-fsyntax-only", f"-I{folder}", binding)


def test_an_error_names_the_authors_line(tmp_path, monkeypatch):
    header, command = env_with(tmp_path, "int fine;\nint wrong = nothing;\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler(command, source=header, what="toy.h")
    assert caught.value.message == "the compiler refused toy.h"
    assert caught.value.where == "toy/toy.h:2"
    assert "nothing" in caught.value.detail
    assert "\x1b" not in caught.value.detail


def test_an_error_in_generated_code_leads_to_the_include_line(tmp_path):
    header, command = env_with(tmp_path, "int fine;\n")
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler(command, source=header, what="toy.h")
    assert caught.value.where == f"{header.parent / 'build' / 'binding.c'}:2"


def test_an_error_in_a_foreign_file_names_who_included_it(tmp_path):
    foreign = tmp_path / "foreign.h"
    foreign.write_text("#error not for you\n")
    header, command = env_with(tmp_path, f'int fine;\n\n#include "{foreign}"\n')
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler(command, source=header, what="toy.h")
    assert caught.value.where == f"{header}:3"


def test_a_missing_include_gets_a_hint(tmp_path):
    header, command = env_with(tmp_path, '#include "maze.h"\n')
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler(command, source=header, what="toy.h")
    assert caught.value.where == f"{header}:1"
    assert "maze.h" in caught.value.hint


def test_an_undefined_function_gets_a_hint(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int far_away(void);\nint main(void) { return far_away(); }\n")
    with pytest.raises(BuildError) as caught:
        compilers.compile_to(tmp_path / "a", cc("-g", source), source=source, what="a.c")
    assert caught.value.where == f"{source}:2"
    assert "far_away" in caught.value.hint


def test_colours_and_other_languages_are_turned_off(tmp_path, monkeypatch):
    monkeypatch.setenv("GCC_COLORS", "error=01;31")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    source = tmp_path / "a.c"
    source.write_text("int a = ;\n")
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler(cc("-fdiagnostics-color=always", "-c", source), source=source,
                               what="a.c")
    assert "error: " in caught.value.detail and "\x1b" not in caught.value.detail


def test_many_errors_are_cut_and_counted(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("static int unused;\n" + "".join(f"int v{n} = w{n};\n" for n in range(30)))
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler(cc("-Wall", "-c", source), source=source, what="a.c")
    lines = caught.value.detail.splitlines()
    assert len(lines) == messages.DETAIL_LINES + 1
    assert "error: " in lines[0] and lines[0].startswith(f"{source}:2")
    assert "more lines, 30 errors in all" in lines[-1]
    assert caught.value.where == f"{source}:2"


def test_a_silent_compiler_is_reported(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("")
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler([script(tmp_path, "mute", "exit 7")], source=source, what="a.c")
    assert "exit status 7" in caught.value.detail
    with pytest.raises(BuildError) as caught:
        compilers.run_compiler([script(tmp_path, "shot", "kill -SEGV $$")], source=source,
                               what="a.c")
    assert "SIGSEGV" in caught.value.detail
    with pytest.raises(BuildError, match="cannot run"):
        compilers.run_compiler([tmp_path / "gone"], source=source, what="a.c")


def test_a_full_disk_is_not_the_authors_fault(tmp_path):
    full = script(tmp_path, "full", "echo 'as: a.o: No space left on device' >&2; exit 1")
    with pytest.raises(RunError, match="disk is full"):
        compilers.run_compiler([full], source=tmp_path / "a.c", what="a.c")


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_a_compiler_that_never_ends_is_stopped_with_its_children(tmp_path):
    pids = tmp_path / "pids"
    slow = script(tmp_path, "slow", f"sleep 60 & echo $! $$ > {pids}; wait")
    source = tmp_path / "a.c"
    start = time.monotonic()
    with pytest.raises(BuildError, match="more than 0.5 seconds") as caught:
        compilers.run_compiler([slow], source=source, what="a.c", timeout=0.5)
    assert time.monotonic() - start < 30
    assert caught.value.where == str(source)
    assert wait_until(lambda: not any(map(alive, pids.read_text().split())))


def test_an_orphan_ends_by_itself(tmp_path):
    told = script(tmp_path, "told", "sleep 0.1; (ulimit -t)")
    text = compilers.run_compiler([told], source=tmp_path / "a.c", what="a.c", timeout=30)
    assert int(text) == 40


def test_ctrl_c_takes_the_compiler_along(tmp_path):
    pids = tmp_path / "pids"
    slow = script(tmp_path, "slow", f"sleep 60 & echo $! $$ > {pids}.new\n"
                                    f"mv {pids}.new {pids}\nwait")
    code = ("import sys; from pathlib import Path; from puffer_sdk.toolchain import compilers;"
            "compilers.run_compiler([sys.argv[1]], source=Path('a.c'), what='a.c')")
    parent = subprocess.Popen([sys.executable, "-c", code, slow], cwd=ROOT,
                              stderr=subprocess.DEVNULL)
    try:
        assert wait_until(pids.exists)
        stat = Path(f"/proc/{parent.pid}/stat")     # on a busy machine it may still be starting it
        assert wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")
        parent.send_signal(signal.SIGINT)
        assert parent.wait(timeout=5) != 0
        assert wait_until(lambda: not any(map(alive, pids.read_text().split())))
    finally:
        parent.kill()
        parent.wait()


# ---- files that appear whole -----------------------------------------------------------------

def test_a_failed_compile_leaves_what_was_there(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int good;\n")
    target = tmp_path / "a.o"
    compilers.compile_to(target, cc("-c", source), source=source, what="a.c")
    before = target.read_bytes()
    source.write_text("int bad")
    with pytest.raises(BuildError):
        compilers.compile_to(target, cc("-c", source), source=source, what="a.c")
    assert target.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.c", "a.o"]


def test_a_compiler_that_makes_nothing_is_found_out(tmp_path):
    target = tmp_path / "a.o"
    with pytest.raises(BuildError, match="made no file"):
        compilers.compile_to(target, [script(tmp_path, "lazy", "exit 0")],
                             source=tmp_path / "a.c", what="a.c")
    with pytest.raises(RunError, match="cannot write"):
        compilers.compile_to(tmp_path / "no" / "a.o", ["true"], source=tmp_path / "a.c",
                             what="a.c")
    assert not target.exists()


def test_a_compiler_that_writes_rubbish_is_found_out(tmp_path):
    """A success that left something else, or half of a library, keeps nothing."""
    source = tmp_path / "a.c"
    source.write_text("int good;\n")
    whole = tmp_path / "whole.so"
    compilers.compile_to(whole, cc("-shared", "-fPIC", source), source=source, what="a.c")
    half = tmp_path / "half"
    half.write_bytes(whole.read_bytes()[:-100])
    target = tmp_path / "b.so"
    for rubbish, says in ((source, "made something else than machine code of a.c"),
                          (half, "made a file cut short of a.c")):
        copier = script(tmp_path, "copier", f'cp "{rubbish}" "$2"')
        with pytest.raises(BuildError, match=says):
            compilers.compile_to(target, [copier], source=source, what="a.c")
        assert not target.exists()


def test_replacing_keeps_the_old_file_on_failure(tmp_path):
    target = tmp_path / "a.txt"
    files.write(target, "old")
    with pytest.raises(ValueError), files.replacing(target) as temporary:
        temporary.write_text("half")
        raise ValueError
    assert target.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]


# ---- facts for libclang and for cache keys ---------------------------------------------------

def test_include_dirs_hold_the_compilers_own_headers(tmp_path, monkeypatch):
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path))
    compiler = compilers.find_compiler()
    found = compilers.include_dirs(compiler)
    for name in ("stddef.h", "stdio.h"):
        assert any((Path(folder) / name).is_file() for folder in found)
    remembered = list((tmp_path / "toolchain").iterdir())
    assert len(remembered) == 1
    compilers._include_dirs.cache_clear()
    monkeypatch.setattr(compilers, "run_compiler", None)    # the disk's answer is enough
    assert compilers.include_dirs(compiler) == found


def test_include_dirs_survive_a_damaged_or_read_only_cache(tmp_path, monkeypatch):
    compiler = compilers.find_compiler()
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path))
    found = compilers.include_dirs(compiler)
    next((tmp_path / "toolchain").iterdir()).write_text('["/gone"]')
    compilers._include_dirs.cache_clear()
    assert compilers.include_dirs(compiler) == found
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("PUFFER_CACHE", str(blocked))
    assert compilers.include_dirs(compiler) == found


def test_cpu_features_key_is_short_and_stable():
    key = compilers.cpu_features_key()
    assert len(key) == 12 and int(key, 16) >= 0
    code = "from puffer_sdk.toolchain import compilers; print(compilers.cpu_features_key())"
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
                           check=True)
    assert again.stdout.strip() == key


# ---- several commands at once ----------------------------------------------------------------

def test_commands_run_side_by_side_and_answer_in_order(tmp_path):
    meet = [["sh", "-c", f"touch {tmp_path}/{me}; n=0; while [ ! -e {tmp_path}/{other} ]; do "
             f"n=$((n+1)); [ $n -gt 200 ] && exit 1; sleep 0.05; done; echo {me}"]
            for me, other in (("a", "b"), ("b", "a"))]
    counted = []
    if len(os.sched_getaffinity(0)) < 2:
        meet = [["echo", "a"], ["echo", "b"]]
    said = compilers.run_compilers([*meet, ["echo", "c"]], source=tmp_path, what="a test",
                                   on_done=counted.append)
    assert said == ["a\n", "b\n", "c\n"]
    assert counted == [1, 2, 3]


def test_the_first_that_fails_ends_the_others(tmp_path):
    pid = tmp_path / "pid"
    slow = ["sh", "-c", f"echo $$ > {pid}; exec sleep 60"]
    wrong = ["sh", "-c", f"while [ ! -s {pid} ]; do sleep 0.02; done; echo no luck; exit 3"]
    if len(os.sched_getaffinity(0)) < 2:
        wrong = ["sh", "-c", "echo no luck; exit 3"]
        slow = wrong
    with pytest.raises(BuildError) as caught:
        compilers.run_compilers([slow, wrong, ["touch", tmp_path / "never"]], source=tmp_path,
                                what="a test")
    assert "no luck" in caught.value.detail
    assert not (tmp_path / "never").exists()
    if pid.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_variables_of_a_command_are_given_taken_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TAKEN", "here")
    said = compilers.run_compiler(["sh", "-c", "echo ${TAKEN-gone} $GIVEN"], source=tmp_path,
                                  what="a test", verbose=True,
                                  env={"TAKEN": None, "GIVEN": "two words"})
    assert said == "gone two words\n"
    shown = capsys.readouterr().err.strip()
    assert shown.startswith("env -u TAKEN 'GIVEN=two words' sh -c")
    assert os.popen(shown).read() == said                       # as a user could type it


def test_what_emcc_repeats_of_its_own_command_is_left_out(tmp_path):
    fake = tmp_path / "emcc"
    fake.write_text("#!/bin/sh\necho \"game.c:3:1: error: expected ';'\" >&2\n"
                    "echo \"emcc: error: '/usr/bin/clang -DX game.c' failed (returned 1)\" >&2\n"
                    "exit 1\n")
    fake.chmod(0o755)
    with pytest.raises(BuildError, match="the compiler refused game.c") as caught:
        compilers.run_compiler([str(fake), "game.c"], source=tmp_path / "game.c", what="game.c")
    assert caught.value.detail == "game.c:3:1: error: expected ';'"
