"""Small environments after public reports: one fault hides no other, one cause is one finding, and
each sentence is true."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers.check_fixtures import changed, line_of
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base.errors import BuildError
from puffer_sdk.checking.check import check
from puffer_sdk.checking.core.facts import blocks
from puffer_sdk.checking.core.result import CheckResult
from puffer_sdk.checking.report import terminal
from puffer_sdk.env.header import read


def checked(name: str, target: Path, *changes: tuple[str, str], budget: float = 0.05
            ) -> CheckResult:
    """A short check of a copy, its header's text changed."""
    folder = changed(SPECIMENS / "reports" / name, target, *changes)
    return check(folder, prove=False, budget=budget)


def told(result: CheckResult) -> list[tuple[str, str, int | None]]:
    return [(finding.code, finding.severity, finding.line) for finding in result.findings]


@long_only
@pytest.mark.parametrize("name", some_or_all(["ring", "glow", "vec_init_only"], 1, 2))
def test_what_is_right_stays_unreported(name, tmp_path):
    """Scratch that comes home, a clock that only drawing reads, a my_init that nobody calls."""
    result = checked(name, tmp_path)
    assert told(result) == [] and result.verdict == "pass"


@long_only
def test_a_late_reset_hides_no_wrong_return(tmp_path):
    result = checked("late_reset_log", tmp_path)
    wrong, late = result.findings
    assert (wrong.code, wrong.severity, wrong.element) == ("PUF422", "error", "episode_return")
    assert (late.code, late.severity) == ("PUF401", "warning")
    assert late.line == line_of(result.folder, "if (env->pending) c_reset")
    assert wrong.line == line_of(result.folder, "log.episode_return +=")
    assert "played in a new one that nobody has seen" in late.actual
    assert result.verdict == "fail" and result.explained == {}


@long_only
def test_one_run_shows_several_memory_errors(tmp_path):
    result = checked("spills", tmp_path)
    assert told(result) == [
        ("PUF201", "error", line_of(result.folder, "tiles[8]")),
        ("PUF201", "error", line_of(result.folder, "old[2]")),
        ("PUF203", "error", line_of(result.folder, "observations[2]")),
        ("PUF203", "error", line_of(result.folder, "rewards[1]"))]
    causes = {cause for causes in result.explained.values() for cause in causes}
    assert "PUF501" in result.explained and causes == {"PUF201", "PUF203"}
    assert list(terminal.lines(result))[-1][0].endswith("not tested because of PUF201, PUF203")


@long_only
def test_no_other_setting_is_blamed_for_a_fault_of_the_inis_own(tmp_path):
    result = checked("lost_unit", tmp_path, budget=0.25)
    assert set(told(result)) == {("PUF202", "error", line_of(result.folder, "visits[at]++")),
                                 ("PUF202", "error", line_of(result.folder, "at == env->mark ?"))}


@pytest.mark.parametrize("reads, told", some_or_all([
    ("env->tick == 0", "what the action changes shows only after more than 64 steps"),
    ("env->tick < 0", "the action changes nothing")], 0))
def test_an_action_that_pays_late_is_not_ignored(reads, told, tmp_path):
    result = checked("first_choice", tmp_path, ("if (env->tick == 0)", f"if ({reads})"))
    (finding,) = result.findings
    assert finding.code == "PUF411" and finding.message == told


def test_arrays_that_the_trainer_replaces_are_one_finding(tmp_path):
    result = checked("own_arrays", tmp_path)
    (finding,) = result.findings
    assert finding.code == "PUF206"
    assert finding.line == line_of(result.folder, "env->observations = ")
    assert "leave this out of init" in finding.hint


@long_only
def test_arrays_are_named_as_they_are_and_c_close_is_no_place_to_free_them(tmp_path):
    """Without actions; and one finding where c_close frees what is the trainer's by then."""
    actions = ("    env->actions = (float*)calloc(1, sizeof(float));\n", "")
    (finding,) = checked("own_arrays", tmp_path, actions).findings
    assert finding.expected.startswith("observations, rewards and terminals that")
    close = ("c_close(OwnArrays* env) { (void)env; }",
             "c_close(OwnArrays* env) { free(env->rewards); free(env->terminals); }")
    (finding,) = checked("own_arrays", tmp_path / "freed", close).findings
    assert finding.code == "PUF207" and finding.actual == "rewards, terminals"
    assert finding.hint.startswith("leave out both these and what init allocates")


