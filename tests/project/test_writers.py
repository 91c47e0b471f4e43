"""Who writes, removes and renames files besides base/files.py, which follows no link; who reads
files besides base/files.py and base/paths.py, which wait for no pipe; and why."""
from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from helpers.places import ROOT

from puffer_sdk.base import paths

PACKAGE = ROOT / "puffer_sdk"
METHODS = {"write_text", "write_bytes", "unlink", "rename", "mkdir", "touch", "symlink_to",
           "hardlink_to", "rmdir", "chmod"}
OF_OS = {"replace", "rename", "renames", "remove", "unlink", "rmdir", "removedirs", "mkdir",
         "makedirs", "mkfifo", "mknod", "symlink", "link", "truncate", "open", "chmod"}
OF_SHUTIL = {"copy", "copy2", "copyfile", "copytree", "move", "rmtree", "copymode", "copystat"}
OF_TEMPFILE = {"mkdtemp", "mkstemp", "NamedTemporaryFile", "TemporaryDirectory"}

DEVNULL = "the null device, in place of a stream that is closed"
NAMELESS = "a file without a name, where memory cannot have a descriptor"
PRIVATE = "a folder that this process has just made for itself"
ALLOWED = {
    ("base/ui.py", "os.open"): DEVNULL, ("base/ui.py", "open"): DEVNULL,
    ("cli/__init__.py", "os.open"): DEVNULL, ("env/random_play.py", "os.open"): DEVNULL,
    ("interop/python_envs/shared_rows.py", "tempfile.mkstemp"): NAMELESS,
    ("interop/python_envs/shared_rows.py", "os.unlink"): NAMELESS,
    ("env/child_process.py", "tempfile.mkstemp"): NAMELESS,
    ("env/child_process.py", "os.unlink"): NAMELESS,
    ("env/child_pipe.py", "os.open"): "the log that the parent opened, where env code closed it",
    ("base/paths.py", "os.open"): "to read, without waiting for a pipe",
    ("training/locks.py", "os.open"): "a run's folder, to lock it; nothing is written",
    ("projects/probes.py", "tempfile.NamedTemporaryFile"): "asks whether a folder can be written",
    ("projects/other_form.py", "shutil.copytree"): PRIVATE,
    ("projects/other_form.py", ".symlink_to"): PRIVATE,
    ("pictures/film.py", "os.truncate"): "an open file, by its descriptor",
    ("programs/targets.py", ".chmod"): PRIVATE,
    ("checking/collect/c/deep.py", ".chmod"): PRIVATE,
    ("checking/collect/c/driver.py", ".chmod"): "the harness in the cache, just compiled",
    ("mutate/bench.py", "shutil.copytree"): PRIVATE,
    ("mutate/bench.py", ".symlink_to"): PRIVATE,
    ("projects/ocean.py", "shutil.copytree"): PRIVATE,
    ("reviewing/review.py", ".chmod"): PRIVATE, ("reviewing/reviewed_copy.py", ".chmod"): PRIVATE,
    ("reviewing/reviewed_copy.py", "os.chmod"): PRIVATE,
    ("reviewing/inside.py", ".mkdir"): "inside the sandbox",
    ("reviewing/inside.py", ".touch"): "inside the sandbox",
    ("reviewing/inside.py", ".write_text"): "inside the sandbox",
    ("reviewing/inside.py", "shutil.copytree"): "inside the sandbox",
    ("reviewing/inside.py", "tempfile.mkdtemp"): "inside the sandbox",
}
SECRET = "the user's secret: for its user alone, whole or not at all, and no link"
ALLOWED |= {("base/trust.py", name): SECRET for name in (
    "os.open", "os.link", "os.replace", "open", ".mkdir", ".unlink")} | {
    ("base/paths.py", name): "the folder that stands in, for its user alone" for name in (
        ".chmod", "tempfile.mkdtemp")}
