"""`puffer-sdk new` without a name: a list and pictures of text in a terminal, else an error."""
from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
import time

import click
import pytest
from helpers.places import ROOT

from puffer_sdk.cli import choosing
from puffer_sdk.projects.env_names import TEMPLATES

NEW = [sys.executable, "-m", "puffer_sdk", "new"]
NAME = b"[my_env]"
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}


def answer(keys, folder, arguments=(), term="xterm"):
    """What a terminal shows and the exit status, with each key sent once its question stands."""
    host, terminal = pty.openpty()
    child = subprocess.Popen([*NEW, *arguments], cwd=folder, stdin=terminal, stdout=terminal,
                             stderr=terminal, env={**ENV, "TERM": term}, start_new_session=True)
    os.close(terminal)
    shown = b""
    for question, key in keys:
        at = len(shown)
        while question not in shown[at:]:
            shown += os.read(host, 4096)
        while bool(termios.tcgetattr(host)[3] & termios.ICANON) != (question == NAME):
            time.sleep(0.01)            # keys that come before it reads them are thrown away
        os.write(host, key)
    try:
        while chunk := os.read(host, 4096):
            shown += chunk
    except OSError:                     # how Linux ends a terminal
        pass
    os.close(host)
    return shown.decode(), child.wait()


def test_arrows_choose_and_enter_makes(tmp_path):
    shown, status = answer([(b"Esc leaves", b"\x1b[B"), (b"> target", b"\x1b[B"),
                            (b"> duel", b"\r"), (NAME, b"my_game\r")], tmp_path)
    assert status == 0 and "made my_game from duel" in shown
    assert "four in a row" in (tmp_path / "my_game" / "my_game.h").read_text()


def test_a_given_template_and_a_plain_terminal_are_not_asked(tmp_path):
    for number, (arguments, term) in enumerate(((["-t", "target"], "xterm"), ([], "dumb"))):
        shown, status = answer([(NAME, b"one%d\r" % number)], tmp_path, arguments, term)
        assert status == 0 and "which template" not in shown
        assert f"made one{number} from {'target' if arguments else 'squared'}" in shown


def test_esc_leaves_without_a_folder(tmp_path):
    shown, status = answer([(b"Esc leaves", b"\x1b")], tmp_path)
    assert status != 0 and not any(tmp_path.iterdir())
    assert "Traceback" not in shown


def test_no_terminal_is_an_error(tmp_path):
    done = subprocess.run(NEW, cwd=tmp_path, capture_output=True, text=True, env=ENV,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "puffer-sdk new my_env" in done.stderr


def test_keys_go_round():
    count = len(TEMPLATES)
    assert choosing.moved("\x1b[A", 0, count) == count - 1
    assert choosing.moved("j", count - 1, count) == 0
    assert choosing.moved("2", 0, count) == 1 and choosing.moved("9", 0, count) == 0


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_has_a_picture(name):
    shown = choosing.frame(TEMPLATES, list(TEMPLATES).index(name))
    assert any(line.startswith(f"> {name}") for line in shown)
    assert len(choosing.PICTURES[name].split("\n")) == 6 and max(map(len, shown)) < 80


def test_ctrl_c_leaves(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt
    monkeypatch.setattr(click, "getchar", interrupted)
    with pytest.raises(click.Abort):
        choosing.choose_template()
