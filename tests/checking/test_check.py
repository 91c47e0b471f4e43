"""check: every specimen is caught by exactly its codes, correct code stays silent, and the
result's form is what scripts rely on."""
from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from helpers.check_fixtures import QUICK, build_twice, changed, line_of, short_check
from helpers.places import SPECIMENS, all_broken, broken
from helpers.short_or_long import LONG, long_only, short_or_long, some_or_all

from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.checking.check import check
from puffer_sdk.checking.core import registry
from puffer_sdk.checking.core.finding import Finding
from puffer_sdk.checking.core.result import CheckResult
from puffer_sdk.checking.report import terminal
from puffer_sdk.cli import main
from puffer_sdk.projects import scaffold

# Each kind of environment that check treats otherwise
KINDS = ("bandit", "foragers", "hermits", "mower", "organ", "rally")
BROKEN = [folder for folder in all_broken() if (folder / f"{folder.name}.h").is_file()]
# Where a tenth of the steps is too few: rare faults, agents that are stuck late, few moments
BUDGETS = {"puf201_diver": 0.25, "puf402_pinball": 0.25, "puf402_rover": 1.0, "puf403_orbit": 0.25,
           "puf409_trams": 1.0, "puf413_skaters": 0.25}
# Not seen in the first two builds: they are not tried with these alone
SEEN_ELSEWHERE = ("puf114_hive", "puf201_diver", "puf202_tram", "puf504_herd", "puf505_lens")
ALL_BUILDS = pytest.mark.usefixtures("all_builds")    # for what the others show
CORRECT = sorted(p for p in (SPECIMENS / "correct").iterdir() if (p / f"{p.name}.h").is_file())


def expected_codes(folder: Path) -> set[str]:
    """The codes that line 1 of a specimen's header names; with (--learn), they need training."""
    first = (folder / f"{folder.name}.h").read_text().splitlines()[0]
    assert first.startswith("// expect: "), f"{folder.name}: line 1 names no codes"
    return set(re.findall(r"PUF\d{3}", first))


def is_first(folder: Path) -> bool:
    """Whether no specimen before it has all of its codes."""
    earlier = [expected_codes(other) for other in BROKEN[:BROKEN.index(folder)]]
    return not expected_codes(folder) <= set().union(*earlier)


def budget_of(folder: Path) -> float:
    """The factor on the experiments' lengths: 1 in `make test-long`."""
    return 1.0 if LONG else BUDGETS.get(folder.name, 0.1)


@pytest.fixture
def copy(tmp_path):
    """Copies an env under tmp_path (optionally changing its header's text) and returns it."""
    def make(folder: Path, *changes: tuple[str, str]) -> Path:
        return changed(folder, tmp_path, *changes)
    return make


@ALL_BUILDS
@pytest.mark.parametrize("folder", short_or_long(filter(is_first, BROKEN), BROKEN),
                         ids=lambda p: p.name)
def test_specimen_is_caught(folder, copy, monkeypatch):
    """Short: one specimen of each code, with fewer steps and fewer builds, where these are enough;
    without programs, of which test_proof.py asks."""
    first = (folder / f"{folder.name}.h").read_text().splitlines()[0]
    game = copy(folder)

    def run() -> CheckResult:
        return check(game, learn="(--learn)" in first, learn_seconds=3, prove=LONG,
                     budget=budget_of(folder))

    with monkeypatch.context() as patch:
        if not LONG and folder.name not in SEEN_ELSEWHERE:
            build_twice(patch)
        result = run()
    if not LONG and {finding.code for finding in result.findings} != expected_codes(folder):
        result = run()
    found = {finding.code for finding in result.findings}
    assert found == expected_codes(folder), "\n".join(
        f"{f.code} {f.message} {f.file}:{f.line}" for f in result.findings)
    errors = any(finding.severity == "error" for finding in result.findings)
    assert result.verdict == ("fail" if errors else "pass")
    for finding in result.findings:
        assert finding.file, f"{finding.code} names no file"
        assert (folder / finding.file).is_file()
    proven = {f.code for f in result.findings if f.repro}
    assert not LONG or proven == {f.code for f in result.findings
                                  if f.severity == "error" and f.seen_in}


@ALL_BUILDS
@pytest.mark.long
@pytest.mark.parametrize("folder", [each for each in CORRECT if LONG or each.name in KINDS],
                         ids=lambda p: p.name)
def test_correct_env_is_left_in_peace(folder, copy, monkeypatch):
    """Short: two kinds with all builds, the others with two."""
    if not LONG and folder.name not in ("mower", "rally"):
        build_twice(monkeypatch)
    result = check(copy(folder), budget=max(budget_of(folder), 0.25))
    assert [(f.code, f.message) for f in result.findings] == []
    assert result.verdict == "pass"
    assert result.coverage["env_steps"] >= 100_000


