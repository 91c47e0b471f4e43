"""Copies of the specimen `ladder`, which has an action mask."""
from __future__ import annotations

import shutil
from pathlib import Path

from helpers.places import SPECIMENS

LADDER = SPECIMENS / "correct" / "ladder"
FIELD = "    unsigned char* action_mask;"
IN_SIGHT = [                # the observation says what is legal, and there is no field
    ("OBS_RUNG, OBS_BELL, OBS_COUNT };", "OBS_RUNG, OBS_BELL, OBS_LEGAL, OBS_COUNT = 5 };"),
    ("#define ACT_SIZES", "#define ACTION_MASK_AT OBS_LEGAL\n#define ACT_SIZES"), (FIELD, ""),
    ("env->action_mask[ACT_UP]", "env->observations[OBS_LEGAL + ACT_UP]"),
    ("env->action_mask[ACT_DOWN]", "env->observations[OBS_LEGAL + ACT_DOWN]"),
    ("env->action_mask[ACT_RING]", "env->observations[OBS_LEGAL + ACT_RING]")]


def copy_ladder(folder: Path, *changes: tuple[str, str]) -> Path:
    """The specimen in this folder, with these texts of its header replaced."""
    shutil.copytree(LADDER, folder, dirs_exist_ok=True,     # a library that is open stays
                    ignore=shutil.ignore_patterns("build"))
    text = (folder / "ladder.h").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "ladder.h").write_text(text)
    return folder
