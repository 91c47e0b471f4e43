"""Convert an environment of PufferLib 4.0 to the form of 5.0.  binding.c, NAME.h -> one header

    to_form5("snake")   snake/snake.h       obs_t, struct Env, Agent agents[1], puf_step; at its end
                                            what binding.c said: puf_init, puf_log, the sizes
                        snake/*.orig        what snake.h, binding.c and snake.c were

Rows of several agents stay in one block of the env, whatever the code does with it: puf_step
copies actions into it, and what was written out of it. It is a rewriting of text, so it is played
against the original before anything is written: other bytes, or a header that does not compile, and
the environment stays as it was.
"""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ..base import paths
from ..base.errors import UsageError
from ..base.spec import AGENTS, Spec
from ..env import binding, job
from ..env.pufferlib5 import NAMES, ROWS
from ..env.source import closing, hide
from . import ocean, other_form, upgrading

OBS_T = {"f32": "float", "u8": "unsigned char"}
NEEDED = {"num_agents": "int num_agents;", "rng": "unsigned int rng;",
          "tag": "int tag;                    // of PufferLib's trainer",
          "boundary_reached": "int boundary_reached;       // the same"}
# Of a binding: what 5.0 has no place for, and what it states elsewhere
_HOOK = re.compile(r"\bMY_(?!ACTION_MASK\b)[A-Z_]+\b")
_STATED = (r'(?m)^[ \t]*#[ \t]*(?:include[ \t]*"(?:[^"]*/)?(?:vecenv\.h|HEADER)"'
           r"|define[ \t]+(?:Env|OBS_TENSOR_T)\b.*)\n?")


def to_form5(env: str | os.PathLike[str] | None = None) -> upgrading.Upgraded:
    """Rewrite an environment of PufferLib 4.0 in the form of 5.0.

    Raises UsageError for one that 5.0 cannot express or that needs a hand, and where the files of
    an earlier upgrade (*.orig) are still there; BuildError where the rewritten one does not compile
    or does not play the same bytes. The folder is then unchanged.
    """
    folder = paths.find_env(env)
    if paths.is_form5(paths.header_of(folder)):
        raise UsageError(f"{folder.name} has PufferLib 5.0's form already",
                         where=paths.header_of(folder))
    spec, settings, sizes = ocean.examine(folder)
    hand = folder / "binding.c"
    bound = paths.text(hand) if hand.is_file() else ocean.render(spec, settings.env, sizes)
    agents = job.count_agents(folder)
    _refuse(spec, bound)
    done = upgrading.Upgraded(folder)
    name, text, program = spec.header.name, paths.text(spec.header), folder / f"{folder.name}.c"
    keys = ocean.function_text(paths.text(program), "c_keys") if program.is_file() else None
    taken = _taken(text, spec)
    text, bound = _renamed(text, taken), _renamed(bound, taken)
    keys = keys and _renamed(keys, taken)
    block = _block(spec, sizes, agents) if agents > 1 else []
    new = _top(_struct(text, spec, agents, block), OBS_T[spec.obs_dtype])
    new = re.sub(r"\bEndDrawing\s*\(\s*\)\s*;", "EndDrawing();\n    puf_web_vsync();", new)
    new = "\n".join([new.rstrip("\n"), "", _binding(bound, spec)])
    if block:
        new = _named(_inner(_masked(new) if spec.has_mask else new)) + _front(spec, sizes) \
            + (_rows(f"\n{keys}\n", spec.struct) if keys else "")
    else:
        new = _rows(_named(new + (f"\n{keys}\n" if keys else "")), spec.struct)
    other_form.prove(spec, settings, {name: new}, "5.0", gone=("binding.c", program.name))
    olds = {name: paths.text(spec.header)} | {
        path.name: paths.text(path) for path in (hand, program) if path.is_file()}
    upgrading.write(folder, olds, {name: new}, gone=[file for file in olds if file != name])
    done.changed = [name]
    if hand.name in olds:
        done.notes.append(f"binding.c: what it said is in {name} now")
    done.notes += [f"{old} is {new} now: 5.0 has an {old} of its own"
                   for old, new in taken.items()]
    if program.name in olds:
        done.notes.append(f"{program.name}: build generates a program in its place"
                          + "; c_keys is in the header now" * bool(keys))
    if spec.obs_size and spec.obs_count is None:
        done.notes.append(f"OBS_SIZE is {sizes.obs_size} from now on: settings that would change "
                          "it are refused")
    if block:
        done.notes.append(f"rows of {agents} agents lie in one block of the env, from which "
                          "puf_step copies; more agents are refused")
    return done


