"""The order of the house: packages read from top to bottom, and no circles of files or folders."""
from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from helpers.places import ROOT

PACKAGE = ROOT / "puffer_sdk"
# No package imports from one after it. A new package takes its place here
ORDER = ("base", "toolchain", "settings", "raylib", "env", "interop.python_envs",
         "interop.async_vector", "distributed", "scoring", "training", "policy", "checking",
         "mutate", "pictures", "interop.to_learners", "programs", "projects", "playing",
         "reporting", "reviewing", "debugging", "sweeping", "cli")
ROOMS = ("interop",)        # packages that only hold packages
C_ORDER = ("kernels", "trainer")
LONGEST = 400           # lines of a Python file without a reason in its first line


# ---- Python: imports, the lazy ones too ---------------------------------------------------------

def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(name: str) -> set[str]:
    """The modules of ours that this one takes something from."""
    path, found = MODULES[name], set()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text())
    if not name:        # the package itself lists for editors what it imports when it is asked for
        tree.body = [node for node in tree.body if not isinstance(node, ast.If)]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            start = [part for part in package if part][:len(package) - (node.level - 1)]
        elif node.module and node.module.split(".")[0] == "puffer_sdk":
            start = []
        else:
            continue
        given = node.module.split(".") if node.module else []
        base = start + (given if node.level else given[1:])
        for alias in node.names:
            full = ".".join([*base, alias.name])
            found.add(full if full in MODULES else ".".join(base))
    return found - {name}


@cache
def arrows() -> dict[str, set[str]]:
    return {name: imports(name) for name in MODULES}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of two or more that reach each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def place(name: str) -> int | None:
    """Where the package of a module stands in ORDER."""
    parts = name.split(".")
    package = ".".join(parts[:1 + (parts[0] in ROOMS)])
    return ORDER.index(package) if package in ORDER else None


def test_every_package_has_its_place():
    folders = {module_name(path) for pattern in ("*", *(f"{room}/*" for room in ROOMS))
               for path in PACKAGE.glob(f"{pattern}/__init__.py")}
    assert folders - set(ROOMS) == set(ORDER)


def test_no_package_imports_from_a_later_one():
    upward = [f"{name} -> {other}" for name, others in arrows().items() for other in sorted(others)
              if None not in (place(name), place(other)) and place(other) > place(name)]
    assert upward == []


def test_no_circle_of_modules():
    assert circles(arrows()) == []


def test_packages_have_no_code_in_their_init():
    """What a package's modules are is in its docstring; importing one module imports no other."""
    for path in PACKAGE.rglob("__init__.py"):
        if path.parent in (PACKAGE, PACKAGE / "cli"):
            continue
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree) and len(tree.body) == 1, path.relative_to(ROOT)


LISTED = re.compile(r"^ {0,4}([a-z_]+)(?:\.py|/)? {2,}\S", re.M)


def test_a_package_lists_modules_that_are_there():
    for path in PACKAGE.rglob("__init__.py"):
        listed = LISTED.findall(ast.get_docstring(ast.parse(path.read_text())) or "")
        there = {one.stem for one in path.parent.iterdir()}
        assert [name for name in listed if name not in there] == [], path.relative_to(ROOT)


def test_no_two_modules_have_one_name():
    """In a traceback or an editor's tab they would be the same file. Rules and what collects their
    facts have a folder each, whose name says which."""
    stems: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        if path.name != "__init__.py" and not name.startswith(("checking.rules.",
                                                               "checking.collect.")):
            stems.setdefault(path.stem, []).append(name)
    assert {stem: names for stem, names in stems.items() if len(names) > 1} == {}


def test_a_file_above_the_limit_says_why_in_its_first_line():
    for path in MODULES.values():
        lines = path.read_text().splitlines()
        assert len(lines) <= LONGEST or re.search(r"\blong\b", lines[0]), \
            f"{path.relative_to(ROOT)}: {len(lines)} lines"


# ---- C: includes, and calls of functions that another file defines ------------------------------

def strip(text: str) -> str:
    """C without comments and string literals."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def units(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*")
                  if path.suffix in (".c", ".h", ".cu", ".cuh", ".cc"))


def include_arrows(paths: list[Path]) -> dict[str, set[str]]:
    known = {path.relative_to(ROOT).as_posix() for path in paths}
    found, names = {}, [Path(name).name for name in known]
    alone = {Path(name).name: name for name in known if names.count(Path(name).name) == 1}
    for path in paths:
        here = path.relative_to(ROOT)
        found[here.as_posix()] = {
            candidate for name in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.M)
            for candidate in ((here.parent / name).as_posix(), name, alone.get(name))
            if candidate in known}
    return found


DEFINITION = re.compile(r"^(?!static|typedef|#|extern)[A-Za-z_][\w \t\*]*?\b(\w+)\([^;{]*\)\s*\{",
                        re.M)


def call_arrows(paths: list[Path]) -> dict[str, set[str]]:
    """file -> the files whose functions it calls or names."""
    texts = {path.relative_to(ROOT).as_posix(): strip(path.read_text()) for path in paths
             if path.suffix in (".c", ".cc", ".cu")}
    home = {}
    for name, text in texts.items():
        for function in DEFINITION.findall(text):
            home.setdefault(function, set()).add(name)
    found = {}
    for name, text in texts.items():
        words = set(re.findall(r"\b[A-Za-z_]\w+\b", text))
        found[name] = {next(iter(home[word])) for word in words & set(home)
                       if len(home[word]) == 1 and name not in home[word]}
    return found


@pytest.mark.parametrize("folders", [
    ("kernels", "trainer/common", "trainer/cpu"),
    ("kernels/cuda", "trainer/common", "trainer/cuda"), ("trainer/device",),
    ("puffer_sdk/checking/play", "puffer_sdk/checking/rules"),
    ("puffer_sdk/include",)], ids=" ".join)
def test_no_circle_of_c_files(folders):
    paths = units(*folders)
    assert len(paths) > 3
    graph = include_arrows(paths)
    assert circles(graph) == []
    for name, others in call_arrows(paths).items():
        graph[name] = graph.get(name, set()) | others
    assert circles(graph) == []


def test_no_c_folder_reaches_up():
    """kernels/ knows nothing of trainer/; common/ nothing of cpu/ and cuda/, nor these of each
    other."""
    graph = include_arrows(units(*C_ORDER))
    forbidden = (("kernels/", "trainer/"), ("trainer/common/", "trainer/cpu/"),
                 ("trainer/common/", "trainer/cuda/"), ("trainer/cpu/", "trainer/cuda/"),
                 ("trainer/cuda/", "trainer/cpu/"), ("trainer/device/", "trainer/cuda/"),
                 ("trainer/device/", "trainer/cpu/"), ("kernels/common/", "kernels/cpu/"),
                 ("kernels/common/", "kernels/cuda/"), ("kernels/cpu/", "kernels/cuda/"),
                 ("kernels/cuda/", "kernels/cpu/"))
    assert [f"{name} -> {other}" for name, others in graph.items() for other in others
            for low, high in forbidden if name.startswith(low) and other.startswith(high)] == []
