"""Repro programs: each fails for the finding's reason, passes once the fault is mended, and is
the same in two checks; a late fault is shrunk; --replay's statuses."""
from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.check_fixtures import short_check
from helpers.places import SPECIMENS, broken
from helpers.playground import alive, wait_until
from helpers.short_or_long import long_only, short_or_long, some_or_all

from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.checking.check import check
from puffer_sdk.checking.core.facts import Setup
from puffer_sdk.checking.core.finding import Elements, Finding
from puffer_sdk.checking.core.repro_spec import Proof
from puffer_sdk.checking.prove import program as repro
from puffer_sdk.checking.prove import proof, replaying
from puffer_sdk.checking.prove.shrinking import RESET, shrink
from puffer_sdk.env import binding, header

# specimen -> most steps that its program may need, what it says, and the mend
MENDS = {
    "puf201_mine": (8, "AddressSanitizer stops c_step", ("y <= env->height", "y < env->height")),
    "puf203_relay": (0, "own observations", ("#define OBS_SIZE 4", "#define OBS_SIZE 5")),
    "puf302_traffic": (4, "set and never cleared", (
        "    t->observations[OBS_PHASE + t->phase]",
        "    memset(&t->observations[OBS_PHASE], 0, 4 * sizeof(float));\n"
        "    t->observations[OBS_PHASE + t->phase]")),
    "puf303_comet": (8, "is nan, expected a finite number", (
        "float distance = sqrtf(dx * dx + dy * dy);",
        "float distance = 0.01f + sqrtf(dx * dx + dy * dy);")),
    "puf401_duel": (8, "nothing of the state has begun anew", (
        "        d->log.n++;\n", "        d->log.n++;\n        c_reset(d);\n        return;\n")),
    "puf503_cargo": (4, "in one run and", ("crane_timer % 7", "c->tick % 7")),
}


def copy_to(folder: Path, target: Path, *changes: tuple[str, str]) -> Path:
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("build"))
    mend(target, *changes)
    return target


def mend(folder: Path, *changes: tuple[str, str]) -> None:
    header = folder / f"{folder.name}.h"
    text = header.read_text()
    for old, new in changes:
        assert old in text, f"{header.name} no longer holds {old!r}"
        text = text.replace(old, new)
    header.write_text(text)


def puffer(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=folder, timeout=60,
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name",
                         short_or_long(["puf302_traffic"], MENDS))
def test_program_fails_until_the_fault_is_mended(name, tmp_path):
    folder = copy_to(broken(name), tmp_path / name)
    code = f"PUF{name[3:6]}"
    most, says, change = MENDS[name]
    finding = next(f for f in short_check(folder, prove=True).findings if f.code == code)
    assert finding.repro == f"build/check/repro_{code}.c"
    assert finding.repro_steps <= most
    program = folder / finding.repro
    failing = replaying.replay(program)
    assert failing.exit_status == 1
    assert failing.lines[0][0].startswith(f"{code}, step {finding.repro_steps}: ")
    assert says in failing.lines[0][0]
    text = program.read_text()
    mend(folder, change)
    mended = replaying.replay(program)
    assert (mended.exit_status, program.read_text()) == (0, text)
    assert "not seen any more" in mended.lines[0][0]


FAR = """enum { OBS_TICK, OBS_FAR };     // [0, inf]
"""


@long_only
def test_a_bound_that_is_infinite(probe):
    """In the program, and in what it hands back."""
    env = probe(("#define OBS_SIZE 2", FAR + "#define OBS_SIZE 2"),
                ("env->observations[2 * a + 1] = env->actions[a];",
                 "env->observations[2 * a + 1] = 1 - env->actions[a];"))
    finding = next(f for f in check(env, budget=0.1).findings if f.code == "PUF306")
    program = env / finding.repro
    assert ".high = INFINITY" in program.read_text()
    assert "is -1, expected" in replaying.replay(program).lines[0][0]


LOOPS = """
#include "../binding.c"
#include "puffer_repro.h"
REPRO_SCRIPT(1) = { {1, {0}} };
REPRO(.code = "PUF405", .expect = "return", .agent = -1, .last = -1, .patience = 600)
"""
RUNS = """
import sys, threading, time
from pathlib import Path
from puffer_sdk.checking.prove import program
from puffer_sdk.env import binding, header
spec, children = header.read(Path(sys.argv[1])), set()
thread = threading.Thread(target=program.run_program, args=(Path(sys.argv[2]), spec, {}, children))
thread.start()
while not children and thread.is_alive():
    time.sleep(0.01)
print(next(iter(children)).pid, flush=True)
"""


