"""An array of integers or doubles becomes one of floats.  C source -> C source

PufferLib 3 gave an environment int* actions and unsigned char* terminals; 4.0 gives floats:

    int* actions;                                   float* actions;
    MOVES[env->actions[i]]                          MOVES[(int)env->actions[i]]
    int (*rows)[3] = (int(*)[3])env->actions;       float (*rows)[3] = (float(*)[3])env->actions;
    memset(env->terminals, 1, n);                   for (int i = 0; i < (n); i++) ...[i] = 1;
"""
from __future__ import annotations

import re

INTEGERS = ("int", "unsigned char", "char")


def rewrite(text: str, array: str, kind: str) -> str:
    """The text with the array as floats. kind: the type that its elements had."""
    of_env = rf"\w+\s*->\s*{array}\b"
    names = re.findall(rf"\b{kind}\s*\*\s*(\w+)\s*=\s*&?\s*\(?\s*{of_env}", text)
    rows = re.findall(rf"\b{kind}\s*\(\s*\*\s*(\w+)\s*\).*=.*{of_env}", text)
    text = "\n".join(_line(line, array, kind) if re.search(rf"\b{array}\b", line) else line
                     for line in text.split("\n"))
    for row in dict.fromkeys(rows):
        one = rf"\b{kind}(\s*\*\s*(\w+)\s*=\s*{row}\s*\[[^\]]*\]\s*;)"
        names += [found[1] for found in re.findall(one, text)]
        text = re.sub(one, r"float\1", text)
    if kind in INTEGERS:
        text = _read_as_integers(text, rf"(?:\b\w+\s*(?:->|\.)\s*)+{array}")
        for name in dict.fromkeys(names):
            text = _read_as_integers(text, rf"(?<![\w.>]){name}")
        for row in dict.fromkeys(rows):
            text = _read_as_integers(text, rf"(?<![\w.>]){row}\s*\[[^\]]*\]")
    return text


def left(text: str, file: str, array: str, kind: str) -> list[str]:
    """A note for each line that still casts the array to its old type."""
    found = re.finditer(rf"\(\s*{kind}\s*[*(][^;=]*?->\s*{array}\b", text)
    return [f"{file}:{text.count(chr(10), 0, each.start()) + 1}: casts {array} to {kind}*, but "
            "they are floats now" for each in found]


def _line(line: str, array: str, kind: str) -> str:
    size = rf"sizeof\(\s*{kind}\s*\)"
    line = re.sub(rf"\bmemset\s*\(\s*((?:\w+->)?{array})\s*,\s*(?:1|true)\s*,\s*"
                  rf"(?:(.+?)\s*\*\s*{size}|{size}\s*\*\s*(.+?))\s*\)\s*;",
                  lambda made: f"for (int i = 0; i < ({made[2] or made[3]}); i++) "
                               f"{made[1]}[i] = 1;", line)          # bytes of 1 are no floats
    line = re.sub(rf"\b{kind}(\s*\*\s*{array}\b)", r"float\1", line)
    line = re.sub(rf"\b{kind}(\s*\*\s*\w+\s*=\s*&?\s*\(?\s*\w+\s*->\s*{array}\b)", r"float\1",
                  line)
    line = re.sub(rf"\b{kind}(\s*\(\s*\*\s*\w+\s*\)[^=;]*=\s*\(\s*){kind}"
                  rf"(\s*\(\s*\*\s*\)[^;]*->\s*{array}\b)", r"float\1float\2", line)
    line = re.sub(rf"\(\s*{kind}\s*\*\s*\)(?=\s*(?:calloc|malloc|realloc)\b)", "(float*)", line)
    if re.search(rf"\b{array}\s*(?:=\s*(?:\([^)]*\))?\s*\w*alloc\b|,)", line):
        line = re.sub(size, "sizeof(float)", line)
    return line


def _read_as_integers(text: str, array: str) -> str:
    """(int) before each element that is read, for what only integers can do. array: a pattern"""
    made, at = [], 0
    for found in re.finditer(rf"{array}\s*\[", text):
        depth, end = 1, found.end()
        while end < len(text) and depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        before, after = text[:found.start()].rstrip(), text[end:].lstrip()
        written = re.match(r"(?:[-+*/|&^%]|<<|>>)?=(?!=)|\+\+|--", after)
        taken = before.endswith(("(int)", "(float)", "++", "--")) or (
            before.endswith("&") and not before.endswith("&&"))
        if written or taken or found.start() < at:
            continue
        made += [text[at:found.start()], "(int)"]
        at = found.start()
    return "".join(made) + text[at:]
