"""Convert an older Ocean environment to PufferLib 4.0.  binding.c, NAME.h, NAME.py -> new ones

    upgrade("snake")    snake/binding.c     Python.h and kwargs, or OBS_TYPE: as 4.0 writes them
                        snake/snake.h       actions and terminals are floats; num_agents and rng
                        snake/snake.ini     in [env], what snake.py gave as defaults
                        snake/*.orig        what the changed files were

It writes only what follows from the text. The rest (a size that Python computes, a map that Python
loads) is listed with file and line.
"""
from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import BuildError, PufferError, UsageError
from ..base.spec import OBS_TENSORS
from ..env import dialects, header
from ..env.source import hide
from ..settings import upstream
from ..settings.config import find_ini
from ..settings.table import AUTO
from . import c_sizes, early_vec_init, floats, python_env

# What an early 4.0 called the type of an observation
EARLY_TYPES = {"float": "FloatTensor", "unsigned char": "ByteTensor", "char": "ByteTensor",
               "unsigned_char": "ByteTensor", "uint8_t": "ByteTensor", "int": "IntTensor"}
ARRAYS = ("actions", "terminals", "rewards")
SHOWN = 8               # widths of heads that a note names
# binding.c of PufferLib 3 -> of 4.0
PYTHON_LINES = (
    (r"(?m)^.*#\s*include\s*<Python\.h>.*\n", ""),
    (r"static\s+int\s+my_init\s*\(\s*(\w+)\s*\*\s*(\w+)\s*,\s*PyObject\s*\*\s*\w+\s*,"
     r"\s*PyObject\s*\*\s*(\w+)\s*\)", r"void my_init(\1* \2, Dict* \3)"),
    (r"static\s+int\s+my_log\s*\(\s*PyObject\s*\*\s*(\w+)\s*,\s*Log\s*\*\s*(\w+)\s*\)",
     r"void my_log(Log* \2, Dict* \1)"),
    (r"\bunpack\s*\(\s*(\w+)\s*,\s*(\"\w+\")\s*\)", r"dict_get(\1, \2)->value"),
    (r"\bassign_to_dict\s*\(", "dict_set("),
)


@dataclass
class Upgraded:
    """A written upgrade."""

    folder: Path
    changed: list[str] = field(default_factory=list)    # names of files
    notes: list[str] = field(default_factory=list)      # what was decided, and what is left by hand
    problems: list[PufferError] = field(default_factory=list)   # what keeps it from being built


def upgrade(env: str | os.PathLike[str] | None = None) -> Upgraded:
    """Rewrite an environment of PufferLib 3 or of an early 4.0 as one of 4.0.

    Raises UsageError where there is no binding.c, where nothing is to be changed, and where the
    files of an earlier upgrade (*.orig) are still there.
    """
    folder = paths.find_env(env)
    name, binding = folder.name, folder / "binding.c"
    if not binding.is_file():
        raise UsageError("there is no binding.c to upgrade", where=folder,
                         hint="without --upgrade, bind writes one")
    done = Upgraded(folder)
    its_header = paths.header_of(folder).name
    texts = {path.name: paths.text(path, "surrogateescape")
             for path in (binding, folder / its_header,
                          *(folder / f"{name}.{end}" for end in ("c", "ini"))) if path.is_file()}
    if its_header not in texts:
        raise UsageError("the environment has no header", where=folder, expected=its_header)
    new = dict(texts)
    known = None
    if re.search(r"\bPyObject\b|#\s*include\s*<Python\.h>", texts["binding.c"]):
        known = python_env.read(folder / f"{name}.py", _given(_old_ini(folder) or ""))
        _complete(known, {file: texts[file] for file in (f"{name}.c", its_header)
                          if file in texts}, texts["binding.c"], done)
        done.notes += [f"binding.c: {name}.py passes another {key} to C than [env] has: {value}; "
                       "write that into my_init" for key, value in known.changed.items()]
        done.notes += [f"{its_header}: {name}.py passes {known.actions} to C as actions: compute "
                       "that in c_step"] * bool(known.actions)
    new["binding.c"] = _binding(texts["binding.c"], known, done)
    struct = struct_name(new["binding.c"])
    holder = its_header if _struct_place(new[its_header], struct) or not _struct_place(
        new["binding.c"], struct) else "binding.c"
    _header(new, holder, f"{name}.c", struct, done)
    new["binding.c"] = _with_tensor(new["binding.c"], new[holder])
    if known:
        _note_late_reset(new[its_header], its_header, done)
        new[f"{name}.ini"] = _ini(_old_ini(folder), new["binding.c"], known, done)
        if f"{name}.ini" not in texts and _old_ini(folder):     # PufferLib's so far: so is its copy
            new[f"{name}.ini"] = _as_there(new[f"{name}.ini"])
    changed = {file: text for file, text in new.items() if text != texts.get(file)}
    if not changed:
        raise UsageError("nothing to upgrade", where=binding,
                         hint=f"run puffer-sdk check {name}")
    write(folder, texts, changed)
    done.changed = sorted(changed)
    done.problems = done.problems or header.inspect(folder)[1]
    return done


