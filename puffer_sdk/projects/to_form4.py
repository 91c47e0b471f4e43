"""Convert an environment of PufferLib 5.0 to the form of 4.0.  one header -> binding.c, NAME.h

    to_form4("tug")     tug/tug.h           struct Env with the arrays of 4.0, c_step; agents[]
                                            stays, and points into them once c_reset begins
                        tug/binding.c       my_init and my_log, which were puf_init and puf_log
                        tug/tug.h.orig      what tug.h was

As to_form5, it is played against the original before anything is written.
"""
from __future__ import annotations

import os
import re

from ..base import paths
from ..base.errors import UsageError
from ..base.spec import Spec
from ..env import binding
from ..env.pufferlib5 import NAMES, ROWS
from ..env.source import closing, hide
from . import ocean, other_form, upgrading

MOVED = ("puf_init", "puf_log")     # to binding.c
_OLD = {new: old for old, new in NAMES.items()}
# Calls of 5.0 alone: what a Dict of 4.0 does not have
_LOST = re.compile(r"\b(?:dict_get_str|dict_find|f32_to_bf16|bf16_to_f32|store_f32x8_as_bf16)\b")
_HOOK = re.compile(r"\bMY_VEC_[A-Z_]+\b")
_INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*"pufferenv\.h".*\n')
_GET = re.compile(r"\bdict_get\s*\((?:[^()\"]|\"[^\"]*\")*\)")


def to_form4(env: str | os.PathLike[str] | None = None) -> upgrading.Upgraded:
    """Rewrite an environment of PufferLib 5.0 in the form of 4.0.

    Raises UsageError for one that 4.0 cannot express, and where the files of an earlier upgrade
    (*.orig) are still there; BuildError where the rewritten one does not compile or does not play
    the same bytes. The folder is then unchanged.
    """
    folder = paths.find_env(env)
    spec, settings, sizes = ocean.examine(folder)
    text = paths.text(spec.header)
    _refuse(spec, text)
    header, moved = _without(_own(text) if spec.own_names else text)
    header, obs_t = _early(header) if spec.late_obs else (header, "")
    shown = dict(spec=spec, obs_t=obs_t, backend="PUF_BACKEND" in header,
                 mask=sum(sizes.act_sizes) if spec.has_mask else 0)
    header = _struct(header, binding.template("projects/form4_fields.h.jinja").render(shown))
    header = _INCLUDE.sub(
        lambda found: binding.template("projects/form4_agent.h.jinja").render(shown), header)
    header = _with_rows(header, binding.template("projects/form4_rows.h.jinja").render(shown))
    new = {spec.header.name: _renamed(header),
           "binding.c": _renamed(binding.template("projects/form4_binding.c.jinja").render(
               shown, functions=_GET.sub(lambda found: f"{found[0]}->value", moved)))}
    olds = {spec.header.name: text}
    program = folder / f"{folder.name}.c"
    if program.is_file():
        olds[program.name] = paths.text(program)
        new[program.name] = _renamed(olds[program.name])
    other_form.prove(spec, settings, new, "4.0")
    upgrading.write(folder, olds, new)
    done = upgrading.Upgraded(folder, sorted(new))
    if program.name not in olds:
        done.notes.append(f"programs of `build` need {program.name}, which 5.0 does without")
    if spec.own_names:
        done.notes.append("functions of the header's own that have 4.0's names begin with own_ now")
    if spec.steps_per_second:
        done.notes.append("PUF_STEPS_PER_SEC: in 4.0, SetTargetFPS in c_render paces the game")
    if spec.has_seats:
        done.notes.append("agents[i].policy: 4.0 does not read it; MY_USES_PERM and my_setup_perm "
                          "say who plays whom")
    return done


