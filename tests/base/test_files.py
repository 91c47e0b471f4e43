"""Files that are written whole or not at all."""
from __future__ import annotations

import os

import pytest

from puffer_sdk.base import drafts, files
from puffer_sdk.base.errors import RunError


def names(folder):
    return sorted(item.name for item in folder.iterdir())


def test_a_text_and_bytes_take_the_place_of_what_was_there(tmp_path):
    files.write(tmp_path / "a", "old")
    files.write(tmp_path / "a", b"new\xff", durable=True)
    assert (tmp_path / "a").read_bytes() == b"new\xff" and names(tmp_path) == ["a"]


def test_permissions_follow_the_umask_or_the_old_file(tmp_path):
    before = os.umask(0o027)
    try:
        files.write(tmp_path / "a", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    (tmp_path / "a").chmod(0o604)
    os.replace(files.beside(tmp_path / "a", b"more"), tmp_path / "a")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o604


def test_two_writers_of_one_process_have_two_temporary_files(tmp_path):
    with files.replacing(tmp_path / "a") as first, files.replacing(tmp_path / "a") as second:
        assert first != second
        first.write_text("1")
        second.write_text("2")
    assert (tmp_path / "a").read_text() == "1" and names(tmp_path) == ["a"]


def test_an_unchanged_text_keeps_its_time_stamp(tmp_path):
    path = files.write_if_changed(tmp_path / "new" / "a.h", "text")
    os.utime(path, (0, 0))
    assert files.write_if_changed(path, "text").stat().st_mtime == 0
    assert files.write_if_changed(path, "more").stat().st_mtime > 0


def test_a_folder_that_is_a_file_is_a_run_error(tmp_path):
    (tmp_path / "file").write_text("")
    for write in (lambda path: files.save(path, "text", what="the report"),
                  lambda path: files.write_if_changed(path, "text")):
        with pytest.raises(RunError, match="cannot (save the report|write a)") as caught:
            write(tmp_path / "file" / "a")
        assert caught.value.detail


def test_a_draft_that_fails_leaves_the_old_file(tmp_path):
    (tmp_path / "a.gif").write_text("old")
    draft = drafts.Draft(tmp_path / "a.gif", what="the GIF")
    with pytest.raises(RunError, match="cannot write the GIF"), draft.errors():
        draft.file.write(b"half")
        raise OSError(28, "No space left on device")
    assert (tmp_path / "a.gif").read_text() == "old" and names(tmp_path) == ["a.gif"]


@pytest.mark.parametrize("mode", ["wb", "ab", "rb+", "ab+"])
def test_a_file_with_another_name_is_not_changed_in_place(tmp_path, mode):
    """A hard link: the other name may lie anywhere."""
    (tmp_path / "theirs").write_text("theirs")
    os.link(tmp_path / "theirs", tmp_path / "ours")
    with pytest.raises(files.Refused, match="another name"):
        files.open(tmp_path / "ours", mode)
    assert files.read(tmp_path / "ours") == b"theirs"
    files.write(tmp_path / "ours", "new")
    assert (tmp_path / "theirs").read_text() == "theirs" and files.read(tmp_path / "ours") == b"new"
    files.open(tmp_path / "ours", mode).close()


def test_links_in_a_circle_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    assert files.typed(tmp_path / "circle") == tmp_path / "circle"
    with pytest.raises(files.Refused):
        files.read(files.typed(tmp_path / "circle"))
