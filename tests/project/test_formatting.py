"""tools/formatting.py: what `make lint` says of C that clang-format would change."""
from __future__ import annotations

import shutil

import formatting
import pytest
from helpers.places import ROOT


def test_a_place_that_differs_is_named_and_mended(tmp_path):
    shutil.copy(ROOT / ".clang-format", tmp_path)
    good, bad = tmp_path / "good.c", tmp_path / "bad.c"
    good.write_text("int twice(int x) { return 2 * x; }\n")
    bad.write_text("// a comment\nint twice(int  x) { return 2*x; }\n")
    assert formatting.differing([good, bad]) == [f"{bad}:2:14"]
    formatting.write([good, bad])
    assert formatting.differing([good, bad]) == []
    assert bad.read_text() == "// a comment\n" + good.read_text()


def test_every_folder_of_our_c_is_looked_at_and_no_specimen():
    found = {path.relative_to(ROOT).parts[0] for path in formatting.files()}
    assert found == set(formatting.FOLDERS)
    assert formatting.command()[0].endswith("/clang-format")


def test_a_style_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / ".clang-format").write_text("BasedOnStyle: Nobody\n")
    source = tmp_path / "a.c"
    source.write_text("int  x;\n")
    with pytest.raises(SystemExit, match="Nobody"):
        formatting.differing([source])