def _refuse(spec: Spec, text: str) -> None:
    """Raise UsageError for what PufferLib 4.0 has no place for."""
    where = spec.header
    if spec.is_cpp:
        raise UsageError("this header is C++17, and PufferLib 4.0 compiles C", where=where,
                         hint="rewrite it as C first")
    names = [field.name for field in spec.fields]
    if taken := [name for name in ROWS if names.count(name) > 1]:      # once they are an agent's
        raise UsageError(f"struct Env has a field '{taken[0]}' of its own", where=where,
                         expected="none: this is what 4.0 calls its array of all agents",
                         hint=f"rename it, or put {spec.header.name}.orig back if bind --upgrade "
                              "wrote this header")
    if found := _LOST.search(hide(text)):
        raise UsageError(f"PufferLib 4.0 has no {found[0]}", where=where,
                         hint="do without, or stay with 5.0's form")
    if found := _HOOK.search(hide(text)):
        raise UsageError(f"{found[0]} is to be rewritten by hand", where=where,
                         hint="in 4.0 it stands in binding.c, above vecenv.h, and dict_get returns "
                              "an item with a value")
    if not _INCLUDE.search(text):
        raise UsageError("pufferenv.h is included in a way that no rule rewrites", where=where,
                         expected='#include "pufferenv.h" in the header itself')


def _without(text: str) -> tuple[str, str]:
    """A header without puf_init, puf_log and calls of puf_web_vsync; and these two functions."""
    text = re.sub(r"(?m)^[ \t]*puf_web_vsync\s*\(\s*\)\s*;[ \t]*(?://.*)?\n", "", text)
    text = re.sub(r"[ \t]*\bpuf_web_vsync\s*\(\s*\)\s*;", "", text)
    moved = []
    for name in MOVED:
        start, end = _function(text, name)
        comment = re.compile(r"(?m)(?:^[ \t]*//.*\n)*\Z").search(text[:start])
        assert comment is not None      # it matches nothing, too
        moved.append(text[comment.start():end].rstrip("\n"))
        text = text[:comment.start()] + text[end:].lstrip("\n")
    return text, "\n\n".join(moved) + "\n"


def _own(text: str) -> str:
    """With the author's own c_step, which stands beside puf_step, as own_c_step."""
    return re.sub(rf"\b({'|'.join(NAMES)})\b", r"own_\1", text)


def _early(text: str) -> tuple[str, str]:
    """A header without its typedef of obs_t, which stands below pufferenv.h; and the typedef."""
    found = re.search(r"(?m)^[ \t]*typedef\s+[\w \t]+\bobs_t\s*;[ \t]*\n", hide(text))
    if not found:
        raise UsageError("obs_t is declared in a way that no rule rewrites",
                         expected='typedef float obs_t; above #include "pufferenv.h"')
    return text[:found.start()] + text[found.end():], text[found.start():found.end()].strip()


def _function(text: str, name: str) -> tuple[int, int]:
    """Where a function's definition begins, and ends."""
    hidden = hide(text)
    found = re.search(rf"(?m)^[ \t]*(?:static\s+)?(?:inline\s+)?void\s+{name}\s*\([^)]*\)\s*\{{",
                      hidden)
    if not found:
        raise UsageError(f"{name} is written in a way that no rule rewrites",
                         expected=f"void {name}(...) {{ ... }} in the header itself")
    end = closing(hidden, found.end()) + 1
    return found.start(), end + text[end:].startswith("\n")


def _struct(text: str, fields: str) -> str:
    """With the arrays of 4.0 in struct Env."""
    found = re.search(r"\bstruct\s+Env\s*\{[^\n]*\n", hide(text))
    if not found:
        raise UsageError("struct Env is written in a way that no rule rewrites",
                         expected="struct Env {")
    return text[:found.end()] + fields + text[found.end():]


def _with_rows(text: str, function: str) -> str:
    """With agents that point into the arrays, whenever puf_reset and puf_step begin."""
    for name in ("puf_reset", "puf_step"):
        start, _ = _function(text, name)
        head = re.compile(r"[^(]*\(\s*(?:Env|\w+)\s*\*\s*(\w+)\s*\)\s*\{").match(text, start)
        if not head:
            raise UsageError(f"{name} is written in a way that no rule rewrites",
                             expected=f"void {name}(Env* env) {{")
        text = f"{text[:head.end()]}\n    point_agents({head[1]});{text[head.end():]}"
    at = min(_function(text, name)[0] for name in ("puf_reset", "puf_step"))
    comment = re.compile(r"(?m)(?:^[ \t]*//.*\n)*\Z").search(text[:at])
    at = comment.start() if comment else at
    return text[:at] + function + text[at:]


def _renamed(text: str) -> str:
    """puf_step as c_step, in comments as well."""
    return re.sub(rf"\b({'|'.join(_OLD)})\b", lambda found: _OLD[found[1]], text)