def _complete(known: python_env.PythonEnv, sources: Mapping[str, str], binding: str,
              done: Upgraded) -> None:
    """What NAME.py does not say, from the C files, where they do."""
    found = c_sizes.read(sources, _given(_old_ini(done.folder) or ""))
    if known.obs_size is None and found.obs_size:
        known.obs_size = found.obs_size
        done.notes.append(f"OBS_SIZE {found.obs_size}: {found.obs_at} allocates as many; "
                          "change it if an observation has another size")
    if known.act_sizes is None and found.act_sizes:
        known.act_sizes = found.act_sizes
        widths = ", ".join(map(str, found.act_sizes[:SHOWN]))
        widths += f", ... ({len(found.act_sizes)} in all)" * (len(found.act_sizes) > SHOWN)
        done.notes.append(f"ACT_SIZES {{{widths}}}: as {found.act_at} uses actions; change it if "
                          "there are others")
    for field_, key in re.findall(r'(?:->|\.)\s*(\w+)\s*=\s*(?:\(\w+\)\s*)?'
                                  r'unpack\(\s*\w+\s*,\s*"(\w+)"', binding):
        value = found.defaults.get(key, found.defaults.get(field_))
        if value is not None:
            known.defaults.setdefault(key, value)


def ini_of_3(folder: Path) -> Path:
    """Where PufferLib 3 keeps its ini."""
    return folder.parent.parent / "config/ocean" / f"{folder.name}.ini"


def _old_ini(folder: Path) -> str | None:
    """The text of its ini."""
    try:
        return paths.text(find_ini(folder) or ini_of_3(folder), "surrogateescape")
    except OSError:
        return None


def struct_name(text: str) -> str | None:
    """What a binding defines as Env."""
    found = re.search(r"#\s*define\s+Env\s+(?:struct\s+)?(\w+)", text)
    return found[1] if found else None


def write(folder: Path, texts: Mapping[str, str], changed: Mapping[str, str],
          gone: Collection[str] = ()) -> None:
    """All of the files or, where one cannot be written, none. The old ones stay as *.orig.

    gone    files of `texts` that only their *.orig is left of
    """
    kept = [folder / f"{file}.orig" for file in (*changed, *gone) if file in texts]
    for path in kept:
        if path.exists():
            raise UsageError("this file is left from an earlier upgrade", where=path,
                             hint="move it away, or rename it back, and upgrade again")
    for path in (*kept, *(folder / file for file in changed)):
        files.refuse(path)
    written = []
    try:
        for path in kept:
            written.append(path)
            files.write(path, texts[path.name.removesuffix(".orig")].encode(
                "utf-8", "surrogateescape"))
        for file, text in changed.items():
            files.write(folder / file, text.encode("utf-8", "surrogateescape"))
        for file in gone:
            files.remove(folder / file)
    except BaseException:
        for file, text in texts.items():
            if file in changed or file in gone:
                files.write(folder / file, text.encode("utf-8", "surrogateescape"))
        for path in written:
            files.remove(path)
        raise


# -- binding.c ----------------------------------------------------------------


def _binding(text: str, known: python_env.PythonEnv | None, done: Upgraded) -> str:
    tensor = re.search(r"(?m)^(\s*)#\s*define\s+OBS_TYPE\s+(.+?)\s*(?://.*)?$", text)
    if tensor and "OBS_TENSOR_T" not in text:
        kind = EARLY_TYPES.get(tensor[2].lower())
        if kind:
            text = text.replace(tensor[0], f"{tensor[1]}#define OBS_TENSOR_T {kind}")
        else:
            done.notes.append(f"OBS_TYPE {tensor[2]}: observations are floats, bytes or ints in "
                              "4.0; change the field, and define OBS_TENSOR_T")
    text = re.sub(r"(?m)^[ \t]*#\s*define\s+ACT_TYPE\b.*\n", "", text)
    text = re.sub(r'#\s*include\s*"(?:\.\./)*env_binding\.h"', '#include "vecenv.h"', text)
    text = early_vec_init.rewritten(text)
    if known is None:
        return text
    for pattern, new in PYTHON_LINES:
        text = re.sub(pattern, new, text)
    for function in ("my_init", "my_log"):
        text = _without_status(text, function)
    text = _with_agents(text, known, done)
    missing = _sizes(text, known, done)
    if missing:
        text = re.sub(r"(?m)^(#\s*define\s+Env\b)", lambda m: missing + m[1], text, count=1)
    left = [number for number, line in enumerate(text.splitlines(), 1) if "Py" in line]
    if left:
        done.problems.append(BuildError(
            f"calls of Python remain in {ui.plural(len(left), 'line')}",
            where=f"binding.c:{left[0]}",
            hint=dialects.CALLS_LEFT))
    return text


