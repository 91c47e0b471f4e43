"""errors.py: what a person reads of an error is short, whatever was given."""
from __future__ import annotations

import copy
import pickle

import pytest

from puffer_sdk.base.errors import BadNumber, Interrupted, PufferError, brief
from puffer_sdk.cli import main

SENTENCE = "the board is full of tiles. "


@pytest.mark.parametrize("value", ["9" * 3_000_000, "9 " * 1_500_000, "9\n" * 1_500_000])
@pytest.mark.parametrize("form", ["{}", "gamma cannot be '{}'", "'--budget': '{}' is no number"])
def test_a_hundred_characters_of_a_long_value_are_shown(value, form):
    said = brief(form.format(value))
    assert len(said) < 200 and "99" in said.replace(" ", "").replace("\n", "")
    assert "characters)" in said
    error = PufferError(form.format(value), where=value, expected="a number",
                        actual=form.format(value), hint=value)
    assert len(str(error)) < 2000 and str(error).count("characters)") == 4


def test_what_stands_around_a_long_value_stays():
    said = brief(f"gamma cannot be '{'9 ' * 2000}', said the ini")
    assert said == f"gamma cannot be '{'9 ' * 49}9... (4,002 characters), said the ini"


def test_texts_of_usual_lengths_are_whole():
    assert brief(SENTENCE * 30) == SENTENCE * 30
    names = ", ".join(f"environment_{number}" for number in range(40))
    assert PufferError("none", expected=names).expected == names


def test_what_a_compiler_said_is_whole():
    said = "\n".join([f"game.h:{line}: error: no member named 'x'" for line in range(3000)]
                     + ["cc " + "-Ione/folder " * 300])
    assert PufferError("the C compiler refuses this", detail=said).detail == said
    assert len(PufferError("no", detail="9 " * 1_500_000).detail) < 200


def test_an_option_of_megabytes(capsys):
    assert main(["check", ".", "--budget", "9 " * 60_000]) == 2
    said = capsys.readouterr().err
    assert "--budget" in said and len(said) < 400


def test_a_copy_has_what_its_class_adds():
    stopped = copy.copy(Interrupted("interrupted", status=143, hint="start again"))
    assert stopped.exit_status == 143 and stopped.hint == "start again"
    bad = pickle.loads(pickle.dumps(BadNumber("not finite", value=2.0, row=3, where="toy.h")))
    assert (bad.value, bad.row, bad.where, bad.message) == (2.0, 3, "toy.h", "not finite")
