"""check --mutate: where mutants are planted, which are dropped, who is said to catch them."""
from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.places import SPECIMENS, broken
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import UsageError
from puffer_sdk.mutate import mutation_report, mutation_score, mutations
from puffer_sdk.mutate.bench import Bench, Exam
from puffer_sdk.mutate.mutant import OPERATORS, RULE_CHANGES, sample
from puffer_sdk.projects import scaffold

CORRECT = sorted(p for p in (SPECIMENS / "correct").iterdir() if (p / f"{p.name}.h").is_file())


@pytest.fixture
def copy(tmp_path):
    def make(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / folder.name,
                                    ignore=shutil.ignore_patterns("build")))
    return make


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Every mutant of the templates and of the correct environments, by environment."""
    home = tmp_path_factory.mktemp("planted")
    folders = [scaffold.new(name, template=name, output_dir=home).folder
               for name in ("squared", "target")]
    return {folder: mutations.find(folder) for folder in [*folders, *CORRECT]}


@long_only
def test_every_operator_finds_places(planted):
    seen = {mutant.operator for found in planted.values() for mutant in found}
    assert seen == set(OPERATORS)
    assert set(RULE_CHANGES) < seen


def test_mutants_are_one_change_each_at_the_line_they_name(planted):
    for folder, found in planted.items():
        assert len(found) >= 20, folder.name
        assert len({m.id for m in found}) == len({m.text for m in found}) == len(found)
        for mutant in found:
            old = (folder / mutant.file).read_bytes().splitlines()
            new = mutant.text.splitlines()
            first = next(i for i, (a, b) in enumerate(zip(old, new), 1) if a != b)
            assert first <= mutant.line + 1 or mutant.operator == "write-actions"
            assert mutant.diff.count("\n-") + mutant.diff.count("\n+") <= 16
            assert abs(len(new) - len(old)) <= 1
            assert mutant.kind == ("rule change" if mutant.operator in RULE_CHANGES
                                   else "fault")


def test_drawing_is_left_alone(planted):
    for folder, found in planted.items():
        lines = (folder / f"{folder.name}.h").read_text().splitlines()
        begin = next(n for n, line in enumerate(lines, 1) if line.startswith("void c_render"))
        end = next(n for n in range(begin, len(lines) + 1)
                   if lines[n - 1].startswith("}") or lines[n - 1].rstrip().endswith("}"))
        assert not [m.id for m in found
                    if m.file.endswith(".h") and begin < m.line < end], folder.name


def test_statements_are_found_however_they_are_written(probe):
    """Without braces, with ++ and -- on either side; every use of the generator is another's."""
    folder = probe(("    int tick;\n", "    int tick, left, right;\n"), ("    env->tick++;\n", """\
    if (env->tick > 1) env->rewards[0] = 1.0f;
    else env->right = 4;
    ++env->left;
    --env->right;
    env->tick++;
    env->tick--;
    env->left = (int)(env->rng % 3) + rand_r(&env->rng);
    env->rng = env->rng * 5 + 1;
"""), ("        env->terminals[a] += env->tick == env->limit;\n", ""),
        ("    if (env->tick >= env->limit) {", """\
    if (env->left > 9) { env->terminals[0] = 1; c_reset(env); }
    if (env->tick >= env->limit) {"""))
    found = mutations.find(folder)

    def gone(operator: str) -> set[str]:
        return {line[1:].strip() for m in found if m.operator == operator
                for line in m.diff.splitlines()[2:] if line.startswith("-")}

    assert "if (env->tick > 1) env->rewards[0] = 1.0f;" in gone("drop-bonus")
    assert {"else env->right = 4;", "++env->left;", "--env->right;", "env->tick++;",
            "env->tick--;"} <= gone("drop-update")
    # negating a condition on which terminal and reset both depend is another game, not a fault
    assert gone("negate-ending") == {"if (env->tick >= env->limit) {"}
    (shared,) = (m for m in found if m.operator == "shared-rng")
    assert b"env->rng" not in shared.text and shared.text.count(b"shared") == 5


