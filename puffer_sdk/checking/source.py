"""The author's C as text: which function calls which, what each stores where.

header.py reads declarations with a compiler's front end; here a light reading of function
bodies is enough, and it works on code that does not compile.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_DEFINITION = re.compile(r"^[A-Za-z_][\w \t*]*?\b(?P<name>\w+)\s*\((?P<args>[^;{}()]*)\)\s*\{",
                         re.MULTILINE)
_KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else"}
_ALLOW = re.compile(r"//\s*puffer:\s*allow\(([^)]*)\)\s*(.*)")
_STORE = re.compile(r"\b(?:\w+\s*(?:->|\.)\s*)?(?P<base>\w*obs\w*)\s*\[(?P<index>[^\]=]*)\]\s*"
                    r"(?P<op>[-+*/|&]?=)(?!=)\s*(?P<value>[^;]*);")
_ZERO = re.compile(r"\(?\s*(?:0|0x0|0?\.0*f?|0\.f?|0\.0*f?|false|\w*(?:EMPTY|NONE|FREE|CLEAR)\w*)"
                   r"\s*\)?\s*$")


@dataclass
class Function:
    """A function definition in one of the env's files."""

    name: str
    file: str
    line: int
    body: str
    body_line: int
    calls: set[str] = field(default_factory=set)


@dataclass
class Source:
    """All C files of the env's folder."""

    folder: Path
    files: dict[str, str] = field(default_factory=dict)         # name -> text
    functions: dict[str, Function] = field(default_factory=dict)

    def reach(self, start: str, *, without: tuple[str, ...] = ()) -> list[Function]:
        """start and the functions it may call, not going through those of `without`."""
        seen, stack = {}, [start]
        while stack:
            name = stack.pop()
            function = self.functions.get(name)
            if function is None or name in seen or name in without:
                continue
            seen[name] = function
            stack += sorted(function.calls)
        return list(seen.values())

    def stepping(self) -> list[Function]:
        """What c_step runs besides c_reset."""
        return self.reach("c_step", without=("c_reset",))

    def clears_observations(self) -> bool:
        """Whether stepping holds a store of zero to observations, or a memset of them."""
        for function in self.stepping():
            if re.search(r"\bmemset\s*\([^;]*obs", function.body):
                return True
            if any(_ZERO.match(m["value"]) for m in _STORE.finditer(function.body)):
                return True
        return False

    def reset_only_stores(self) -> list[tuple[str, int, str, str]]:
        """Stores to observations that only c_reset makes, of fields that a step changes.

        (file, line, index text, field name)
        """
        stepping = self.stepping()
        names = {function.name for function in stepping}
        bodies = "\n".join(function.body for function in stepping)
        stored = {_squeeze(m["index"]) for m in _STORE.finditer(bodies)}
        changed = set(re.findall(r"(?:->|\.)\s*(\w+)\s*(?:[-+*/%&|^]=|=(?!=)|\+\+|--)", bodies))
        changed |= set(re.findall(r"(?:\+\+|--)\s*\w+\s*->\s*(\w+)", bodies))
        found = []
        for function in self.reach("c_reset"):
            if function.name in names:
                continue
            for match in _STORE.finditer(function.body):
                read = set(re.findall(r"->\s*(\w+)", match["value"])) & changed
                if read and _squeeze(match["index"]) not in stored:
                    line = function.body_line + function.body.count("\n", 0, match.start())
                    found.append((function.file, line, match["index"].strip(), sorted(read)[0]))
        return found

    def allows(self) -> list[tuple[str, int, set[str], str]]:
        """`// puffer: allow(PUF305) reason`: (file, line it speaks of, codes, reason)."""
        found = []
        for name, text in self.files.items():
            lines = text.splitlines()
            for number, line in enumerate(lines, 1):
                match = _ALLOW.search(line)
                if not match:
                    continue
                codes = set(re.findall(r"PUF\d{3}", match[1]))
                alone = line.strip().startswith("//")
                target = number
                while alone and target < len(lines):    # above the line: the next line of code
                    target += 1
                    if lines[target - 1].strip() and not lines[target - 1].strip().startswith("//"):
                        break
                found.append((name, target, codes, match[2].strip()))
        return found


def read(folder: Path) -> Source:
    """The C files of an environment's folder, its build products left out."""
    source = Source(folder)
    for path in sorted(folder.glob("*.[ch]")):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        source.files[path.name] = text
        if path.suffix == ".h" or path.name == "binding.c":
            for function in _functions(path.name, text):
                source.functions.setdefault(function.name, function)
    names = set(source.functions)
    for function in source.functions.values():
        called = set(re.findall(r"\b(\w+)\s*\(", function.body))
        function.calls = (called & names) - {function.name}
    return source


def _functions(file: str, text: str):
    plain = _COMMENT.sub(_blank, text)
    for match in _DEFINITION.finditer(plain):
        if match["name"] in _KEYWORDS:
            continue
        begin, depth, end = match.end() - 1, 0, match.end() - 1
        while end < len(plain):
            depth += {"{": 1, "}": -1}.get(plain[end], 0)
            end += 1
            if depth == 0:
                break
        yield Function(match["name"], file, plain.count("\n", 0, match.start()) + 1,
                       plain[begin:end], plain.count("\n", 0, begin) + 1)


def _blank(match: re.Match) -> str:
    """Comments and strings become spaces; lines stay lines."""
    return re.sub(r"[^\n]", " ", match.group())


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)
