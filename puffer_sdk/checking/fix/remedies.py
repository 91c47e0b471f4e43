"""How mechanical faults are fixed: the files' texts and a place -> edits of those texts.

Only in code of a shape that is recognised with certainty: whatever looks unusual gets no edit,
and its finding stays.
"""
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...env.source import hide
from .edits import Edit, end_of_line, indent_unit, newline_of, start_of_line

_ONE_HOT = re.compile(r"(?P<array>\w+(?:\s*->\s*\w+)?)\s*\[\s*(?P<base>\w+)\s*\+[^\]]+\]\s*"
                      r"=\s*(?P<value>1(?:\.0*f?)?)\s*;")
_STORE = re.compile(r"(?P<array>\w+(?:\s*->\s*\w+)?)\s*\[(?P<index>[^\]]*)\]\s*"
                    r"(?:[-+*/|&^%]|<<|>>)?=(?!=)")


@dataclass(frozen=True)
class Body:
    """A function's definition in a text: the name of its parameter, and its braces."""

    text: str           # of the whole file, comments and strings blanked
    parameter: str
    open: int           # offset of {
    close: int          # offset of }


def find_body(text: str, name: str, near: int) -> Body | None:
    """The one definition `void name(Env* env) {` at or below line `near`."""
    plain = hide(text)
    pattern = re.compile(rf"\b{name}\s*\(\s*(?:const\s+)?(?:struct\s+)?\w+\s*\*\s*"
                         rf"(?:const\s+|restrict\s+)?(?P<parameter>\w+)\s*\)\s*\{{")
    found = [m for m in pattern.finditer(plain) if plain.count("\n", 0, m.start()) + 1 >= near]
    if len(found) != 1:
        return None
    begin = found[0].end() - 1
    close = matching(plain, begin)
    return Body(plain, found[0]["parameter"], begin, close) if close else None


def matching(plain: str, begin: int) -> int | None:
    """Offset of the } that closes the { at begin."""
    depth = 0
    for offset in range(begin, len(plain)):
        depth += {"{": 1, "}": -1}.get(plain[offset], 0)
        if depth == 0:
            return offset
    return None


# -- clear what each step has to write --------------------------------------------------


def clear_arrays(texts: Mapping[str, str], file: str, line: int, arrays: Iterable[str]
                 ) -> list[Edit]:
    """Begin c_step with zeros in these arrays, for every agent."""
    text = texts.get(file, "")
    body = find_body(text, "c_step", line)
    if body is None:
        return []
    newline, unit = newline_of(text), indent_unit(text)
    env = body.parameter
    if has_one_agent(texts):
        code = [f"{env}->{array}[0] = 0.0f;" for array in arrays]
    else:
        i = "i" if env != "i" else "agent"
        code = [f"for (int {i} = 0; {i} < {env}->num_agents; {i}++) {{",
                *(f"{unit}{env}->{array}[{i}] = 0.0f;" for array in arrays), "}"]
    return [begin_with(file, text, body, code, newline, unit)]


def begin_with(file: str, text: str, body: Body, code: list[str], newline: str, unit: str) -> Edit:
    """Lines of code after the { of a function, in its own indentation."""
    line_end = end_of_line(text, body.open)
    inner = body.text[body.open + 1:line_end]
    if not inner.strip() and line_end < body.close:         # { ends its line
        indent = next((_indent(line)
                       for line in text[line_end:body.close].splitlines()
                       if line.strip() and not line.lstrip().startswith("#")), unit)
        return Edit(file, line_end, line_end, "".join(f"{newline}{indent}{line}" for line in code))
    outer = _indent(text[text.rfind("\n", 0, body.open) + 1:])
    indent = outer + unit
    lines = "".join(f"{newline}{indent}{line}" for line in code)
    if body.close > line_end:                               # { statement; and more lines
        after = body.open + 1 + len(inner) - len(inner.lstrip())
        return Edit(file, body.open + 1, after, f"{lines}{newline}{indent}")
    rest = text[body.open + 1:body.close].strip()           # a function on one line
    lines += f"{newline}{indent}{rest}" if rest else ""
    return Edit(file, body.open + 1, body.close, f"{lines}{newline}{outer}")


def _indent(line: str) -> str:
    return line[:len(line) - len(line.lstrip(" \t"))]


def has_one_agent(texts: Mapping[str, str]) -> bool:
    """True where num_agents is declared and never anything but 1."""
    for name, text in texts.items():
        plain = hide(text) if not name.endswith(".ini") else text
        plain = re.sub(r"\bint\s+num_agents\s*[;,]|\bnum_agents\s*=\s*1\s*;", "", plain)
        if re.search(r"\b(num|max)_agents\b", plain):
            return False
    return True


# -- clear a one-hot before it is set ---------------------------------------------------


def clear_one_hot(texts: Mapping[str, str], first: int, last: int) -> list[Edit]:
    """Zeros in the block of `observations[BASE + kind] = 1`, just before that statement.

    Only where one such statement, unconditional in its function, covers elements first to last,
    and the place of every other store is known.
    """
    values = constants("\n".join(texts[name] for name in sorted(texts) if name.endswith(".h")))
    found = [edit for name in sorted(texts) if name.endswith(".h")
             for edit in _one_hots(name, texts[name], values, first, last)]
    return found if len(found) == 1 else []


