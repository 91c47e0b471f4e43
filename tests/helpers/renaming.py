"""The same environment under other names, with other fields, and with a longer row.

    rename(folder, HOSTILE)     every identifier of the author's own is another word
    add_field(folder)           one more field, which nothing but itself depends on
    turn_fields(folder)         the struct's own fields in the opposite order
    padded                      a row one element longer, which moves where the game draws

Lines stay where they are. What the contract names keeps its name: c_step, Log, observations, the
keys of [env], and OBS_, ACT_ and HEAD_ at the beginning of enumerators.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from puffer_sdk.base import paths
from puffer_sdk.base.spec import Spec
from puffer_sdk.checking.collect.c.source.collecting import Own
from puffer_sdk.env import header, obs_spec, probe
from puffer_sdk.settings.config import resolve

# words that might tell a rule what something is for, and hardly ever do
STEMS = ("pad one walls obs seed rng low angle empty debug tick frame act log max heading dump "
         "reserved none limit time bias drone flowers head phase skip trace best obstacles rand "
         "clear free high min const step actions rewards unused clock dir reset observe total"
         ).split()
_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                    r"#[ \t]*include[^\n]*|\b[A-Za-z_]\w*", re.DOTALL)
_DECLARES = ("FUNCTION_DECL", "VAR_DECL", "PARM_DECL", "FIELD_DECL", "ENUM_CONSTANT_DECL",
             "TYPEDEF_DECL", "STRUCT_DECL", "ENUM_DECL", "UNION_DECL")
_PARTS = ("OBS_", "ACT_", "HEAD_")
_KEPT = {"main", "init", "my_init", "my_log", "my_vec_init", "my_vec_close", "Log", "Env", "log",
         "observations", "actions", "rewards", "terminals", "truncations", "num_agents", "rng",
         "max_agents", "alive", "action_mask", "final_observations", "OBS_SIZE", "ACT_SIZES",
         "NUM_ATNS", "OBS_TENSOR_T", "client", "Client", "env"}


def hostile(name: str, number: int) -> str:
    """obs_6 for `speed`, WALLS_3 for `ball`, seed_4 for `WIDTH`."""
    word = f"{STEMS[number % len(STEMS)]}_{number}"
    return word.upper() if number % 2 else word


def plain(name: str, number: int) -> str:
    """q6 for `speed`, Q4 for `WIDTH`."""
    return f"Q{number}" if name.isupper() else f"q{number}"


def rename(folder: Path, word: Callable[[str, int], str]) -> None:
    """Give all that the author has named other names, in the .h and .c files of a folder."""
    names = {name: number for number, name in enumerate(sorted(_own_names(folder)))}

    def renamed(match: re.Match) -> str:
        name = match[0]
        if name not in names:
            return name
        prefix = next((part for part in _PARTS if name.startswith(part)), "")
        return prefix + word(name, names[name])
    for path in paths.c_files(folder):
        path.write_text(_TOKEN.sub(renamed, path.read_text()))


def _own_names(folder: Path) -> set[str]:
    from clang import cindex

    spec, flags = header.read(folder), probe.clang_flags(folder)
    main = spec.binding or spec.header
    unit = cindex.Index.create().parse(str(main), args=flags)
    own = Own({"folder": str(folder.resolve()), "flags": flags})
    ours, others = set(), set()
    for cursor in unit.cursor.get_children():
        mine = own.name(cursor) is not None
        for inner in cursor.walk_preorder() if mine else _declared(cursor):
            if inner.kind.name in _DECLARES and inner.spelling.isidentifier():
                (ours if mine else others).add(inner.spelling)
    for path in paths.c_files(folder):
        ours.update(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", path.read_text(), re.M))
    settings = set(resolve(folder, {}, spec, warn_unread=False).env)
    columns = {field.name for field in spec.log_fields}
    totals = {name for name in ours if obs_spec._TOTAL.fullmatch(name)}
    return {name for name in ours - others - _KEPT - settings - columns - totals - {spec.struct}
            if not name.startswith(("c_", "my_", "MY_", "PUFFER_", "__"))}


def _declared(cursor) -> Iterator:
    """What a header of others declares, and the fields of its structs."""
    yield cursor
    if cursor.kind.name in ("STRUCT_DECL", "UNION_DECL", "ENUM_DECL"):
        yield from cursor.get_children()


def add_field(folder: Path) -> bool:
    """`seed_byte`, and a number that each step makes from some bits of env->rng; False: rng or
    c_step is written in a way that this does not know."""
    spec = header.read(folder)
    path = spec.header
    text = path.read_text()
    text, found = re.subn(r"(\bunsigned(?: int)?|\buint32_t)(\s+rng\s*;)",
                          r"\1\2 unsigned char seed_byte; int obs_walls;", text, count=1)
    text, other = re.subn(r"(?m)^(void c_step\(\s*(?:struct )?\w+\s*\*\s*(\w+)\s*\)\s*\{)",
                          r"\1 \2->obs_walls = (int)(\2->rng & 255);", text, count=1)
    if found and other:
        path.write_text(text)
    return bool(found and other)


def turn_fields(folder: Path) -> bool:
    """Lines of the env struct that declare numbers, the last one first; False: it has only one."""
    spec = header.read(folder)
    lines = spec.header.read_text().split("\n")
    numbers = [field.line - 1 for field in spec.settable]
    own = [n for n in sorted(set(numbers))
           if re.fullmatch(r"\s*(?:unsigned |const )?\w+\s+[\w, \[\]]+;\s*(?://[^\n]*)?", lines[n])]
    turned = [lines[n] for n in reversed(own)]
    for n, line in zip(own, turned):
        lines[n] = line
    spec.header.write_text("\n".join(lines))
    return len(own) > 1


def can_be_padded(spec: Spec) -> bool:
    """Whether the row has one size, and no comment speaks of what a longer one would hold."""
    size = spec.obs_count
    return bool(size) and not spec.binding and all(
        part.last < size for part in obs_spec.read(spec, size + 1).described)


def padded(text: str, elements: int, struct: str) -> str:
    """A generated binding whose row has one element more, some bits of env->rng."""
    mark = '#include "vecenv.h"'
    assert text.count(mark) == 1
    wrapped = f"""#undef OBS_SIZE
#define OBS_SIZE {elements + 1}
static void pad_row({struct}* env) {{ env->observations[{elements}] = (env->rng >> 16) % 5; }}
static void padded_reset({struct}* env) {{ c_reset(env); pad_row(env); }}
static void padded_step({struct}* env) {{ c_step(env); pad_row(env); }}
#define c_step padded_step
"""
    ours = (paths.include_dir() / "vecenv.h").read_text()
    undone = re.search(r"#undef c_reset[^\n]*\n", ours)
    assert undone
    return text.replace(mark, wrapped + ours.replace(
        undone[0], undone[0] + "#define c_reset padded_reset\n"))
