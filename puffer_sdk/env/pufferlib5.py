"""PufferLib 5.0's form of an environment.  its C -> what the form adds to a Spec

    typedef float obs_t;            // or unsigned char; above the include, or below it
    #include "pufferenv.h"          // ours: puf_step is c_step to all that reads and runs it
    struct Env { Log log; Agent agents[2]; int num_agents, tag, boundary_reached; ... };

The header is its own binding: what PufferLib would compile and run, is compiled and run.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import paths
from ..base.spec import AGENTS, CField

if TYPE_CHECKING:
    from clang.cindex import Cursor, TranslationUnit

LATE, OWN, CPP = "-DPUFFER_LATE_OBS", "-DPUFFER_OWN_NAMES", ("-xc++", "-std=gnu++17")
ROWS = ("observations", "actions", "rewards", "terminals", "action_mask")
TRAINERS = ("tag", "boundary_reached")      # fields that PufferLib's trainer writes
DEFAULTS = ("dr", "num_agents", "num_bots")     # of [env], which an ini need not give
# names of 4.0, by which the contract is stated -> those of 5.0
NAMES = {"c_reset": "puf_reset", "c_step": "puf_step", "c_render": "puf_render",
         "c_close": "puf_close", "my_init": "puf_init", "my_log": "puf_log"}
_NAMED = re.compile(rf"\b({'|'.join(NAMES)})\b")
_ROW = re.compile(r"\benv->(rewards|terminals)\[(\w)\]")       # of agent i
_BLOCK = re.compile(r"\benv->(observations|action_mask) \+ (\w) \* \w+")
_OWN = "puffer_own_"        # what a c_step beside puf_step is called: pufferenv.h
_OTHER_POLICY = re.compile(r"\bagents\s*\[[^]]*\]\s*\.\s*policy\s*=(?!=)(?!\s*0\s*;)")
_NO_MASK = re.compile(r"\baction_mask\s*=\s*(?:NULL|nullptr|0)\s*;"
                      r"|\bchar\s*\*\s*action_mask\s*;")      # a field of the author's


def named(text: str) -> str:
    """A text about functions and rows of 4.0, with their names of 5.0."""
    text = _BLOCK.sub(r"env->agents[\2].\1", _ROW.sub(r"env->agents[\2].\1[0]", text))
    return _NAMED.sub(lambda found: NAMES[found[1]], text).replace(_OWN, "")


def has_seats(text: str) -> bool:
    """Whether some agent gets another policy than 0."""
    return bool(_OTHER_POLICY.search(text))


def as_it_compiles(unit: TranslationUnit, main: str, flags: list[str],
                   parsed: Callable[[list[str]], TranslationUnit]
                   ) -> tuple[TranslationUnit, list[str]]:
    """A header that was read as C, and its flags: read again where it has a c_step of its own or
    declares obs_t below the include, and as C++17 where that has no errors and C has some.

    parsed      reads it with other flags
    """
    if _has_own_names(unit):
        flags = [*flags, OWN]
        unit = parsed(flags)
    unit, flags, wrong = _with_obs(unit, main, flags, parsed)
    if wrong:
        as_cpp = cpp_flags(flags)
        other, as_cpp, wrong = _with_obs(parsed(as_cpp), main, as_cpp, parsed)
        if not wrong:
            return other, as_cpp
    return unit, flags


def _with_obs(unit: TranslationUnit, main: str, flags: list[str],
              parsed: Callable[[list[str]], TranslationUnit]
              ) -> tuple[TranslationUnit, list[str], list[str]]:
    """The unit, its flags, and what the compiler's front end refuses but in lines of `main`."""
    wrong = _errors(unit, main)
    if LATE not in flags and any("unknown type name 'obs_t'" in each for each in wrong):
        flags = [*flags, LATE]
        unit = parsed(flags)
        wrong = _errors(unit, main)
    return unit, flags, wrong


def _has_own_names(unit: TranslationUnit) -> bool:
    """Whether any of the author's files names a c_step or its kin, which are ours elsewhere."""
    files = {Path(each.include.name) for each in unit.get_includes()}
    return any(_NAMED.search(paths.text(file)) for file in files
               if paths.include_dir() not in file.parents)


def _errors(unit: TranslationUnit, main: str) -> list[str]:
    return [found.spelling for found in unit.diagnostics if found.severity >= found.Error
            and not (found.location.file and found.location.file.name == main)]


def cpp_flags(flags: Iterable[str]) -> list[str]:
    """Flags for reading C++ in place of C; LATE is asked anew."""
    from ..toolchain import compilers

    builtin = compilers.include_dirs(compilers.find_compiler(), "c++")
    kept = [flag for flag in flags if flag not in (LATE, "-xc", "-std=gnu11")
            and not flag.startswith("-isystem")]
    return [*CPP, *kept, *(f"-isystem{folder}" for folder in builtin)]


def row_fields(agent: Cursor | None, obs_type: str) -> tuple[CField, ...]:
    """The pointers that each agent has, as fields of an env: all rows of an env lie together."""
    if agent is None:
        return ()
    return tuple(CField(each.spelling, f"{obs_type} *" if each.spelling == ROWS[0] else
                        each.type.get_canonical().spelling, 0)
                 for each in agent.type.get_fields() if each.spelling in ROWS)


def room(fields: Iterable[CField]) -> int | None:
    """N of `Agent agents[N]`; None where there is no such field."""
    return next((field.length for field in fields if field.name == AGENTS
                 and field.type.startswith(("Agent[", "struct Agent["))), None)


def writes_masks(texts: Iterable[str]) -> bool:
    """Whether any of these texts does more with a mask than to leave it NULL."""
    return any(re.search(r"\baction_mask\b", _NO_MASK.sub("", text)) for text in texts)