def test_a_program_ends_with_the_command_that_started_it(probe, tmp_path):
    """Even by kill -9; by itself it would go on for a minute, and a call in it for ten."""
    env = probe(("    env->tick++;\n", "    for (;;) continue;\n"))
    spec = header.read(env)
    binding.write(spec, env / "build")
    source = env / "build" / "check" / "loops.c"
    source.parent.mkdir(parents=True)
    source.write_text(LOOPS)
    program = repro.compile_source(spec, source, tmp_path / "loops", ("-O0",))
    parent = subprocess.Popen([sys.executable, "-c", RUNS, str(env), str(program)],
                              stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    wait_until(lambda: Path(f"/proc/{child}/comm").read_text().strip() == "loops")
    parent.kill()
    parent.wait()
    wait_until(lambda: not alive(child))


FREED = f"""// {repro.MARK}
#include "../../binding.c"
#include "puffer_repro.h"
REPRO_SCRIPT(1) = {{ }};
REPRO(.code = "PUF206", .expect = "freed", .agent = -1, .seed = 42)
"""
BINDING = """\
#include "probe.h"
#define OBS_TENSOR_T FloatTensor
#define Env Probe
#include "vecenv.h"
void my_init(Env* env, Dict* kwargs) {
    env->num_agents = 1;
    (void)kwargs;
    env->limit = 4;
    env->spare = calloc(1, 32);
}
void my_log(Log* log, Dict* out) { dict_set(out, "score", log->score); }
"""


@pytest.mark.parametrize("close, status", some_or_all([("free(env->spare);", 0), ("", 1)], 0))
def test_what_asks_a_binding_for_its_agents_is_no_leak(probe, close, status):
    """my_init runs once more than c_close: an env is made to learn how many agents it has."""
    env = probe(("void c_close(Probe* env) { (void)env; }",
                 f"void c_close(Probe* env) {{ (void)env; {close} }}"),
                ("int num_agents;", "int num_agents; void* spare;"),
                ("#define OBS_SIZE 2", "#include <stdlib.h>\n#define OBS_SIZE 2"),
                binding_c=BINDING)
    program = env / "build/check/repro_PUF206.c"
    program.parent.mkdir(parents=True)
    program.write_text(FREED)
    assert replaying.replay(program).exit_status == status


@long_only
def test_late_fault_is_shrunk_and_repeats(tmp_path):
    """Hundreds of steps pass before anything goes wrong; the file is short, and always the same."""
    folder = copy_to(SPECIMENS / "correct" / "drones", tmp_path / "drones", (
        "env->rewards[i] = hypotf", "if (env->tick == 149 && i == 2) continue;\n"
        "        env->rewards[i] = hypotf"))
    first = short_check(folder, prove=True)
    (finding,) = first.findings
    text = (folder / finding.repro).read_text()
    assert finding.code == "PUF311" and 100 < finding.repro_steps <= 149
    assert len(re.findall(r"^    \{\d+, ", text, re.MULTILINE)) == 1    # 149 equal steps: one row
    stale = folder / "build" / "check" / "repro_PUF999.c"
    stale.write_text("left by an earlier check")
    again = short_check(folder, prove=True)
    assert (folder / again.findings[0].repro).read_text() == text
    one, two = first.to_dict(), again.to_dict()
    for document in (one, two):
        document["coverage"].pop("seconds")
    assert one == two
    assert not stale.exists()


def test_the_command_in_the_file_builds_it(tmp_path):
    """As a person would: the lines behind "By hand", in a shell."""
    folder = copy_to(broken("puf322_lives"), tmp_path / "puf322_lives")
    done = puffer(folder, "check", "--budget", "0.25")
    assert done.returncode == 1
    assert re.search(r"  repro: puffer-sdk check --replay \S*build/check/repro_PUF322.c "
                     r"\(\d+ steps?\)", done.stdout)
    program = folder / "build" / "check" / "repro_PUF322.c"
    script = "\n".join(re.findall(r"^//     (.*)$", program.read_text().partition("By hand")[2],
                                  re.MULTILINE))
    program.with_suffix("").unlink()
    shell = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60,
                           check=False)
    assert shell.returncode == 1
    assert re.search(r"PUF322, step \d+: terminal of agent 0 is 3, expected 0 or 1", shell.stderr)
    replayed = puffer(folder, "check", "--replay", "build/check/repro_PUF322.c")
    assert replayed.returncode == 1 and "expected 0 or 1" in replayed.stdout
    mend(folder, ("c_close(Lives* g) {", "c_close(Lives* g) { +"))
    assert puffer(folder, "check", "--replay", "build/check/repro_PUF322.c").returncode == 3
    missing = puffer(folder, "check", "--replay", "build/check/repro_PUF323.c")
    assert missing.returncode == 2 and "did you mean 'repro_PUF322.c'?" in missing.stderr
    foreign = puffer(folder, "check", "--replay", "puf322_lives.h")
    assert foreign.returncode == 2 and "was not written by check" in foreign.stderr