def _one_hots(file: str, text: str, values: dict[str, int], first: int, last: int
              ) -> Iterator[Edit]:
    plain = hide(text)
    for match in _ONE_HOT.finditer(plain):
        base = evaluate(match["base"], values)
        block = _block_around(plain, match.start())
        if base is None or block is None or not base <= first:
            continue
        begin, end, is_function = block
        array = re.sub(r"\s", "", match["array"])
        if "obs" not in array or not _is_statement(plain, match.start()):
            continue
        if not is_function and not re.search(rf"\*\s*{re.escape(array)}\s*=",
                                             plain[begin:match.start()]):
            continue
        bases = _bases(plain[begin:end], array, values)
        if bases is None or bases.count(base) != 1:
            continue
        limits = {v: n for n, v in sorted(values.items(), reverse=True)
                  if v > base and n.startswith("OBS_")}
        limits |= {b: limits.get(b, str(b)) for b in bases if b > base}
        stop = min(limits, default=0)
        if stop <= last or stop - base < 2:
            continue
        zero = "0.0f" if "." in match["value"] else "0"
        line = text.rfind("\n", 0, match.start()) + 1
        indent = text[line:match.start()]
        i = "i" if not re.search(r"\bi\b", match["array"]) else "k"
        yield Edit(file, match.start(), match.start(),
                   f"for (int {i} = {match['base']}; {i} < {limits[stop]}; {i}++) "
                   f"{match['array']}[{i}] = {zero};{newline_of(text)}{indent}")


def _block_around(plain: str, at: int) -> tuple[int, int, bool] | None:
    """The braces around an offset, and whether they are a function's."""
    depth = 0
    for begin in range(at - 1, -1, -1):
        depth += {"}": 1, "{": -1}.get(plain[begin], 0)
        if depth < 0:
            end = matching(plain, begin)
            outside = plain[:begin].count("{") == plain[:begin].count("}")
            return (begin, end, outside) if end else None
    return None


def _is_statement(plain: str, at: int) -> bool:
    """Whether an unconditional statement begins here, first on its line."""
    before = plain[:at].rstrip()
    return before[-1:] in ("{", "}", ";") and not plain[plain.rfind("\n", 0, at) + 1:at].strip()


def _bases(block: str, array: str, values: dict[str, int]) -> list[int] | None:
    """First elements of all stores to the array; None where one is unknown."""
    found = []
    for match in _STORE.finditer(block):
        if re.sub(r"\s", "", match["array"]) == array:
            base = evaluate(re.split(r"\+(?!\+)", match["index"])[0], values)
            if base is None:
                return None
            found.append(base)
    return found


def constants(text: str) -> dict[str, int]:
    """Enumerators and #defines that are whole numbers."""
    plain = hide(text)
    found: dict[str, int] = {}
    pattern = re.compile(r"\benum\b[^{;()]*\{(?P<enum>[^}]*)\}|"
                         r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+(?P<value>[^\n]*)", re.M)
    for match in pattern.finditer(plain):
        if match["name"]:
            value = evaluate(match["value"], found)
            if value is not None:
                found[match["name"]] = value
            continue
        following: int | None = 0
        for part in filter(str.strip, match["enum"].split(",")):
            name, given, text = part.partition("=")
            following = evaluate(text, found) if given else following
            if following is None:
                break
            found[name.strip()] = following
            following += 1
    return found


def evaluate(text: str, values: dict[str, int]) -> int | None:
    """A sum, difference or product of numbers and known names; None for anything else."""
    spelled = re.sub(r"[A-Za-z_]\w*", lambda m: str(values.get(m[0], "?")), text.strip())
    if not re.fullmatch(r"[\d\s()+*-]{1,80}", spelled) or "**" in spelled:
        return None
    try:
        return int(eval(spelled, {"__builtins__": {}}))     # only digits, + - * ( )
    except (SyntaxError, TypeError, ValueError):
        return None


# -- one line of the ini, or of the header ----------------------------------------------


def rename_key(texts: Mapping[str, str], file: str, line: int, key: str, name: str
               ) -> list[Edit]:
    """Another name for the ini's key on this line, unless the section has that one already."""
    text = texts.get(file, "")
    section = re.search(r"(?ms)^\[env\][^\n]*\n(.*?)(?=^\[|\Z)", text)
    if not section or re.search(rf"(?m)^{re.escape(name)}\s*=", section[1]):
        return []
    start = start_of_line(text, line)
    match = re.compile(rf"{re.escape(key)}(?=\s*=)").match(text, start)
    return [Edit(file, match.start(), match.end(), name)] if match else []


def drop_num_atns(texts: Mapping[str, str], file: str, line: int, count: int) -> list[Edit]:
    """Without NUM_ATNS, which is counted; where code uses it, with the right number."""
    text = texts.get(file, "")
    start = start_of_line(text, line)
    match = re.compile(r"[ \t]*#[ \t]*define[ \t]+NUM_ATNS[ \t]+(?P<value>\d+)").match(text, start)
    if not match:
        return []
    uses = sum(len(re.findall(r"\bNUM_ATNS\b", hide(t))) for n, t in texts.items()
               if not n.endswith(".ini"))
    if uses > 1 or file == "binding.c":
        return [Edit(file, match.start("value"), match.end("value"), str(count))]
    return [Edit(file, start, min(end_of_line(text, start) + len(newline_of(text)), len(text)), "")]
