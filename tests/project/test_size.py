"""tools/size.py: every tracked file counts once."""
import subprocess

import size
from helpers.places import ROOT


def test_every_file_counts_once(tmp_path, monkeypatch):
    monkeypatch.setattr(size, "ROOT", tmp_path)
    for name, text in {"puffer_sdk/checking/a.py": "1\n2\n", "puffer_sdk/b.py": "1\n",
                       "docs/images/c.gif": "\0\n", "README.md": "1\n2\n3\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm a"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    want = {"puffer_sdk/checking": (1, 2, 4), "puffer_sdk": (1, 1, 2), "docs/images": (1, 0, 2),
            "at the root": (1, 3, 6)}
    assert size.sizes() == size.sizes("HEAD") == want
    assert size.table(want)[-1].split() == ["all", "4", "6", "14"]


def test_rooms_that_it_counts_are_there():
    assert [room for room in size.ROOMS if not (ROOT / room).is_dir()] == []