@long_only
def test_a_block_is_lost_where_its_pointer_is_set_and_lives_have_sums_of_their_own(tmp_path):
    """c_close does free the block that is left, which init's is not; of two agents' entries none
    tells of a life."""
    result = checked("lives", tmp_path)
    lost, _, sums = result.findings
    assert (lost.code, lost.line) == ("PUF206", line_of(result.folder, "env->lane = lane"))
    assert "'lane' is set to another block" in lost.message and "before its pointer" in lost.hint
    assert (sums.detector, sums.severity) == ("running-sums", "warning")
    assert "PUF422" not in result.not_tested


def test_what_is_cleared_paid_and_logged_by_halves_is_told(tmp_path):
    result = checked("painters", tmp_path)
    assert [(f.code, f.detector, f.element, f.line) for f in result.findings] == [
        ("PUF205", "actions-written", 0, line_of(result.folder, "memset(env->actions")),
        ("PUF302", "half-cleared", "24-63", line_of(result.folder, "void c_step")),
        ("PUF423", "unwritten-column", "spills", line_of(result.folder, "float perf, score")),
        ("PUF423", "unwritten-column", "strokes[2]", line_of(result.folder, "float perf, score")),
        ("PUF423", "beyond", "perf", line_of(result.folder, "log.perf += perf"))]
    actions, picture, *_, perf = (f.message for f in result.findings)
    assert actions == "c_reset writes into the actions" and perf == "Log.perf is 1.5 in an entry"
    assert picture.startswith("rows 3-7 of the grid keep what was drawn")


@long_only
def test_a_pattern_of_elements_is_one_finding(tmp_path):
    (finding,) = checked("ghosts", tmp_path).findings
    assert (finding.code, finding.element, finding.agent) == ("PUF302", "1-2 of each 3", None)
    assert finding.block == (1, 2)


@pytest.mark.parametrize("numbers, expected", [
    ([4], [4]), ([3, 4, 5, 9], ["3-5", 9]), ([1, 4, 7, 10], ["1 of each 3"]),
    ([1, 2, 4, 5, 10, 11, 13, 14], ["1-2 of each 3"]),          # one is missing
    ([1, 4, 7], [1, 4, 7]), ([1, 20, 90, 91, 300], [1, 20, "90-91", 300]),
    ([n * n for n in range(2, 10)], [n * n for n in range(2, 10)]),
    ([n * n for n in range(2, 11)], ["4, 9, 16 and 6 more"])])       # more than anybody reads
def test_blocks_that_come_back_are_one(numbers, expected):
    assert blocks(numbers) == expected


def test_a_header_that_does_not_compile_gets_the_compilers_words(tmp_path):
    """And no rule reads the fields of a struct that clang could not make out."""
    with pytest.raises(BuildError, match="unknown type name 'Vector2'") as caught:
        checked("first_choice", tmp_path, ("    int length;", "    Vector2 place; int length;"))
    assert caught.value.where.endswith(f":{line_of(tmp_path / 'first_choice', 'Vector2')}")
    assert "PUF102" not in str(caught.value)


def test_the_compilers_own_warnings_are_told_with_their_lines(tmp_path):
    """abs() of a float, and a variable that is read before it is set; not a name that hides one."""
    folder = tmp_path / "first_choice"
    shutil.copytree(SPECIMENS / "reports" / "first_choice", folder)
    header = folder / "first_choice.h"
    text = header.read_text()
    header.write_text(text.replace(
        "    env->tick++;", "    float gap = abs(env->observations[1]), lag = lag + gap;\n"
        "    for (int gap = 0; gap < 1; gap++) env->tick++;\n    (void)lag;"))
    remarks = {(remark.code, remark.actual, remark.where) for remark in read(folder).remarks}
    place = f"first_choice.h:{line_of(tmp_path / 'first_choice', 'abs(')}"
    assert remarks == {("PUF117", "-Wabsolute-value", place), ("PUF117", "-Wuninitialized", place)}


@long_only
def test_a_variable_that_is_given_its_own_value(tmp_path):
    result = checked("first_choice", tmp_path, ("    int length;", "    int length, best;"), (
        "void c_step(", "static int unset(void) { int best = best; return best; }\nvoid c_step("))
    assert ("PUF117", "warning", line_of(result.folder, "best = best")) in told(result)


