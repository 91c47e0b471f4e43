"""What check finds hangs on what an environment does, not on what its author calls things.

Each specimen and benchmark game is checked once as it is, and once each under other names, with one
more field, with its fields in another order, and with a longer row.
"""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers import renaming
from helpers.check_fixtures import short_check
from helpers.places import ROOT, SPECIMENS, all_broken, broken
from helpers.short_or_long import LONG, long_only, short_or_long

from puffer_sdk.checking.core.result import CheckResult
from puffer_sdk.env import binding, header

FIELD = ROOT / "benchmarks" / "field"
ALL = [path for path in (*all_broken(), *sorted((SPECIMENS / "correct").iterdir()),
                         *sorted(FIELD.iterdir())) if (path / f"{path.name}.h").is_file()]
SHORT = ["puf305_harbor"]
UNREAD = ("puf101_", "puf102_", "puf103_", "puf104_", "puf112_")    # headers that are refused


def found(folder: Path, size: int = 0) -> list[tuple]:
    """Code, severity, place and elements of each finding; of a padded row, of the first `size`."""
    return told(checked(folder), size)


def checked(folder: Path) -> CheckResult:
    return short_check(folder, budget=1.0 if LONG else 0.1)


def told(result: CheckResult, size: int = 0) -> list[tuple]:
    def block(each) -> str:
        return str(each.block and tuple(min(at, size - 1) if size else at for at in each.block))
    return sorted((each.code, each.severity, each.line or 0, block(each))
                  for each in result.findings
                  if not (size and each.block and each.block[0] >= size))


def games():
    return [path for path in ALL if (LONG or path.name in SHORT)
            and not path.name.startswith(UNREAD)]


@pytest.fixture
def copied(tmp_path):
    def copy(folder: Path, kind: str) -> Path:
        return Path(shutil.copytree(folder, tmp_path / kind / folder.name,
                                    ignore=shutil.ignore_patterns("build")))
    return copy


@pytest.fixture
def pad(monkeypatch):
    """Makes the generated binding's row longer, where that can be; returns its size before."""
    def make(folder: Path, agents: int | None) -> int:
        spec, render = header.read(folder), binding.render
        if agents != 1 or not renaming.can_be_padded(spec):
            return 0                    # rows of several agents lie behind one another
        monkeypatch.setattr(binding, "render", lambda s: renaming.padded(
            render(s), s.obs_count, s.struct))
        return spec.obs_count
    return make


@pytest.mark.long
@pytest.mark.parametrize("folder", games(), ids=lambda path: path.name)
def test_names_fields_and_sizes_change_no_finding(folder, copied, pad):
    """All at once; a specimen's own code is found, whatever else is."""
    game = copied(folder, "other")
    renaming.rename(game, renaming.hostile)
    assert (game / f"{folder.name}.h").read_text() != (folder / f"{folder.name}.h").read_text()
    result = checked(copied(folder, "first"))
    assert result.findings or not folder.name.startswith("puf")
    renaming.add_field(game)
    size = pad(game, result.coverage["agents_per_env"])
    assert found(game, size) == told(result, size)


@long_only
@pytest.mark.parametrize("folder", short_or_long([broken("puf307_digger")], ALL),
                         ids=lambda path: path.name)
def test_each_change_alone(folder, copied, pad):
    result = checked(copied(folder, "first"))
    first, game = told(result), copied(folder, "plain")
    renaming.rename(game, renaming.plain)
    assert found(game) == first
    game = copied(folder, "field")
    if renaming.add_field(game):
        assert found(game) == first
    game = copied(folder, "turned")
    if renaming.turn_fields(game):
        assert [each[:2] for each in found(game)] == [each[:2] for each in first]
    if size := pad(folder, result.coverage["agents_per_env"]):
        assert found(copied(folder, "padded"), size) == told(result, size)
