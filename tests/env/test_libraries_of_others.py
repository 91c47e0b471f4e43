"""What lies in build/ is opened only if a command of this user compiled it."""
import hashlib
import os

import pytest
from helpers.short_or_long import some_or_all

from puffer_sdk.base import trust
from puffer_sdk.env import build
from puffer_sdk.programs import targets
from puffer_sdk.toolchain import libraries

THEIRS = b"\x7fELF of somebody else"


@pytest.fixture
def theirs(probe, monkeypatch):
    """An environment that somebody else has built: its own key, another secret."""
    folder = probe()
    with monkeypatch.context() as other:
        other.setattr(trust, "_secret", lambda path: b"another user's")
        library = build.build(folder, opt="-O0").library
        assert build.build(folder, opt="-O0").cached
    return library


def check_compiled_anew(library):
    built = build.build(library.parents[1], opt="-O0")
    assert built.library == library and not built.cached
    assert library.read_bytes().startswith(b"\x7fELF") and library.read_bytes() != THEIRS
    assert build.build(library.parents[1], opt="-O0").cached


@pytest.mark.parametrize("mac", some_or_all(
    ["theirs", "sha256", "empty", "none", "endless", "folder", "pipe"], 0, 3))
def test_a_library_of_somebody_else_is_compiled_anew(theirs, mac):
    note, digest = libraries.mac_file(theirs), hashlib.sha256(THEIRS).hexdigest()
    theirs.write_bytes(THEIRS)
    theirs.with_suffix(".sha256").write_text(digest)            # what earlier versions believed
    if mac == "sha256":
        note.write_text(digest)
    elif mac == "empty":
        note.write_text("")
    elif mac != "theirs":
        note.unlink()
    if mac == "endless":
        note.symlink_to("/dev/zero")
    elif mac == "folder":
        note.mkdir()
    elif mac == "pipe":
        os.mkfifo(note)
    if mac in ("endless", "folder", "pipe"):
        assert not libraries.is_intact(theirs)
    else:
        check_compiled_anew(theirs)


def test_one_under_another_name_is_compiled_anew(theirs):
    """A library of this user's, with its MAC, does not pass for another one."""
    check_compiled_anew(theirs)
    old, note = theirs.read_bytes(), libraries.mac_file(theirs).read_bytes()
    header = theirs.parents[1] / "probe.h"
    header.write_text(header.read_text().replace("env->tick++;", "env->tick += 1 + 0;"))
    library = build.build(theirs.parents[1], opt="-O0").library
    assert library != theirs
    library.write_bytes(old)
    libraries.mac_file(library).write_bytes(note)
    check_compiled_anew(library)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A plan whose compiler writes a fixed text, and how often it did."""
    plan = targets._Plan(None, "fast", tmp_path / "game", tmp_path / "game.c", ["cc"], [], [], [])
    plan.product.write_bytes(b"ours")
    return plan


def test_a_program_of_somebody_else_is_compiled_anew(program, tmp_path, monkeypatch):
    record = tmp_path / ".game-fast.mac"
    record.write_text(targets._mac(program, "key"))
    assert targets._is_done(record, program, "key")
    assert not targets._is_done(record, program, "another key")
    program.product.write_bytes(THEIRS)
    assert not targets._is_done(record, program, "key")
    record.write_text(targets._mac(program, "key"))
    monkeypatch.setattr(trust, "_secret", lambda path: b"another user's")
    assert not targets._is_done(record, program, "key")