PACKAGED = "what comes with the package"
READERS = {                 # module or package -> what it reads
    "base": "this and the user's secret, memory of processes, the null device",
    "raylib": "raylib's source and headers, in the cache", "env/abi.py": PACKAGED,
    "env/binding.py": PACKAGED, "env/gpu/programs.py": PACKAGED, "env/blocks.py": "/proc",
    "checking/core/kinds.py": PACKAGED, "cli/completing.py": PACKAGED,
    "sweeping/page/sweep_page.py": PACKAGED, "training/this_machine.py": "/proc",
    "pictures/screen/canvas.py": PACKAGED, "projects/scaffold.py": "its metadata, and PRIVATE",
    "projects/rendering.py": PACKAGED,
    "cli/cmd_completion.py": "a start file of the user's shell", "training/alive.py": "/proc",
    "pictures/record.py": "the recording just made", "reviewing/resource_meter.py": "/proc",
    "reviewing/inside.py": "inside the sandbox", "programs/targets.py": PRIVATE,
    "checking/collect/c/compare_traces.py": PRIVATE, "checking/collect/c/driver.py": PRIVATE,
    "checking/collect/c/deep.py": PRIVATE, "checking/collect/python/children.py": PRIVATE,
    "checking/core/statistics.py": PRIVATE,
    "mutate/bench.py": PRIVATE,
    "toolchain/binaries.py": "what a compiler has just made", "toolchain/compilers.py": "/proc",
    "toolchain/gpu_kept.py": "/proc",
    "distributed/group.py": "/proc", "interop/python_envs/cpu_usage.py": "/proc"}
NOT_FILES = {("training/loop.py", ".touch"), ("training/trainer_view.py", ".touch")}    # weights


def writers(tree: ast.AST):
    """(name, line) of each call that can write, make, rename or remove a file."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called, name = node.func, None
        if isinstance(called, ast.Name) and called.id == "open":
            name = "open" if writes(node, 1) else None
        elif isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else None
            for module, names in (("os", OF_OS), ("shutil", OF_SHUTIL), ("tempfile", OF_TEMPFILE)):
                if owner == module and called.attr in names:
                    name = f"{module}.{called.attr}"
            if owner not in ("os", "shutil", "tempfile", "files", "disk") and (
                    called.attr in METHODS or called.attr == "open" and writes(node, 0)):
                name = f".{called.attr}"
        if name:
            yield name, node.lineno


def writes(call: ast.Call, place: int) -> bool:
    """Whether the mode of an open() writes."""
    given = call.args[place] if len(call.args) > place else next(
        (each.value for each in call.keywords if each.arg == "mode"), None)
    return isinstance(given, ast.Constant) and isinstance(given.value, str) \
        and bool(set(given.value) & set("wax+"))


def readers(tree: ast.AST):
    """The line of each call that reads a file and would wait for a pipe."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
                isinstance(node.func, ast.Name) and node.func.id == "open"
                or isinstance(node.func, ast.Attribute) and (
                    node.func.attr in ("read_text", "read_bytes")
                    or node.func.attr == "open" and node.args
                    and isinstance(node.args[0], ast.Constant)
                    and str(node.args[0].value).startswith("r"))):
            yield node.lineno


def found() -> dict[tuple[str, str], list[int]]:
    places: dict[tuple[str, str], list[int]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        if file != "base/files.py":
            for name, line in writers(ast.parse(path.read_text())):
                places.setdefault((file, name), []).append(line)
    return {place: lines for place, lines in places.items() if place not in NOT_FILES}


def test_base_files_alone_writes():
    here = found()
    new = [f"{file}:{lines[0]}: {name}" for (file, name), lines in here.items()
           if (file, name) not in ALLOWED]
    assert not new, "use base/files.py, which follows no link, or give a reason: " + ", ".join(new)
    assert set(ALLOWED) <= set(here), "these write no longer: strike them"


def test_base_alone_reads_what_may_be_a_pipe():
    used = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        why = [place for place in READERS if file == place or file.startswith(f"{place}/")]
        lines = list(readers(ast.parse(path.read_text())))
        assert not lines or why, f"{file}:{lines[0]}: use files.read, or paths.content or " \
            "paths.text for an author's file; or give a reason"
        used |= set(why if lines else ())
    assert used == set(READERS), "these read no longer: strike them"


def test_a_pipe_in_the_place_of_an_authors_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text("12345")
    (tmp_path / "link").symlink_to("large")
    for path, most in ((tmp_path / "pipe", 9), (Path("/dev/zero"), 9), (tmp_path, 9),
                       (tmp_path / "large", 4)):
        with pytest.raises(OSError, match="it is a"):
            paths.content(path, most)
    assert paths.text(tmp_path / "link") == "12345"


def test_the_lint_sees_every_kind_of_writer():
    text = ("open('a', 'w')\nopen('a', mode='rb+')\np.open('wb')\np.write_text('')\n"
            "os.replace(a, b)\nshutil.rmtree(a)\np.mkdir()\ntempfile.mkdtemp()\nos.open(a, 1)\n"
            "p.symlink_to(b)")
    assert len(list(writers(ast.parse(text)))) == 10
    quiet = "open('a')\nopen('a', 'rb')\nfiles.open(a, 'wb')\ntext.replace('a', 'b')\nzip.open(a)"
    assert not list(writers(ast.parse(quiet)))