def _refuse(spec: Spec, bound: str) -> None:
    """Raise UsageError for what PufferLib 5.0 has no place for, or what no rule can rewrite."""
    where = spec.header
    for has, what in ((spec.has_truncations, "truncations"), (spec.comes_and_goes, "agents that "
                      "come and go"), (spec.mask_at, "a mask within observations")):
        if has:
            raise UsageError(f"PufferLib 5.0 has no {what}", where=where,
                             hint="do without, or stay with 4.0's form")
    if spec.obs_dtype not in OBS_T or spec.is_narrow:
        raise UsageError("obs_t of PufferLib 5.0 is another type", where=where,
                         expected=" or ".join(OBS_T.values()), actual=spec.obs_tensor)
    if hook := _HOOK.search(hide(bound)):
        raise UsageError(f"{hook[0]} is to be rewritten by hand", where=spec.binding or where,
                         hint="PufferLib 5.0 makes each environment with puf_init")


def _taken(text: str, spec: Spec) -> dict[str, str]:
    """Names of the author's that 5.0 has for itself -> others."""
    taken = {}
    if re.search(r"\bstruct\s+Agent\b|\}\s*Agent\s*;", hide(text)):
        taken["Agent"] = f"{spec.struct}Agent"
    if any(field.name == AGENTS for field in spec.fields):
        taken[AGENTS] = f"own_{AGENTS}"
    return taken


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """With other names in the code, not in comments and strings."""
    if not names:
        return text
    found = re.compile(rf"\b(?:{'|'.join(names)})\b").finditer(hide(text))
    for each in reversed(list(found)):
        text = text[:each.start()] + names[each[0]] + text[each.end():]
    return text


def _struct(text: str, spec: Spec, agents: int, block: list[str]) -> str:
    """The env struct as `struct Env {...};` with 5.0's fields, and Log as `struct Log {...};`

    block       fields that hold the rows of several agents
    """
    text = _tagged(text, "Log", "Log", "", spec.header)
    text, struct = _aliased(text, spec.struct)
    text = re.sub(rf"\btypedef\s+struct\s+{struct}\s+{struct}\s*;",
                  f"typedef Env {struct};" if struct != "Env" else "", text)
    declared = struct != spec.struct or struct == "Env" or f"typedef Env {struct};" in text
    text = _tagged(text, struct, "Env", "" if declared else f"\ntypedef Env {struct};", spec.header)
    text = re.sub(rf"\bstruct\s+{struct}\b", "struct Env", text)
    hidden = hide(text)
    found = re.search(r"\bstruct\s+Env\s*\{", hidden)
    assert found is not None        # _tagged wrote it
    start, end = found.end(), closing(hidden, found.end())
    body = re.sub(r"(?m)^[ \t]*(\w[\w \t]*?)[ \t]*(\*\s*\w+(?:\s*,\s*\*\s*\w+)*)\s*;.*\n",
                  _without_rows, text[start:end])
    have = {field.name for field in spec.fields}
    added = [f"Agent agents[{agents}];", *block,
             *(line for field, line in NEEDED.items() if field not in have)]
    log = re.search(r"(?m)^[ \t]*(?:struct\s+)?Log\s+log\s*;.*\n", body)
    at = log.end() if log else body.index("\n") + 1
    return (text[:start] + body[:at] + "".join(f"    {line}\n" for line in added) + body[at:]
            + text[end:])


def _aliased(text: str, name: str) -> tuple[str, str]:
    """With `typedef struct TAG NAME;` as `typedef Env NAME;`; and TAG, else the name itself."""
    found = re.search(rf"\btypedef\s+(?:struct\s+)?(\w+)\s+{name}\s*;", hide(text))
    if not found or found[1] == name:
        return text, name
    return f"{text[:found.start()]}typedef Env {name};{text[found.end():]}", found[1]


def _without_rows(declared: re.Match[str]) -> str:
    """A line of the struct that declares pointers, without those to rows."""
    names = [name.strip(" \t\n*") for name in declared[2].split(",")]
    kept = [name for name in names if name not in ROWS]
    if kept == names:
        return declared[0]
    return f"    {declared[1]} {', '.join(f'*{name}' for name in kept)};\n" if kept else ""


def _block(spec: Spec, sizes: ocean.Sizes, agents: int) -> list[str]:
    """The fields of a block that has the rows of all agents, each behind the other."""
    heads = len(sizes.act_sizes)
    mask = [f"unsigned char action_mask[{agents * sum(sizes.act_sizes)}];"] * spec.has_mask
    return [f"obs_t observations[{agents * sizes.obs_size}];   // of all agents, one row each",
            f"float actions[{agents * heads}];", f"float rewards[{agents}];",
            f"float terminals[{agents}];", *mask]