def test_every_rule_has_a_specimen_and_a_page():
    seen = set().union(*(expected_codes(folder) for folder in BROKEN))
    known = registry.load()
    assert set(known) == seen
    for code, rule in known.items():
        assert re.fullmatch(r"PUF\d{3}", code)
        assert len(rule.page) > 300, f"{code} has no page"
        for part in ("Bad", "Good", "Fix:", "Why"):
            assert part in rule.page, f"{code}'s page lacks '{part}'"
        assert rule.severity in ("error", "warning")


@ALL_BUILDS
@pytest.mark.parametrize("template, dialect, settings", some_or_all([
    ("squared", "4", {}), ("squared", "4", {"env.size": "4"}), ("squared", "4", {"env.size": "2"}),
    ("target", "4", {}), ("squared", "5", {}), ("squared", "5", {"env.patience": "1"}),
    ("target", "5", {}),
], 3, 4))
def test_templates_pass(template, dialect, settings, tmp_path):
    """Short: one of each form; README's session checks the other (tests/docs/test_docs.py)."""
    assert main(["new", "first", "--template", template, "--dialect", dialect, "--output-dir",
                 str(tmp_path)]) == 0
    result = short_check(tmp_path / "first", settings=settings)
    assert [(f.code, f.message) for f in result.findings] == []
    assert result.coverage["env_steps"] >= (1_000_000 if LONG else 250_000)


@ALL_BUILDS
def test_crashes_name_the_line_the_env_and_the_step(copy):
    mine = copy(broken("puf201_mine"))
    (finding,) = short_check(mine).findings
    assert finding.line == line_of(mine, "inside ? env->rock")
    assert finding.env is not None and finding.step > 0 and finding.seed == 42
    assert finding.stack[-1].startswith("c_step")


def test_row_overrun_says_which_array_and_by_how_much(copy):
    relay = copy(broken("puf203_relay"))
    finding = short_check(relay).findings[0]
    assert finding.line == line_of(relay, "if (i == RUNNERS - 1)") or \
        finding.line == line_of(relay, "env->observations[k++] = env->pos[next]")
    assert finding.element == 16 and "observations" in finding.message


@long_only
@pytest.mark.parametrize("array, change", some_or_all([
    ("rewards", ("env->rewards[0] = 0;\n    env->terminals[0] = 0;",
                 "env->rewards[0] = 0; env->rewards[1] = 0.5f;\n    env->terminals[0] = 0;")),
    ("terminals", ("env->rewards[0] = 0;\n    env->terminals[0] = 0;",
                   "env->rewards[0] = 0; env->terminals[-1] = 0;\n    env->terminals[0] = 0;")),
], 0))
def test_row_overrun_of_single_floats(copy, array, change):
    mine = copy(broken("puf201_mine"), ("y <= env->height", "y < env->height"),
                change)
    result = short_check(mine)
    codes = [f.code for f in result.findings]       # a reward in the next row is lost there
    assert codes[0] == "PUF203" and set(codes[1:]) <= ({"PUF315"} if array == "rewards" else set())
    assert array in result.findings[0].message
    assert result.findings[0].line == line_of(mine, "env->terminals[0] = 0;") - 1


@long_only
def test_a_write_far_outside_is_seen_in_packed_rows(copy):
    """Four megabytes away there is no guard, but packed rows are near: this one is two rows off."""
    mower = copy(SPECIMENS / "correct" / "mower", (
        "    env->tick++;", "    env->tick++;\n    if (env->tick == 77) board[3 * OBS_SIZE] = 9;"))
    codes = {f.code for f in short_check(mower).findings}
    assert codes == {"PUF203"}


@long_only
def test_rare_faults_are_found(copy):
    """Only after hundreds of steps, only with one action."""
    late = copy(SPECIMENS / "correct" / "drones", (
        "env->rewards[i] = hypotf", "if (env->tick == 149 && i == 2) continue;\n"
        "        env->rewards[i] = hypotf"))
    assert {f.code for f in short_check(late).findings} == {"PUF311"}


@long_only
def test_null_pointer_is_a_memory_error(copy):
    lamp = copy(SPECIMENS / "correct" / "bandit", (
        "env->rewards[0] = win", "if (env->log.n > 40.0f) env = (Bandit*)0;\n"
        "    env->rewards[0] = win"))
    findings = short_check(lamp).findings
    assert {f.code for f in findings} == {"PUF201"}
    assert "null pointer" in findings[0].message


@long_only
def test_findings_survive_an_env_that_closes_descriptors_and_prints(copy):
    noisy = copy(broken("puf312_market"), (
        "void c_reset(Market* m) {", '#include <stdio.h>\n#include <unistd.h>\n'
        'void c_reset(Market* m) {\n    printf("reset\\n");\n'
        '    for (int fd = 0; fd < 20; fd++) close(fd);\n    if (chdir("/")) return;'))
    assert {f.code for f in short_check(noisy).findings} == {"PUF111", "PUF115", "PUF312"}


