"""Changes of a file.  a random generator and the content -> the changed content"""
from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import socket
from pathlib import Path

# replacements of a value or a line, or insertions between two bytes
VALUES = [None, True, False, -1, 0, 1, 2**31, 2**63, -2**63, 10**30, 1e308, 0.1, float("nan"),
          float("inf"), -0.0, "", "x", "x" * 2000, "../../x", "/etc/passwd", "a\nb", "\x1b[2J",
          "\x9b2J", "\x1b]8;;file:///\x1b\\x", "\x00", "1e999", "9" * 5000, "gymnasium:X", "\u202e",
          "\ud800", "[bold]x[/]", "%s%n", [], [[]], {}, {"a": {"b": 1}}, [1] * 100, [None, "x", {}],
          10**400]
WORDS = [b"\x00", b"\xff\xfe", b"\r\n", b"%s%n", b"../../../x", b"{" * 300, b"[" * 3000, b"1e999",
         b"NaN", b"-0", b"99999999999999999999", b"9" * 5000, b"\x1b]0;x\x07", b"\xc2\x9b2J",
         b"[env]\n", b"= =", b"#", "\u2028\u00e9\u202e".encode()]
LINES = ["#include \"/dev/null\"", "#include \"probe.h\"", "#define OBS_SIZE 0", "#undef ACT_SIZES",
         "#define ACT_SIZES {}", "#define ACT_SIZES {-1}", "#define ACT_SIZES {2147483647}",
         "#define NUM_ATNS 7", "#line 7", "#line 2147483647", "#line 5 \"/dev/zero\"",
         "#include \"/dev/zero\"", "#include \".\"", "#include __FILE__",
         "typedef int Log;", "struct Log;", "enum { OBS_A, OBS_B };", "union { int a; float b; };",
         "#define float int", "_Static_assert(0, \"no\");", "#error no", "}", "{", "int", "(",
         "extern int rand(void);", "#if 0", "#endif", "__attribute__((aligned(4096))) int a;",
         "char huge[1 << 30];", "struct Deep { struct Deep* next; };", "_Pragma(\"once\")",
         "int f(void) { return " + "1+" * 3000 + "1; }",
         "int g(int a) { " + "if (a) ; else " * 400 + "; return a; }"]


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """Change a few bits, bytes, words or stretches."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(6)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1 and out:
            out[at % len(out)] = rng.choice((0, 1, 9, 10, 34, 127, 128, 255))
        elif kind == 2:
            del out[at:at + rng.choice((1, 4, 64, 4096))]
        elif kind == 3:
            out[at:at] = rng.choice(WORDS)
        elif kind == 4:
            begin = rng.randrange(len(out) + 1)
            out[at:at] = out[begin:begin + rng.choice((8, 256))]
        else:
            del out[at:]
    return bytes(out)


def change_json(rng: random.Random, text: str, baits: tuple[str, ...] = ()) -> str:
    """Replace one value or key of a JSON text; sometimes change bytes, so that it is no JSON.

    baits   values that lead out of the folder
    """
    document = json.loads(text)
    values = [*VALUES, *baits]
    places: list[tuple] = []

    def visit(node) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                visit(node[key])

    if isinstance(document, (dict, list)):
        visit(document)
    for _ in range(rng.choice((1, 1, 2))):
        if not places:
            break
        node, key = rng.choice(places)
        kind = rng.randrange(4)
        if kind == 0 and isinstance(node, dict):
            node.pop(key, None)
        elif kind == 1 and isinstance(node, dict):
            node[str(rng.choice(values))] = node.get(key)
        else:
            with contextlib.suppress(LookupError):
                node[key] = rng.choice(values)
    made = json.dumps(document)
    return change_bytes(rng, made.encode()).decode("utf-8", "surrogateescape") \
        if rng.random() < 0.1 else made


def change_lines(rng: random.Random, data: bytes, baits: tuple[str, ...] = ()) -> bytes:
    """Change one line of a file of JSON lines, as JSON."""
    lines = data.decode("utf-8", "surrogateescape").rstrip("\n").split("\n")
    at = rng.randrange(len(lines))
    with contextlib.suppress(ValueError):
        lines[at] = change_json(rng, lines[at], baits)
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def change_text(rng: random.Random, text: str) -> str:
    """Remove, double, swap or replace lines of a text."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 2, 4))):
        at, kind = rng.randrange(len(lines)), rng.randrange(5)
        if kind == 0:
            del lines[at:at + 1]
        elif kind == 1:
            lines.insert(at, lines[rng.randrange(len(lines) or 1)] if lines else "")
        elif kind == 2:
            lines[at] = re.sub(r"-?\d+(?:\.\d+)?", lambda _: str(rng.choice(VALUES)), lines[at])
        elif kind == 3:
            lines.insert(at, rng.choice(LINES))
        else:
            lines[at] = change_bytes(rng, lines[at].encode("utf-8", "replace")).decode(
                "utf-8", "replace")
        lines = lines or [""]
    return "\n".join(lines)


def change_tensors(rng: random.Random, data: bytes, baits: tuple[str, ...] = ()) -> bytes:
    """Change a checkpoint: the container's bytes, its header, or our metadata."""
    size = int.from_bytes(data[:8], "little")
    head, rest, kind = data[8:8 + size].decode(), data[8 + size:], rng.randrange(3)
    if kind == 0:
        return change_bytes(rng, data)
    if kind == 1:
        head = change_json(rng, head, baits)
    else:
        document = json.loads(head)
        facts = document["__metadata__"]
        facts["puffer"] = change_json(rng, facts["puffer"], baits)
        head = json.dumps(document)
    made = head.encode("utf-8", "surrogateescape")
    return len(made).to_bytes(8, "little") + made + rest


def change_file(rng: random.Random, path: Path, baits: tuple[str, ...] = ()) -> None:
    """Replace its content, mostly by one of the same kind."""
    data = path.read_bytes()
    if rng.random() < 0.3:
        data = change_bytes(rng, data)
    elif path.suffix == ".safetensors":
        data = change_tensors(rng, data, baits)
    elif path.suffix in (".json", ".jsonl") or path.name == "journal":
        data = change_lines(rng, data, baits) if path.suffix != ".json" else change_json(
            rng, data.decode(), baits).encode("utf-8", "surrogateescape")
    elif path.suffix in (".ini", ".h", ".c", ".py"):
        data = change_text(rng, data.decode()).encode("utf-8", "replace")
    else:
        data = change_bytes(rng, data)
    path.write_bytes(data)


def replace(rng: random.Random, path: Path, outside: Path, *, links: bool = True) -> None:
    """Put something else in place of a file or folder, or where one would be made.

    links   whether that may be a link to another place
    """
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = rng.randrange(12 if links else 6) + (0 if links else 6)
    if kind < 6:
        target = rng.choice((outside / "kept", outside / "folder", outside / "new", outside,
                             outside / "folder" / "inner", Path("/dev/zero")))
        path.symlink_to(target if rng.random() < 0.5 else os.path.relpath(target, path.parent))
    elif kind == 6:
        os.link(outside / rng.choice(("kept", "run.json")), path)
    elif kind == 7:
        os.mkfifo(path)
    elif kind == 8:
        path.mkdir()
    elif kind == 9:
        path.write_bytes(b"")
    elif kind == 10:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))        # its name may have 107 bytes
    else:
        path.symlink_to(path.name)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