def _inner(text: str) -> str:
    """c_reset, c_step and c_bot, which know the block alone, by names of their own."""
    return re.sub(r"\bc_(reset|step|bot)\b", r"block_\1", text)


def _masked(text: str) -> str:
    """All actions are legal until the env says otherwise: at the end of my_init."""
    hidden = hide(text)
    found = re.search(r"\bvoid\s+my_init\s*\(\s*\w+\s*\*\s*(\w+)[^)]*\)\s*\{", hidden)
    if not found:
        return text
    end = closing(hidden, found.end())
    env = found[1]
    line = f"    memset({env}->action_mask, 1, sizeof({env}->action_mask));\n"
    return text[:end] + line + text[end:]


def _front(spec: Spec, sizes: ocean.Sizes) -> str:
    """puf_reset, puf_step and c_bot: the block, from and to where the trainer has the rows."""
    return binding.template("projects/form5_rows.h.jinja").render(
        spec=spec, mask=sum(sizes.act_sizes) if spec.has_mask else 0)


def _tagged(text: str, name: str, tag: str, below: str, where: Path) -> str:
    """The struct called `name`, defined as `struct tag {...};`, with a line below it.

    Raises UsageError where it is written in another way than the usual two.
    """
    hidden = hide(text)
    for found in re.finditer(r"\b(typedef\s+)?struct(\s+\w+)?\s*\{", hidden):
        close = closing(hidden, found.end())
        after = re.compile(r"\}\s*(\w*)\s*;").match(hidden, close)
        called = after and (after[1] if found[1] else (found[2] or "").strip())
        if after and called == name:
            return (f"{text[:found.start()]}struct {tag} {{{text[found.end():close]}}};{below}"
                    f"{text[after.end():]}")
    raise UsageError(f"the struct {name} is written in a way that no rule rewrites", where=where,
                     expected=f"typedef struct {name} {{ ... }} {name};",
                     hint="write it so, and upgrade again")


def _top(text: str, obs_t: str) -> str:
    """obs_t and pufferenv.h, which the struct needs: above all that is included.

    A header of 5.0 is its own binding, and is included twice.
    """
    lines = f'typedef {obs_t} obs_t;\n#include "pufferenv.h"\n'
    once = re.search(r"(?m)^[ \t]*#[ \t]*pragma[ \t]+once.*\n", hide(text))
    if once:
        return f"{text[:once.end()]}\n{lines}{text[once.end():]}"
    return f"#pragma once\n\n{lines}\n{text}"


def _binding(text: str, spec: Spec) -> str:
    """What a binding says beyond the header, without what 5.0 states elsewhere."""
    text = re.sub(_STATED.replace("HEADER", re.escape(spec.header.name)), "", text)
    text = re.sub(r"(?m)^#ifndef MY_ACTION_MASK\n", "", text)
    text = re.sub(r"(?m)^[ \t]*#[ \t]*define[ \t]+MY_ACTION_MASK\b.*\n(?:#endif\n)?", "", text)
    text = re.sub(r"\A(?:[ \t]*//.*\n|\s*\n)+", "", text)        # who wrote it, and for what
    text = re.sub(r"\bbinding\.c\b", spec.header.name, text)
    kept = re.sub(r"(\bdict_get\s*\((?:[^()\"]|\"[^\"]*\")*\))\s*->\s*value\b", r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", kept)


def _named(text: str) -> str:
    """c_step as puf_step, in comments as well; none is static, for pufferenv.h declares them."""
    names = "|".join(NAMES)
    text = re.sub(rf"(?m)^[ \t]*(?:(?:static|inline)\s+)+(?=void\s+(?:{names})\s*\()", "", text)
    return re.sub(rf"\b({names})\b", lambda found: NAMES[found[1]], text)


def _rows(text: str, struct: str) -> str:
    """env->rewards as env->agents[0].rewards, for whatever points at an environment."""
    hidden = hide(text)
    pointers = set(re.findall(rf"\b(?:Env|{struct})\s*\*\s*(?:const\s+)?(\w+)", hidden))
    values = set(re.findall(rf"\b(?:Env|{struct})\s+(\w+)\s*[;=,]", hidden))
    if not pointers | values:
        return text
    found = re.compile(rf"\b(?:(?:{'|'.join(pointers) or '(?!)'})\s*->\s*"
                       rf"|(?:{'|'.join(values) or '(?!)'})\s*\.\s*)(?={'|'.join(ROWS)}\b)")
    for match in reversed([m for m in found.finditer(hidden)
                           if re.match(rf"(?:{'|'.join(ROWS)})\b", hidden[m.end():])]):
        text = f"{text[:match.end()]}agents[0].{text[match.end():]}"
    return text