def test_not_tested_says_why(copy):
    endless = copy(SPECIMENS / "correct" / "mower", ("env->tick >= 120", "env->tick < 0"))
    result = short_check(endless)
    assert result.not_tested["PUF401"] == "no episode ended"
    dead = short_check(copy(broken("puf204_tank")))
    assert dead.explained == {"PUF503": ["PUF204"]} and "PUF204" in dead.not_tested["PUF503"]


@ALL_BUILDS
def test_two_checks_give_the_same_document(copy):
    folder = copy(broken("puf503_cargo"))
    documents = []
    for _ in range(2):
        document = short_check(folder).to_dict()
        assert document["coverage"].pop("seconds") > 0
        documents.append(json.dumps(document, sort_keys=True))
    assert documents[0] == documents[1]


def test_json_has_the_promised_keys(copy):
    document = short_check(copy(broken("puf304_pong"))).to_dict()
    assert set(document) == {"findings", "coverage", "declared", "verdict"}
    assert document["verdict"] == "pass"        # warnings alone
    assert list(document["findings"][0]) == [
        "code", "name", "detector", "severity", "message", "file", "line", "env", "agent", "step",
        "element", "expected", "actual", "seed", "repro", "hint", "stack", "fields"]
    json.dumps(document, allow_nan=False)


@long_only
def test_strict_counts_warnings(copy):
    assert short_check(copy(broken("puf105_lamp")), strict=True).verdict == "fail"


def test_suppressions(copy):
    pong = copy(broken("puf304_pong"), (
        "void c_step(Pong* p) {", "// puffer: allow(PUF304) pixels on purpose\n"
        "void c_step(Pong* p) {"))
    result = short_check(pong, strict=True)
    assert result.findings == [] and result.verdict == "pass"
    assert result.suppressed[0][1] == "pixels on purpose"
    shutil.rmtree(pong)
    hurdles = copy(broken("puf321_hurdles"))
    (hurdles / f"{hurdles.name}.ini").write_text(
        "[env]\n[check]\nallow = PUF321 trained by a loop that clears\n")
    result = short_check(hurdles)
    assert result.verdict == "pass" and result.suppressed[0][0].code == "PUF321"


def test_refused_setting_and_unreadable_header(copy):
    lamp = copy(broken("puf105_lamp"))
    with pytest.raises(UsageError):
        short_check(lamp, settings={"train.gama": "3"})
    header = lamp / f"{lamp.name}.h"
    header.write_text(header.read_text().replace("lamp->oil = 1.0f;", "lamp->oil = one;"))
    with pytest.raises(BuildError) as caught:
        short_check(lamp)
    assert caught.value.code is None and f"{lamp.name}.h:" in caught.value.where


def test_settings_reach_the_env(copy):
    result = short_check(copy(SPECIMENS / "correct" / "drones"), settings={"env.count": "1"})
    assert result.coverage["agents_per_env"] == 1


def test_report_has_four_parts():
    finding = Finding("PUF203", "c_step wrote past the end", "dock.h", 98, env=0, agent=0, step=1,
                      expected="3 floats", actual="4", hint="drop the write", severity="error")
    assert [text for text, _ in terminal.finding_lines(finding)] == [
        "error[PUF203]: c_step wrote past the end", "  --> dock.h:98, env 0, agent 0, step 1",
        "  expected 3 floats, got 4", "  hint: drop the write",
        "  more: puffer-sdk explain PUF203"]


def test_command_line(copy, capsys):
    assert main(["check", str(copy(broken("puf301_orchard"))), *QUICK, "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "PUF301"
    assert main(["check", str(copy(SPECIMENS / "correct" / "bandit")), *QUICK]) == 0
    assert "pass, nothing found" in capsys.readouterr().out
    assert main(["explain", "puf302"]) == 0
    assert capsys.readouterr().out.startswith("PUF302 obs-stale (error)")
    assert main(["explain", "PUF999"]) == 2
    assert main(["check", str(SPECIMENS / "correct" / "bandit"), "--no-such"]) == 2


def test_a_misspelt_setting_is_named_even_where_the_env_cannot_run(tmp_path):
    folder = scaffold.new("board", output_dir=tmp_path).folder
    ini = folder / "board.ini"
    ini.write_text(ini.read_text().replace("\nsize = 11", "\nsiez = 11"))
    result = short_check(folder)
    found = {finding.code: finding for finding in result.findings}
    assert set(found) == {"PUF105", "PUF112"} and result.exit_status == 1
    assert "siez" in found["PUF105"].message and found["PUF105"].file == "board.ini"
    assert "OBS_SIZE is 0" in found["PUF112"].message
