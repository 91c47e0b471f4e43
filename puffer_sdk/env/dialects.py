"""PufferLib's other interfaces, by their signs.  an author's files -> what they are written for

An environment that we can read is never refused for a sign: only where it has problems does this
say, before all others, what it is and what to do.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import BuildError
from .source import hide


@dataclass(frozen=True)
class Dialect:
    """sign     (pattern) in the header or the binding
    unless      (pattern) which is not there
    """

    message: str
    sign: str
    hint: str
    unless: str = r"(?!)"


UPGRADE = "puffer-sdk bind ENV --upgrade rewrites it"
DIALECTS = (
    Dialect("this is an environment for PufferLib 5.0 (pufferenv.h, puf_step)",
            r'#\s*include\s*"pufferenv\.h"|\bpuf_(?:step|reset|init)\s*\(',
            "puffer-sdk reads the Ocean dialect of 4.0: give the struct its arrays as pointers "
            "(observations, actions, rewards, terminals), and call the functions c_reset, c_step, "
            "c_render and c_close"),
    Dialect("this binding is for PufferLib 3 or older (Python.h)",
            r"\bPyObject\b|#\s*include\s*<Python\.h>",
            f"{UPGRADE}; or delete it, and state OBS_SIZE and ACT_SIZES in the header"),
    Dialect("this binding is for an early PufferLib 4.0 (OBS_TYPE, ACT_TYPE, env_binding.h)",
            r'#\s*define\s+(?:OBS|ACT)_TYPE\b|#\s*include\s*"env_binding\.h"',
            f"{UPGRADE}: #define OBS_TENSOR_T FloatTensor (or ByteTensor) instead of OBS_TYPE, no "
            'ACT_TYPE, #include "vecenv.h"; in the header, float* actions and float* terminals',
            unless=r"#\s*define\s+OBS_TENSOR_T\b"),
)
# PufferLib's networks and layers that puffernet_layers.h has
LAYERS = re.compile(
    r"\bmake_(?:affine|linear|relu|gelu|layernorm|embedding|one_hot|cat_dim1|max_dim1|conv2d|conv3d|"
    r"lstm|mingru|multidiscrete|default|linearlstm|convlstm)\s*\(")
_COUNTED = re.compile(r"\bload_weights\s*\([^;,]*,")         # as PufferLib 3 has it
SELF_PLAY = {
    "MY_USES_PERM": "my_setup_perm", "MY_USES_TAGS": "the fields tag and boundary_reached"}


def recognise(texts: dict[str, str]) -> BuildError | None:
    """texts: of the author's files, by name. What they are written for, if it is not 4.0."""
    whole = "\n".join(texts.values())
    for dialect in DIALECTS:
        if re.search(dialect.unless, whole):
            continue
        for name, text in texts.items():
            found = re.search(dialect.sign, text)
            if found:
                line = text.count("\n", 0, found.start()) + 1
                return BuildError(dialect.message, where=f"{name}:{line}", hint=dialect.hint)
    return None


def layer_flags(folder: Path) -> list[str]:
    """What makes puffernet.h define PufferLib's other networks, where a demo calls them, as
    PufferLib 3 or 4 has them; functions of these names that the author wrote stay the author's."""
    texts = [hide(path.read_text(encoding="utf-8", errors="replace"))
             for path in sorted(folder.glob("*.[ch]"))]
    called = {found[0] for text in texts for found in LAYERS.finditer(text)}
    own = {found[0] for text in texts for found in LAYERS.finditer(text)
           if re.match(r"[^;{]*\)\s*\{", text[found.end():])}
    if own or not called:
        return []
    return ["-DPUFFERNET_LAYERS" + "=3" * any(map(_COUNTED.search, texts))]


def self_play(name: str) -> str:
    """What to do about a macro of PufferLib's self-play pool."""
    return (f"it belongs to PufferLib's self-play, which is not there yet: without it and "
            f"{SELF_PLAY[name]} the environment trains all its agents with one policy")
