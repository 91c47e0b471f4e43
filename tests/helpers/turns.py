"""A game of turns in C: the specimen `duel`, in which one moves and the other waits."""
from __future__ import annotations

from pathlib import Path

from helpers.places import SPECIMENS

DUEL = SPECIMENS / "duel" / "duel.h"
WHOSE = "env->tick % 2 == i"
TURNS = (("    float* terminals;\n", "    float* terminals;\n    unsigned char* action_mask;\n"),
         ("        o[0] =", f"        memset(env->action_mask + i * 11, {WHOSE}, 11);\n"
                           "        o[0] ="),
         ("for (int i = 0; i < 2; i++) env->at[i] =",
          f"for (int i = 0; i < 2; i++) if ({WHOSE}) env->at[i] ="),
         ("hit[i] = (", f"hit[i] = {WHOSE} && ("))


def write_turns(folder: Path, *changes: tuple[str, str]) -> Path:
    """The environment in this folder, which is made, with these texts of its header replaced."""
    text = DUEL.read_text()
    for old, new in (*TURNS, *changes):
        assert old in text, old
        text = text.replace(old, new)
    folder.mkdir()
    (folder / f"{folder.name}.h").write_text(text)
    (folder / f"{folder.name}.ini").write_text("[env]\n")
    return folder
