"""tools/format.py: what `make lint` says of C that clang-format would change."""
from __future__ import annotations

import importlib.util
import shutil

from helpers.places import ROOT

spec = importlib.util.spec_from_file_location("format_tool", ROOT / "tools" / "format.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


def test_a_place_that_differs_is_named_and_mended(tmp_path):
    shutil.copy(ROOT / ".clang-format", tmp_path)
    good, bad = tmp_path / "good.c", tmp_path / "bad.c"
    good.write_text("int twice(int x) { return 2 * x; }\n")
    bad.write_text("// a comment\nint twice(int  x) { return 2*x; }\n")
    assert tool.differing([good, bad]) == [f"{bad}:2:14"]
    tool.write([good, bad])
    assert tool.differing([good, bad]) == []
    assert bad.read_text() == "// a comment\n" + good.read_text()


def test_every_folder_of_our_c_is_looked_at_and_no_specimen():
    found = {path.relative_to(ROOT).parts[0] for path in tool.files()}
    assert found == set(tool.FOLDERS)
    assert tool.command()[0].endswith("/clang-format")