def _with_tensor(text: str, header: str) -> str:
    """OBS_TENSOR_T, where a binding says nothing of that: of the type that the field has."""
    include = re.search(r'(?m)^[ \t]*#\s*include\s*"vecenv\.h"', text)
    observations = re.search(r"(?m)^\s*((?:unsigned\s+)?\w+)\s*\*\s*observations\s*;", header)
    kind = EARLY_TYPES.get(" ".join(observations[1].split())) if observations else None
    if include is None or kind is None or re.search(r"\bOBS_(?:TENSOR_T|TYPE)\b", text):
        return text
    return f"{text[:include.start()]}#define OBS_TENSOR_T {kind}\n{text[include.start():]}"


def _body(text: str, function: str) -> tuple[int, int] | None:
    """Where the body of a function starts and ends, in characters, without its braces."""
    found = re.search(rf"\bvoid\s+{function}\s*\([^)]*\)\s*\{{", text)
    if not found:
        return None
    depth, at = 1, found.end()
    while at < len(text) and depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return found.end(), at - 1


def _sources(known: python_env.PythonEnv) -> str:
    """NAME.py; or, where that is gone, what is left."""
    name = known.path.name
    return name if known.path.is_file() else f"the C files ({name} is not there)"


def _without_status(text: str, function: str) -> str:
    """return 0; and return 1; of a function that returned a status and is void now."""
    if place := _body(text, function):
        body = text[place[0]:place[1]]
        body = re.sub(r"\n[ \t]*return 0;[ \t]*(?=\n\s*$)", "", body)
        body = re.sub(r"\breturn [01];", "return;", body)
        text = text[:place[0]] + body + text[place[1]:]
    return text


def _with_agents(text: str, known: python_env.PythonEnv, done: Upgraded) -> str:
    """my_init sets num_agents first."""
    place = _body(text, "my_init")
    names = re.search(r"void\s+my_init\s*\(\s*\w+\s*\*\s*(\w+)\s*,\s*Dict\s*\*\s*(\w+)", text)
    if not place or not names or re.search(r"->\s*num_agents\s*=", text[place[0]:place[1]]):
        return text
    env, kwargs = names.groups()
    agents = known.agents
    if agents is None:
        done.notes.append("binding.c: my_init sets num_agents to 1; change it if there are more")
        agents = 1
    value = agents if isinstance(agents, int) else f'dict_get({kwargs}, "{agents}")->value'
    return text[:place[0]] + f"\n    {env}->num_agents = {value};" + text[place[0]:]


def _sizes(text: str, known: python_env.PythonEnv, done: Upgraded) -> str:
    """The lines that say the sizes, where the binding does not."""
    lines = []
    for macro, value, example in (
            ("OBS_SIZE", known.obs_size, "#define OBS_SIZE 4"),
            ("ACT_SIZES", known.act_sizes and "{" + ", ".join(map(str, known.act_sizes)) + "}",
             "#define ACT_SIZES {3}")):
        if re.search(rf"#\s*define\s+{macro}\b", text):
            continue
        if value is None:
            done.notes.append(f"{macro} does not follow from {_sources(known)}: write it into "
                              f"binding.c, such as {example}")
        else:
            lines.append(f"#define {macro} {value}\n")
    if lines and known.obs_type in OBS_TENSORS.values():
        lines.append(f"#define OBS_TENSOR_T {known.obs_type}\n")
    return "".join(lines) + "\n" * bool(lines)


# -- NAME.h -------------------------------------------------------------------


def _header(texts: dict[str, str], name: str, program: str, struct: str | None,
            done: Upgraded) -> None:
    """Floats for actions, rewards and terminals, in the file that has the struct and in NAME.c."""
    old = {array: found[1] for array in ARRAYS
           if (found := re.search(rf"(?m)(?:^|[;{{])[ \t]*((?:unsigned )?\w+)\s*\*\s*{array}\s*;",
                                  texts[name]))}
    for file in (name, program):
        if file in texts:
            for array, kind in old.items():
                if kind != "float":
                    texts[file] = floats.rewrite(texts[file], array, kind)
                    done.notes += floats.left(texts[file], file, array, kind)
    text = texts[name]
    place = _struct_place(text, struct)
    if place is None:
        done.notes.append(f"{name}: the struct of the environment was not found; give it "
                          "int num_agents; and unsigned int rng;")
        return
    end = text.find("\n}", place.end())
    body = text[place.end():end]
    new = "".join(f"\n    {line}" for field_, line in (
        ("num_agents", "int num_agents;"), ("rng", "unsigned int rng;"))
        if not re.search(rf"\b{field_}\s*[;,]", body))
    text = text[:place.end()] + new + text[place.end():]
    texts[name] = re.sub(r"(?m)^([ \t]*)unsigned (?:char|int)\s*\*\s*(truncations\s*;)",
                         r"\1float* \2", text)


