"""Which lines of the author's files were reached.  gcov's counts -> Facts.lines"""
import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ....base import limited
from ....toolchain import compilers
from ...core.facts import Facts, ranges
from ...core.result import LinesReached


def read(facts: Facts, data: Path) -> None:
    """Fill facts.lines (file -> line -> how often) from a .gcda file, or say why not."""
    compiler = compilers.find_compiler()
    if compiler.kind != "gcc":
        facts.skipped["lines"] = "only gcc counts lines"
        return
    if not data.is_file():
        facts.skipped["lines"] = facts.skipped.get(
            "trace-debug", "the environment did not survive the -O0 build")
        return
    try:
        named = subprocess.run([*compiler.command, "-print-prog-name=gcov"], capture_output=True,
                               text=True, timeout=20, check=False).stdout.strip()
        candidate = Path(os.path.realpath(compiler.path))
        candidate = candidate.with_name(candidate.name.replace("gcc", "gcov"))
        is_gcov = candidate.name != Path(compiler.path).name and candidate.is_file()
        gcov = str(candidate) if is_gcov else shutil.which(named or "gcov") or "gcov"
        done = subprocess.run(limited.words([gcov, "--json-format", "--stdout", data.name]),
                              cwd=data.parent, capture_output=True, timeout=60, check=False)
        text = done.stdout
        if text[:2] == b"\x1f\x8b":
            text = gzip.decompress(text)
        document = json.loads(text)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        facts.skipped["lines"] = "gcov, which comes with gcc, did not answer"
        return
    folder = facts.known_spec.folder
    for file in document.get("files", ()):
        path = Path(os.path.normpath(os.path.join(document.get("current_working_directory", ""),
                                                  file["file"])))
        if folder not in path.parents or "build" in path.relative_to(folder).parts:
            continue
        names = {each["name"]: each["demangled_name"].partition("(")[0]     # of C++
                 for each in file.get("functions", ())}
        counts = facts.lines.setdefault(str(path.relative_to(folder)), {})
        for line in file.get("lines", ()):
            if line.get("function_name"):
                name = names.get(line["function_name"], line["function_name"])
                facts.functions.setdefault(name, []).append(
                    (str(path.relative_to(folder)), line["line_number"]))
            number = line["line_number"]
            counts[number] = max(counts.get(number, 0), line["count"])


def summary(facts: Facts) -> LinesReached:
    """How much of what plays was reached."""
    if not facts.lines:
        return {"reached": None, "total": None, "missed": [],
                "skipped": facts.skipped.get("lines", "the environment was not run")}
    names = {function.name for function in facts.source.reach("c_step", "c_reset")}
    wanted: dict[str, set[int]] = {}
    for name in sorted(names & set(facts.functions)):
        for file, line in facts.functions[name]:
            wanted.setdefault(file, set()).add(line)
    missed, total, lost = [], 0, 0
    for file, numbers in sorted(wanted.items()):
        counts = facts.lines[file]
        without = [n for n in sorted(numbers) if counts[n] == 0]
        total += len(numbers)
        lost += len(without)
        for first, last in _spans(sorted(numbers), without):
            missed.append(f"{file}:{first}" + (f"-{last}" if last > first else ""))
    return {"reached": total - lost, "total": total, "missed": missed, "skipped": None}


def _spans(lines: list[int], without: list[int]) -> Iterator[tuple[int, int]]:
    """Missed lines as ranges; lines without code do not split them."""
    index = {line: i for i, line in enumerate(lines)}
    for first, last in ranges(index[line] for line in without):
        yield lines[first], lines[last]
