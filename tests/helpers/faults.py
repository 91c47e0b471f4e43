"""Faults that are planted in the template, for tests of `debug` and of its page."""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Fault(NamedTuple):
    """What is replaced in the header, by what; and what is then found."""

    old: str
    new: str
    code: str               # of the rule
    line: str               # in which it happens
    function: str           # of that line


STEP = "    env->tick += 1;\n"
FAULTS = {
    "my_env": Fault("    env->observations[env->target_row",
                    "    mark(env->observations, env->tick == 9 ? OBS_SIZE + 2 : 0);\n"
                    "    env->observations[env->target_row",
                    "PUF203", "board[at] = TILE_TARGET;", "mark"),
    "divides": Fault(STEP, STEP + "    env->col /= env->tick < 5;\n", "PUF202", "env->col /=",
                     "c_step"),
    "aborts": Fault(STEP, STEP + "    if (env->tick == 5) abort();\n", "PUF208", "abort();",
                    "c_step"),
    "nans": Fault("    env->terminals[0] =", "    if (env->tick == 7) env->rewards[0] /= "
                  "(float)(env->tick - 7);\n    env->terminals[0] =", "PUF312",
                  "env->terminals[0] =", "c_step"),
    "forgets": Fault("    memset(env->observations, TILE_EMPTY, (size_t)OBS_SIZE);\n", "",
                     "PUF302", "env->row = env->size / 2;", "c_reset"),
}
HELPER = ("static inline void mark(unsigned char* board, int at) {\n"
          "    board[at] = TILE_TARGET;\n}\n\n")


def plant(folder: Path, fault: Fault) -> None:
    """Change the header of a Squared, whatever it is called."""
    header = folder / f"{folder.name}.h"
    text = header.read_text()
    assert fault.old in text and STEP in text
    header.write_text(text.replace(fault.old, fault.new, 1).replace(
        "#include <stdint.h>", "#include <stdlib.h>\n#include <stdint.h>").replace(
        "static inline void observe(", HELPER + "static inline void observe("))
