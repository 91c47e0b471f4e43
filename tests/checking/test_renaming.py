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
from helpers.forms import LONG, forms
from helpers.places import ROOT, SPECIMENS

from puffer_sdk.env import binding, header

FIELD = ROOT / "benchmarks" / "field"
ALL = [path for folder in (SPECIMENS / "broken", SPECIMENS / "correct", FIELD)
       for path in sorted(folder.iterdir()) if (path / f"{path.name}.h").is_file()]
SHORT = ["puf302_beavers", "puf305_harbor", "puf307_digger", "puf422_archer"]


def found(folder: Path) -> list[tuple]:
    """Code, severity, place and elements of each finding."""
    return sorted((finding.code, finding.severity, finding.line, str(finding.block))
                  for finding in short_check(folder, budget=1.0 if LONG else 0.1).findings)


def games():
    return [path for path in ALL if LONG or path.name in SHORT]


@pytest.fixture
def copied(tmp_path):
    def copy(folder: Path, kind: str) -> Path:
        return Path(shutil.copytree(folder, tmp_path / kind / folder.name,
                                    ignore=shutil.ignore_patterns("build")))
    return copy


@pytest.mark.parametrize("folder", games(), ids=lambda path: path.name)
def test_names_fields_and_sizes_change_no_finding(folder, copied, monkeypatch):
    first = found(copied(folder, "first"))
    for kind, word in forms([("hostile", renaming.hostile)],
                            [("hostile", renaming.hostile), ("plain", renaming.plain)]):
        game = copied(folder, kind)
        renaming.rename(game, word)
        assert (game / f"{folder.name}.h").read_text() != (folder / f"{folder.name}.h").read_text()
        assert found(game) == first, kind
    game = copied(folder, "field")
    if renaming.add_field(game):
        assert found(game) == first, "one more field"
    game = copied(folder, "turned")
    if LONG and renaming.turn_fields(game):
        assert [each[:2] for each in found(game)] == [each[:2] for each in first], "turned fields"
    spec = header.read(game)
    if renaming.can_be_padded(spec):
        render = binding.render
        monkeypatch.setattr(binding, "render", lambda s: renaming.padded(
            render(s), s.obs_count, s.struct))
        assert found(copied(folder, "padded")) == first, "a longer row"
