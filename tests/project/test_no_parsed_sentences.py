"""No code decides by the words of our own errors: what matters of them is a field of theirs."""
from __future__ import annotations

import ast
from collections.abc import Iterator

from puffer_sdk.base.paths import PACKAGE

OURS = ("message", "hint", "detail")        # the parts of an error that hold sentences
METHODS = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition",
           "split", "rsplit", "find", "rfind", "index", "replace"}
PATTERNS = {"search", "match", "fullmatch", "split", "sub", "findall", "finditer"}

# Whose words these are. {(module, function): who says them}
ALLOWED = {
    ("base/records.py", "convert"): "msgspec",
    ("checking/collect/c/deep.py", "_run_msan"): "the linker",
    ("checking/report/sarif.py", "_fingerprint"): "not a decision: numbers leave a fingerprint",
    ("env/build.py", "of_assertion"): "the compiler: it repeats a static assertion of vecenv.h",
    ("env/child_pipe.py", "_is_out_of_memory"): "PyTorch, which has no type for it",
    ("env/gpu/programs.py", "_not_read"): "the preprocessor",
    ("env/gpu/programs.py", "_with_hint"): "the compiler of GPU code",
    ("env/library.py", "__init__"): "the dynamic linker",
    ("interop/python_envs/games/gymnasium_games.py", "_failed"): "Python, of an unpacking",
    ("interop/python_envs/makers.py", "make"): "Python, of an unexpected argument",
    ("interop/python_envs/probe_env.py", "start"): "Python, of an unexpected argument",
    ("programs/targets.py", "_compile"): "the linker",
    ("raylib/recipes.py", "check_desktop_headers"): "the compiler and the linker",
    ("training/backends.py", "leave_gpu"): "PyTorch, which has no type for it",
    ("training/reference/own_network.py", "hint_for"): "PyTorch, of a product of two types",
}


def readings(text: str) -> Iterator[tuple[str, int]]:
    """(function, line) of each place that compares, cuts or matches an error's words."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree)
                 if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for scope in (tree, *functions):
        nodes = list(_of_scope(scope))
        caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler)} | {
            arg.arg for node in nodes if isinstance(node, ast.arguments) for arg in node.args
            if arg.annotation and ast.unparse(arg.annotation).endswith(("Error", "Exception"))}
        named = {target.id for node in nodes if isinstance(node, ast.Assign)
                 for target in node.targets
                 if isinstance(target, ast.Name) and _is_words(node.value, caught, set())}
        for node in nodes:
            if _reads(node, caught, named):
                yield getattr(scope, "name", ""), node.lineno


def _of_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions within it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _of_scope(child)


def _is_words(node: ast.AST, caught: set[str | None], named: set[str]) -> bool:
    """Whether this is an error's sentence: error.hint, str(error), (error.detail or "").strip()"""
    if isinstance(node, ast.BoolOp):
        return any(_is_words(value, caught, named) for value in node.values)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in ("strip", "lower") and \
                _is_words(node.func.value, caught, named)
        return isinstance(node.func, ast.Name) and node.func.id == "str" and any(
            isinstance(each, ast.Name) and each.id in caught for each in node.args)
    return isinstance(node, ast.Attribute) and node.attr in OURS \
        or isinstance(node, ast.Name) and node.id in named


def _reads(node: ast.AST, caught: set[str | None], named: set[str]) -> bool:
    def words(each: ast.AST) -> bool:
        return _is_words(each, caught, named)

    if isinstance(node, ast.Compare):
        kinds = (ast.In, ast.NotIn, ast.Eq, ast.NotEq)
        return isinstance(node.ops[0], kinds) and any(map(words, (node.left, *node.comparators)))
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    lines = any(isinstance(each, ast.Constant) and each.value == "\n" for each in node.args)
    return node.func.attr in METHODS and words(node.func.value) and not lines \
        or node.func.attr in PATTERNS and any(map(words, node.args))


def test_what_an_error_means_is_a_field_and_not_a_word_of_its_sentence():
    found = {(path.relative_to(PACKAGE).as_posix(), name): line
             for path in PACKAGE.rglob("*.py")
             for name, line in readings(path.read_text(encoding="utf-8"))}
    ours = {f"{module}:{line}, in {name}" for (module, name), line in found.items()
            if (module, name) not in ALLOWED}
    assert not ours, "give the error a field (base/errors.py), or say whose words these are"
    assert not ALLOWED.keys() - found.keys(), "they read nothing any more"


def test_each_way_to_read_words_is_seen():
    ways = ['"no such file" in error.message', 'error.hint.endswith("check")',
            're.search("gone", error.detail or "")', 'str(error).strip().startswith("died")',
            'PATTERN.fullmatch(error.message)', 'error.message.removeprefix("it ") != said',
            '"died" == str(error)', '(error.detail or "").partition(": ")']
    plain = ['str(error).partition("\\n")', 'error.code in KNOWN', 'error.message + error.hint',
             'str(other).startswith("died")', 'error.detail.splitlines()']
    around = "def run():\n    try:\n        work()\n    except PufferError as error:\n        {}\n"
    for way in ways:
        assert set(readings(around.format(way))) == {("run", 5)}, way
    for way in plain:
        assert not list(readings(around.format(way))), way
    assert list(readings(around.format('said = error.hint; "run" in said'))) == [("run", 5)]