def test_replay_refuses_what_it_cannot_play(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        replaying.replay(tmp_path / "repro_PUF201.c")
    lost = tmp_path / "repro_PUF201.c"
    lost.write_text("// repro_PUF201.c -- written by `puffer-sdk check`.\n"
                    "//     cd /nowhere\n    .expect = \"return\"\n")
    with pytest.raises(UsageError, match="is not there"):
        replaying.replay(lost)
    assert BuildError.exit_status == 3


@long_only
def test_unproven_and_unwanted(tmp_path):
    folder = copy_to(broken("puf303_comet"), tmp_path / "puf303_comet")
    result = check(folder, prove=False)
    assert result.findings and all(f.repro is None for f in result.findings)
    assert not (folder / "build" / "check").exists()


@pytest.mark.parametrize("element, block", [
    (None, (0, -1)), (3, (3, 3)), (Elements(4, 6, "4-6, 9"), (4, 6))])
def test_a_program_looks_at_the_elements_that_a_finding_names(element, block):
    """At the whole row, from its first element to its last, where none is named."""
    finding = Finding("PUF302", "not written", agent=1, element=element)
    claim = proof._claim(finding, Proof("written", "observations"))
    assert (claim.expect, claim.agent, claim.first, claim.last) == ("written", 1, *block)


def plays(wanted):
    """A `fails` that needs these rows in this order, and how often it was asked."""
    count = [0]

    def fails(rows):
        count[0] += 1
        at = 0
        for index, row in enumerate(rows):
            if at < len(wanted) and row == wanted[at]:
                at += 1
            if at == len(wanted):
                return index + 1
        return None
    return fails, count


@pytest.mark.parametrize("wanted", [
    [(3.0, 1.0)], [(1.0, 0.0), (2.0, 2.0)], [(2.0, 1.0), RESET, (1.0, 1.0)],
    [(0.0, 0.0)] * 30 + [(1.0, 0.0)]])
def test_shrinking_keeps_what_matters_and_nothing_else(wanted):
    noise = [(float(i % 4), float(i % 3)) for i in range(400)]
    noise[100:100] = wanted[:1]
    rows = noise[:200] + wanted + noise[200:]
    fails, count = plays(wanted)
    assert shrink(rows, (0.0, 0.0), fails) == wanted
    assert count[0] < 1500


def test_stopped_it_ends_the_program_that_runs(tmp_path):
    """A signal to `check` does not wait for a program, which may take a minute."""
    folder = copy_to(broken("puf322_lives"), tmp_path / "puf322_lives")
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 50\n")
    sleeper.chmod(0o755)
    shop = proof._Workshop(None, None, False)
    spec = header.read(folder)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(repro.run_program, sleeper, spec, {}, shop.children)
        wait_until(lambda: shop.children)
        shop.stop()
        assert job.result(timeout=20).status == -signal.SIGKILL
    assert shop.stopped and not shop.children


@long_only
def test_a_start_that_takes_seconds_is_paid_for(tmp_path, monkeypatch):
    """Maps that init makes: few trials and a longer program, and check comes to its end."""
    folder = copy_to(SPECIMENS / "correct" / "drones", tmp_path / "drones", (
        "env->rewards[i] = hypotf", "if (env->tick == 149 && i == 2) continue;\n"
        "        env->rewards[i] = hypotf"))
    calls, run = [], repro.run_program

    def slow(*arguments):
        calls.append(arguments)
        time.sleep(1.2)
        return run(*arguments)

    monkeypatch.setattr(repro, "run_program", slow)
    (finding,) = short_check(folder, prove=True).findings
    assert finding.repro and finding.repro_steps >= 149 and len(calls) <= 6


def worlds(expect: str, *, needs: int = 1, each: int = 1) -> list[tuple]:
    """(seat, env, agents, rows) of what is played for a finding of env 4, of two agents, at step 9
    of five envs.  needs: envs that a program of the rule has at least; each: envs per binding."""
    one = object.__new__(proof._Proof)
    one.facts = SimpleNamespace(
        seed=42, setups={"run": Setup("run", 5, 64)}, handwritten=False,
        shape=SimpleNamespace(agents=2 * each, env_agents=2, heads=1, envs=each),
        config=SimpleNamespace(vec=SimpleNamespace(step_timeout=5.0), eval=SimpleNamespace()))
    one.finding = SimpleNamespace(env=4, step=9, seen_in="run", element=None)
    one.claim = SimpleNamespace(expect=expect)
    one.proof = SimpleNamespace(envs=needs, patience=9.0)
    one.shop = SimpleNamespace(lab=SimpleNamespace(script=lambda envs, env, steps, uneven: np.zeros(
        (steps, 2 if env >= 0 else 2 * envs))))
    return [(world.seat, world.env, world.total, len(rows)) for world, rows in one.worlds()]


def test_what_is_played_is_as_small_as_it_can_be():
    """Only the env, then two, then as many as there were, and then what all of them did."""
    assert worlds("return") == [(4, 0, 0, 9), (0, 1, 4, 9), (0, 4, 10, 9), (0, 4, 10, 9)]
    assert worlds("return", needs=2) == [(0, 1, 4, 9), (0, 4, 10, 9), (0, 4, 10, 9)]
    assert worlds("return", needs=3) == [(0, 4, 10, 9), (0, 4, 10, 9)]
    assert worlds("return", each=2) == [(0, 1, 4, 9), (0, 4, 20, 9), (0, 4, 20, 9)]
    assert worlds("same-on-threads") == [(0, 3, 8, proof.THREAD_STEPS)]