def test_samples_spread_over_operators(planted):
    found = next(iter(planted.values()))
    drawn = list(sample(found, 7))
    assert sorted(m.id for m in drawn) == sorted(m.id for m in found)
    count = len({m.operator for m in found})
    assert len({m.operator for m in drawn[:count]}) == count
    assert drawn == list(sample(found, 7)) != list(sample(found, 8))


@long_only
def test_who_catches_what(copy):
    """The author's test here is a search for one line; check has to find the rest."""
    mower = copy(SPECIMENS / "correct" / "mower")
    (mower / "mower.ini").write_text("[env]\n[check]\ntest = grep -q 'env->tick++;' mower.h\n")
    before = {path.name: path.read_bytes() for path in mower.iterdir()}
    seen = []
    result = mutation_score.run(mower, count=6, seed=3, budget=0.2,
                          on_progress=lambda *progress: seen.append(progress))
    assert {path.name: path.read_bytes() for path in mower.iterdir()
            if path.is_file()} == before, "the author's own files were touched"
    assert len(result.outcomes) == 6 and seen[-1] == ("mutants", 6, 6)
    for outcome in result.outcomes:
        gone = b"env->tick++;" not in outcome.mutant.text
        assert outcome.tests == gone
        if outcome.mutant.operator in ("drop-clear", "drop-terminal-write", "drop-reward-write"):
            assert outcome.codes, outcome.mutant.id
    rates = result.rates()
    assert sum(row["planted"] for row in rates.values()) == 6
    text = "\n".join(line for line, _ in mutation_report.lines(result))
    assert "faults" in text and max(map(len, text.splitlines())) <= 110
    document = result.to_dict()
    assert [m["id"] for m in document["mutants"]] == [o.mutant.id for o in result.outcomes]
    json.dumps(document, allow_nan=False)


def test_what_changes_nothing_is_dropped(copy):
    """The same object code is the same program: it is nobody's task to tell them apart."""
    bandit = copy(SPECIMENS / "correct" / "bandit")
    header = bandit / "bandit.h"
    header.write_text(header.read_text().replace(
        "void c_close(Bandit* env) { (void)env; }",
        "void c_close(Bandit* env) { if (0) __builtin_free(env); }").replace(
        "    env->log.perf += (float)win;", "    if (1 < 3) env->log.perf += (float)win;"))
    bench = Bench(bandit, bandit.parent / "bench", Exam({}, 0, 1.0), "")
    found = [m for m in mutations.find(bench.folder) if m.operator == "loosen-bound"]
    chosen, dropped = mutation_score._choose(bench, found, 24, 1, lambda *progress: None)
    assert dropped["equivalent"] >= 1
    assert all("1 <" not in m.diff for m in chosen)


@long_only
def test_refused_where_the_start_is_not_clean(copy):
    with pytest.raises(UsageError, match="passes check") as caught:
        mutation_score.run(copy(broken("puf311_bees")), count=1, budget=0.1)
    assert "PUF311" in caught.value.detail
    bandit = copy(SPECIMENS / "correct" / "bandit")
    (bandit / "bandit.ini").write_text("[env]\n[check]\ntest = echo no luck; exit 3\n")
    with pytest.raises(UsageError, match="tests that pass") as caught:
        mutation_score.run(bandit, count=1, budget=0.1)
    assert "no luck" in caught.value.detail and caught.value.actual == 3


@long_only
def test_command_line(copy):
    """--strict turns a fault that nobody noticed into status 1."""
    bandit = copy(SPECIMENS / "correct" / "bandit")
    done = subprocess.run([sys.executable, "-m", "puffer_sdk", "check", str(bandit), "--mutate",
                           "--mutants", "3", "--budget", "0.2", "--strict", "--format", "json"],
                          capture_output=True, text=True, timeout=120, check=False)
    document = json.loads(done.stdout)
    assert len(document["mutants"]) == 3 and document["rates"]["rule change"]["planted"] == 0
    missed = any(not m["check"] for m in document["mutants"])
    assert done.returncode == int(missed), done.stderr
