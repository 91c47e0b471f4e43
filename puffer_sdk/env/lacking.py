"""The headers that an environment includes and that are nowhere.  a folder -> {header: file:line}

Asked of the compiler's preprocessor, which goes on behind a header that is not there; a build ends
at the first.
"""
from __future__ import annotations

import re
from pathlib import Path

from ..base import paths
from ..base.errors import BuildError
from ..toolchain import compilers
from . import probe

OLDER = re.compile(r"(?:.*/)?env_binding\.h|Python\.h|numpy/.*")       # `bind --upgrade` drops them


def headers(folder: Path) -> dict[str, str]:
    """{"box2d/box2d.h": "game.h:3"}, in the order of their names."""
    header = paths.header_of(folder)
    binding = folder / "binding.c"
    source = binding if binding.is_file() else header
    compiler = compilers.find_compiler()
    try:
        rule = compilers.run_compiler(
            [*compiler.command, *probe.clang_flags(folder), "-M", "-MG", str(source)],
            source=source, what=source.name, reads=True)
    except BuildError:
        return {}
    found: dict[str, str] = {}
    for name in sorted(set(re.split(r"[\s\\]+", rule.partition(":")[2])) - {""}):
        if not OLDER.fullmatch(name) and not Path(name).exists():
            where = _place(folder, name)
            found |= {name: where} if where else {}
    return found


def _place(folder: Path, header: str) -> str | None:
    """file:line of the author's #include."""
    include = re.compile(rf'(?m)^[ \t]*#[ \t]*include[ \t]*[<"]{re.escape(header)}[>"]')
    for file in paths.c_files(folder):
        if found := include.search(text := paths.text(file)):
            return f"{file.name}:{text.count(chr(10), 0, found.start()) + 1}"
    return None
