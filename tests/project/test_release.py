"""tools/release_check.py finds what is wrong with a release; `make release-check` runs all."""
import zipfile

import release_check
from helpers.places import ROOT

from puffer_sdk import __version__

LOG = "# Changelog\n\n## [Unreleased]\n\nnew\n\n" \
      "## [0.2.0] - 2027-01-02\n\n### Added\n- a\n- b\n\n" \
      "## [0.1.0] - 2026-12-01\n\nold\n"


def test_notes_are_the_versions_own_section():
    assert release_check.notes(LOG, "0.2.0") == "### Added\n- a\n- b"
    assert release_check.notes(LOG, "0.3.0") == "new"       # it becomes this version's
    assert "### Added" in release_check.notes((ROOT / "CHANGELOG.md").read_text())


def test_a_version_that_is_not_one_is_found(tmp_path):
    assert list(release_check.wrong_with_version(tags="v0.0.9 other")) == []
    assert any("v9.0.0" in line for line in release_check.wrong_with_version(tags="v9.0.0"))
    (tmp_path / "CITATION.cff").write_text("version: 9.9.9\n")
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n")
    wrong = list(release_check.wrong_with_version(tmp_path, tags=""))
    assert [line.partition(":")[0] for line in wrong] == ["CITATION.cff", "CHANGELOG.md"]


def wheel_of(path, **files):
    about = f"Name: p\nVersion: {__version__}\nSummary: s\nLicense-Expression: MIT\n" \
            "Requires-Python: >=3.10\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"p.dist-info/METADATA": about,
                              "p.dist-info/licenses/LICENSE": "MIT", **files}.items():
            archive.writestr(name, content)
    return path


def test_what_no_wheel_may_hold_is_found(tmp_path):
    def wrong(**files):
        return "\n".join(release_check.wrong_with_wheel(wheel_of(tmp_path / "a.whl", **files)))

    assert wrong() == ""
    for name in ("p/lib.so", "tests/a.py"):
        assert "no source" in wrong(**{name: "x"})
    assert "names an owner" in wrong(**{"p/a.h": "// Copyright (c) 1999 Somebody Else\n"})
    assert "has no Summary" in wrong(**{"p.dist-info/METADATA": "Name: p\nVersion: 1\n"})
    assert "less than" in wrong(**{"p/big.h": "x" * release_check.LARGEST})


def test_the_page_installs_by_the_words_that_are_replaced():
    commands = [step.command for step in release_check.steps(release_check.PAGE)]
    assert release_check.INSTALLS in commands and "puffer-sdk train my_env" in commands
