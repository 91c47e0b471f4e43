"""PufferLib's other interfaces, by their signs.  an author's files -> what they are written for

A sign alone never refuses an environment that we can read. Where it has problems, the first of them
says what it is written for and, if known, which lines to change.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..base import paths, ui
from ..base.errors import DialectError, PufferError
from .source import hide

SHOWN = 12                      # lines to change that are listed
Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Dialect:
    """sign     (pattern) in the header or the binding
    unless      (pattern) which is not there
    changes     (pattern of what stands there, what to write in its place)
    left        the hint where `bind --upgrade` has rewritten what it can
    """

    message: str
    sign: str
    hint: str
    changes: Changes
    unless: str = r"(?!)"
    left: str = ""


ARRAYS = ("actions", "rewards", "terminals")            # once of other types than float
_OUT = "leave it out"
_FLOATS: Changes = (
    (rf"\b(?:unsigned\s+char|char|int|double)\s*\*\s*({'|'.join(ARRAYS)})\s*;", r"float* \1;"),)
_INCLUDE: Changes = ((r'#\s*include\s*"(?:\.\./)*env_binding\.h"', '#include "vecenv.h"'),)
CALLS_LEFT = "rewrite what still calls Python: use dict_get for settings, and read files in C"
DIALECTS = (
    Dialect("this is an environment for PufferLib 5.0 (puf_step), without its pufferenv.h",
            r"\bpuf_(?:step|reset|init)\s*\(",
            'write: typedef float obs_t;  and below it: #include "pufferenv.h"', (),
            unless=paths.FORM5.pattern),
    Dialect("this binding is for PufferLib 3 or older (Python.h)",
            r"\bPyObject\b|#\s*include\s*<Python\.h>",
            "{upgrade} writes these lines, and #define OBS_SIZE, ACT_SIZES and OBS_TENSOR_T; or "
            "delete the binding, and state OBS_SIZE and ACT_SIZES in the header",
            ((r"#\s*include\s*<Python\.h>", _OUT), *_INCLUDE,
             (r"\bint\s+my_init\s*\(", "void my_init(Env* env, Dict* kwargs)"),
             (r"\bint\s+my_log\s*\(", "void my_log(Log* log, Dict* out)"),
             (r"\bunpack\s*\(", 'dict_get(kwargs, "KEY")->value'),
             (r"\bassign_to_dict\s*\(", 'dict_set(out, "KEY", VALUE)'), *_FLOATS), left=CALLS_LEFT),
    Dialect("this binding is for an early PufferLib 4.0 (OBS_TYPE, ACT_TYPE, env_binding.h)",
            r'#\s*define\s+(?:OBS|ACT)_TYPE\b|#\s*include\s*"(?:\.\./)*env_binding\.h"',
            "{upgrade} writes these lines",
            ((r"#\s*define\s+OBS_TYPE\b", "#define OBS_TENSOR_T FloatTensor (or ByteTensor)"),
             (r"#\s*define\s+ACT_TYPE\b", _OUT), *_INCLUDE, *_FLOATS),
            unless=r"#\s*define\s+OBS_TENSOR_T\b",
            left="make observations float*, unsigned char* or int*, and define OBS_TENSOR_T"),
)
# Rules whose findings an environment for another interface cannot but have
_FOLLOWING = {"PUF101", "PUF102", "PUF103", "PUF112"}
# PufferLib's networks and layers that puffernet_layers.h has
LAYERS = re.compile(
    r"\bmake_(?:affine|linear|relu|gelu|layernorm|embedding|one_hot|cat_dim1|max_dim1|conv2d|conv3d|"
    r"lstm|mingru|multidiscrete|default|linearlstm|convlstm)\s*\(")
_COUNTED = re.compile(r"\bload_weights\s*\([^;,]*,")         # as PufferLib 3 has it


def upgrade(name: str) -> str:
    """The command that brings an older environment forward."""
    return f"puffer-sdk bind {name} --upgrade"


def recognise(name: str, texts: dict[str, str], *, upgraded: bool = False
              ) -> DialectError | None:
    """What an environment is written for, if that is not 4.0. texts: of its files, by name.

    upgraded    `bind --upgrade` has done what it can; the rest is left to the author
    """
    texts = {file: hide(text, strings=False) for file, text in texts.items()}
    whole = "\n".join(texts.values())
    for dialect in DIALECTS:
        if re.search(dialect.unless, whole):
            continue
        for file, text in texts.items():
            found = re.search(dialect.sign, text)
            if found:
                line = text.count("\n", 0, found.start()) + 1
                error = DialectError(dialect.message, where=f"{file}:{line}",
                                     detail=_to_change(texts, dialect.changes),
                                     hint=dialect.left if upgraded else
                                     dialect.hint.format(upgrade=upgrade(name)))
                error.upgrade = upgrade(name) if dialect.changes and not upgraded else None
                return error
    return None


def _to_change(texts: dict[str, str], changes: Changes) -> str | None:
    """'binding.c:3: #include "env_binding.h"  ->  #include "vecenv.h"', a line each."""
    lines = []
    for file, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, new in changes:
                if found := re.search(pattern, line):
                    lines.append(f"{file}:{number}: {line.strip()[:80]}  ->  {found.expand(new)}")
                    break
    return "\n".join(ui.first(lines, SHOWN)) or None


def follows(problem: PufferError) -> bool:
    """Whether the files of another interface cannot but have this problem."""
    return problem.code in _FOLLOWING or (
        problem.code is None and not isinstance(problem, DialectError))


def layer_flags(folder: Path) -> list[str]:
    """What makes puffernet.h define PufferLib's other networks, where a demo calls them, as
    PufferLib 3 or 4 has them; functions of these names that the author wrote stay the author's."""
    texts = [hide(paths.text(path)) for path in paths.c_files(folder)]
    called = {found[0] for text in texts for found in LAYERS.finditer(text)}
    own = {found[0] for text in texts for found in LAYERS.finditer(text)
           if re.match(r"[^;{]*\)\s*\{", text[found.end():])}
    if own or not called:
        return []
    return ["-DPUFFERNET_LAYERS" + "=3" * any(map(_COUNTED.search, texts))]