def _struct_place(text: str, struct: str | None) -> re.Match[str] | None:
    """Where the env struct's fields begin."""
    place = re.search(rf"(?m)^(?:typedef\s+)?struct\s+{struct}\s*\{{", text) if struct else None
    if place or not struct:
        return place
    closing = re.search(rf"\}}\s*{struct}\s*;", text)
    starts = [m for m in re.finditer(r"typedef\s+struct\s*\w*\s*\{", text)
              if closing and m.end() < closing.start()]
    return starts[-1] if starts else None


def _note_late_reset(text: str, name: str, done: Upgraded) -> None:
    """PufferLib 4 clears terminals before each step, 3 did not: a c_step that first reads the
    previous step's terminal finds 0 there."""
    hidden = hide(text)
    begin, end = _body(hidden, "c_step") or (0, 0)
    before, used, _ = hidden[begin:end].partition("terminals[")
    condition = re.search(r"\bif\s*\(((?:[^(){};]|\([^()]*\))*)$", before)
    # else this step may have set it: here, or in a function that it called
    if not used or not condition or re.search(r"\bterminals\b|\b(?!if\b|for\b|while\b)\w+\s*\(",
                                              before[:condition.start()]):
        return
    line = text.count("\n", 0, begin + len(before)) + 1
    done.notes.append(
        f"{name}:{line}: c_step reads the previous step's terminal, which is now 0: 4.0 clears "
        "terminals before each step; reset where the episode ends, or keep the ending in a field")


# -- NAME.ini -----------------------------------------------------------------


_ENV = re.compile(r"(?m)^\[env\][^\n]*\n((?:(?!\[).*\n?)*)")


def _as_there(text: str) -> str:
    """An ini of PufferLib's with what its trainer does without a setting, and our own buffers."""
    text = re.sub(r"(?m)^(num_buffers\s*=\s*)\S+", rf"\1{AUTO}", text)
    lines = "".join(f"{line}\n" for line in upstream.COPIED
                    if not re.search(rf"(?m)^\s*{line.partition(' ')[0]}\s*=", text))
    if not re.search(r"(?m)^\[train\]", text):
        text = f"{text.rstrip()}\n\n[train]\n"
    return re.sub(r"(?m)^\[train\][^\n]*\n", lambda found: found[0] + lines, text, count=1)


def _given(text: str) -> dict[str, float]:
    """The numbers in [env] of an ini."""
    section, numbers = _ENV.search(text), {}
    for key, value in re.findall(r"(?m)^\s*(\w+)\s*=\s*([^#;\n]*)", section[1] if section else ""):
        with suppress(ValueError):
            number = float(value)
            numbers[key] = int(number) if number.is_integer() else number
    return numbers


def _ini(text: str | None, binding: str, known: python_env.PythonEnv, done: Upgraded) -> str:
    """The ini, with a value in [env] for each key that the binding reads.

    num_envs, which PufferLib 3 keeps there, goes: [vec] total_agents says how many.
    """
    text = text or "[env]\n"
    section = _ENV.search(text)
    body = section[1] if section else ""
    given = set(re.findall(r"(?m)^\s*(\w+)\s*=", body))
    keys = dict.fromkeys(re.findall(r'dict_get\(\s*\w+,\s*"(\w+)"\)', binding))
    missing = [key for key in keys if key not in given]
    unknown = [key for key in missing if key not in known.defaults]
    if unknown:
        done.notes.append(f"{', '.join(unknown)}: read by my_init, and there is no number in "
                          f"{_sources(known)}; write it into [env] of the ini")
    lines = "".join(f"{key} = {known.defaults[key]:.10g}\n" for key in missing
                    if key not in unknown)
    if not section:
        return f"{text.rstrip()}\n\n[env]\n{lines}"
    if "num_envs" not in keys:
        body = re.sub(r"(?m)^\s*num_envs\s*=.*\n?", "", body)
    body = re.sub(r"(?m)^(\s*\w+\s*=\s*)\[\s*([^][,\s]+)\s*\]", r"\1\2", body)   # a list of one
    return text[:section.start(1)] + lines + body + text[section.end(1):]