@long_only
@pytest.mark.parametrize("made", ["", " * 2654435761u + 17u"])
def test_a_seed_that_is_put_back_makes_one_game_of_all(made, tmp_path):
    """Held against other envs, not against the same env with another seed."""
    result = checked("same_deal", tmp_path, ("= env->seed;", f"= env->seed{made};"))
    (finding,) = result.findings
    assert finding.code == "PUF502"
    assert finding.line == line_of(result.folder, "env->rng = env->seed")
    assert "env->seed" in finding.actual and result.explained == {"PUF404": ["PUF502"]}


def test_the_field_is_named_that_alone_removes_the_difference(tmp_path):
    """Not the count of games, nor the goal that c_reset makes from it; and what the agent sees."""
    (finding,) = checked("keeper", tmp_path).findings
    assert (finding.code, finding.hint) == (
        "PUF404", "set level in c_reset, or allow PUF404 where the memory is meant")
    assert "observation OBS_GOAL differs" in finding.message


HELPER = [("void c_reset(OwnSeeds", "static void begin(OwnSeeds"),
          ("void c_step(", "void c_reset(OwnSeeds* env) { begin(env); }\n\nvoid c_step("),
          ("        c_reset(env);\n        return", "        begin(env);\n        return")]


@pytest.mark.parametrize("terminal", some_or_all(["0.0f", "1.0f"], 0))
def test_a_function_that_does_all_the_work_of_c_reset_begins_an_episode(terminal, tmp_path):
    result = checked("own_seeds", tmp_path, *HELPER, ("terminals[0] = 1.0f",
                                                      f"terminals[0] = {terminal}"))
    told_of = [(finding.code, finding.line, finding.hint) for finding in result.findings
               if finding.code == "PUF406"]
    assert told_of == [("PUF406", line_of(result.folder, "        begin(env);"),
                        "set terminals[i] = 1.0f before begin(env)")] * (terminal == "0.0f")
    assert "PUF406" not in result.not_tested


NEXT = "env->rng = env->rng * 6364136223846793005ull + 1442695040888963407ull"
SEED = "((env)->rng = 77u * (number) + 5u)"
INT_RNG = (
    ("uint64_t rng", "int rng"), (SEED, "((env)->rng = 77 * (int)(number) + 5)"),
    (NEXT, "env->rng = (int)((unsigned)env->rng * 1664525u + 1013904223u)"),
    ("(int)(env->rng >> 62)", "(int)((unsigned)env->rng >> 30)"))
SHORT_RNG = (
    ("uint64_t rng", "short rng"), (SEED, "((env)->rng = (short)(77 * (int)(number) + 5))"),
    (NEXT, "env->rng = (short)((unsigned)env->rng * 25173u + 13849u)"),
    ("(int)(env->rng >> 62)", "(int)((unsigned short)env->rng >> 14)"))
NO_RNG = (("    uint64_t rng;\n", ""), (SEED, "((env)->card = 0)"), (NEXT, "(void)env"),
          ("(int)(env->rng >> 62)", "rand() % 4"))


@pytest.mark.parametrize("changes, told_of, untested", some_or_all([
    ((), [], False), (INT_RNG, [], False), (SHORT_RNG, [], True),
    (NO_RNG, ["PUF109"], False)], 3))
def test_envs_that_my_vec_init_seeds(changes, told_of, untested, tmp_path):
    """rng of another type, or none: no seed is written there, and no rule asks for its effect."""
    result = checked("own_seeds", tmp_path, *changes)
    assert [finding.code for finding in result.findings] == told_of
    assert ("my_vec_init seeds the envs" in result.not_tested.get("PUF502", "")) == untested


@long_only
def test_what_is_wrong_in_an_env_without_rng_is_proved(tmp_path):
    folder = changed(SPECIMENS / "reports" / "own_seeds", tmp_path, *NO_RNG,
                     ("++env->tick == 16", "++env->tick % 16 == 0"),
                     ("        c_reset(env);\n        return;\n", ""))
    found = {finding.code: finding for finding in check(folder, budget=0.05).findings}
    assert found["PUF401"].severity == "error" and found["PUF401"].repro


@long_only
def test_a_game_that_waits_for_a_clock_is_proved(tmp_path):
    """A play in which the clock stands still is another than one in which it runs."""
    waits = "GetTime() - env->lit[1 - (env->tick & 1)] > 0.9"
    folder = changed(SPECIMENS / "reports" / "glow", tmp_path, (
        "    env->tick++;", f"    env->tick += {waits} ? 0 : 1;"))
    found = {finding.code: finding for finding in check(folder, budget=0.05).findings}
    assert found["PUF109"].severity == "error" and "GetTime() is" in found["PUF109"].message
    assert found["PUF501"].repro
