"""Read the Python half of a PufferLib 3 environment.  NAME.py -> sizes, agents, defaults

The file is read, never run: numbers, the constructor's defaults, and arithmetic over both.
"""
from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base import paths

ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
              ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow,
              ast.Mod: operator.mod}
COMPARISONS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
               ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
CALLS: dict[str, Callable[..., object]] = {
         "int": int, "float": float, "ceil": math.ceil, "len": len, "max": max, "min": min,
         "sum": sum}
KINDS = {"list": list, "int": int, "float": float}
TENSORS = {"float32": "FloatTensor", "uint8": "ByteTensor", "int8": "ByteTensor",
           "int32": "IntTensor"}


@dataclass
class PythonEnv:
    """None: it does not follow from the file."""

    path: Path
    obs_size: int | None = None
    obs_type: str | None = None                 # FloatTensor, ByteTensor, IntTensor
    act_sizes: tuple[int, ...] | None = None    # 1 = continuous
    agents: int | str | None = None             # of one env: a number, or the setting that says it
    defaults: dict[str, float] = field(default_factory=dict)    # of the constructor
    changed: dict[str, str] = field(default_factory=dict)   # setting -> what C gets instead of it
    actions: str | None = None                  # what C gets, where that is computed of them


Names = dict[str, Any]          # of module, constructor and self.: what each stands for


class _Unknown(Exception):
    pass


def read(path: Path, given: Mapping[str, float] | None = None) -> PythonEnv:
    """What follows from the file; nothing, if it is missing or not Python.

    given   what the constructor is called with, instead of its defaults: [env] of the ini
    """
    made = PythonEnv(path)
    try:
        tree = ast.parse(paths.text(path, "strict"))
    except (OSError, ValueError, SyntaxError):
        return made
    methods = [item for node in tree.body if isinstance(node, ast.ClassDef)
               for item in node.body if isinstance(item, ast.FunctionDef)]
    names: Names = {}
    _assign(tree.body, names, made)
    for step in [method for method in methods if method.name == "step"][:1]:
        made.actions = _computed_actions(step)
    for init in [method for method in methods if method.name == "__init__"][:1]:
        arguments = [*init.args.posonlyargs, *init.args.args]
        pairs = [*zip(arguments[::-1], init.args.defaults[::-1], strict=False),
                 *((a, d) for a, d in zip(init.args.kwonlyargs, init.args.kw_defaults,
                                          strict=True) if d is not None)]
        for argument, default in reversed(pairs):
            try:
                names[argument.arg] = _value(default, names)
            except _Unknown:
                continue
        names.update(given or {})
        made.defaults = {name: value for name, value in names.items()
                         if isinstance(value, (int, float)) and name != "num_envs"}
        names["num_envs"] = 1
        _assign(init.body, names, made)
        for name, expression in _keywords(init):
            value = evaluate(expression, names)
            if isinstance(value, (int, float)) and made.defaults.setdefault(name, value) != value:
                made.changed[name] = f"{ast.unparse(expression)} = {value:g}"
        if isinstance(made.agents, str) and made.agents not in made.defaults:
            made.agents = None
    return made


def _computed_actions(step: ast.FunctionDef) -> str | None:
    """The arithmetic that step does on the actions, before it stores them for C."""
    known: dict[str, ast.expr] = {}
    for node in ast.walk(step):
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1):
            continue
        match node.targets[0]:
            case ast.Name(id=name):
                known[name] = node.value
            case ast.Subscript(value=ast.Attribute(attr="actions")):
                name = getattr(node.value, "id", "")
                value = known.get(name, node.value)
                if any(isinstance(each, ast.BinOp) for each in ast.walk(value)):
                    return ast.unparse(value)
    return None


def _keywords(init: ast.FunctionDef) -> list[tuple[str, ast.expr]]:
    """What the constructor hands to the C side."""
    return [(keyword.arg, keyword.value) for node in ast.walk(init) if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute) and node.func.attr in ("vec_init", "env_init")
            for keyword in node.keywords if keyword.arg]


def _assign(body: list[ast.stmt], names: Names, made: PythonEnv) -> None:
    for node in body:
        if isinstance(node, ast.If):                # a branch counts where the test is known
            try:
                _assign(node.body if _value(node.test, names) else node.orelse, names, made)
            except _Unknown:
                _assign(node.body, names, made)
            continue
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1):
            continue
        target = node.targets[0]
        name = getattr(target, "attr", getattr(target, "id", None))
        if name == "single_observation_space":
            _observation(node.value, names, made)
        elif name == "single_action_space":
            made.act_sizes = _actions(node.value, names)
        elif name == "num_agents":
            made.agents = _agents(node.value, names)
        elif name:
            name = f"self.{name}" if isinstance(target, ast.Attribute) else name
            try:
                names[name] = _value(node.value, names)
            except _Unknown:
                names.pop(name, None)


def _space(node: ast.expr) -> tuple[str, dict[str, ast.expr]] | None:
    """A call of Box, Discrete, ...: its name and its arguments."""
    if not isinstance(node, ast.Call):
        return None
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    order = {"Box": ("low", "high", "shape", "dtype"), "Discrete": ("n",),
             "MultiDiscrete": ("nvec",)}.get(name)
    if order is None:
        return None
    return name, {**dict(zip(order, node.args, strict=False)),
                  **{keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}}


def _observation(node: ast.expr, names: Names, made: PythonEnv) -> None:
    space = _space(node)
    if space is None or space[0] != "Box" or "shape" not in space[1]:
        return
    try:
        shape = _value(space[1]["shape"], names)
        shape = shape if isinstance(shape, list) else [shape]
        made.obs_size = int(math.prod(shape))
        names["single_observation_space.shape"] = shape
    except (_Unknown, TypeError, ValueError):
        return
    dtype = space[1].get("dtype")
    made.obs_type = TENSORS.get(getattr(dtype, "attr", "float32"))


def _actions(node: ast.expr, names: Names) -> tuple[int, ...] | None:
    space = _space(node)
    try:
        if space and space[0] == "Discrete":
            return (int(_value(space[1]["n"], names)),)
        if space and space[0] == "MultiDiscrete":
            return tuple(int(width) for width in _value(space[1]["nvec"], names))
        if space:
            shape = _value(space[1]["shape"], names) if "shape" in space[1] else (1,)
            return (1,) * int(math.prod(shape if isinstance(shape, (list, tuple)) else [shape]))
    except (_Unknown, KeyError, TypeError, ValueError):
        pass
    return None


def _agents(node: ast.expr, names: Names) -> int | str | None:
    """num_envs * X, sum(X): the setting X; num_envs alone, or a number: how many."""
    match node:
        case ast.Call(func=ast.Name(id="sum"), args=[ast.Name(id=name)]):
            return name
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = [side.id if isinstance(side, ast.Name) else None for side in (node.left,
                                                                            node.right)]
        other = [side for side in sides if side != "num_envs"]
        if "num_envs" in sides and other and other[0]:
            return other[0]
    value = evaluate(node, names)
    return int(value) if isinstance(value, (int, float)) else None


def evaluate(node: ast.expr, names: Mapping[str, object]) -> object:
    """The value of an expression, None where it has none."""
    try:
        return _value(node, dict(names))
    except _Unknown:
        return None


def _value(node: ast.expr, names: Names) -> Any:
    """The value of an expression. Raises _Unknown."""
    try:
        return _known(node, names)
    except (KeyError, TypeError, ValueError, ArithmeticError, IndexError):
        raise _Unknown from None


def _known(node: ast.expr, names: Names) -> Any:
    match node:
        case ast.Constant(value=value) if isinstance(value, (int, float, str)):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return names[f"self.{name}"]
        case ast.Attribute(value=ast.Attribute(attr=name), attr="shape"):
            return names[f"{name}.shape"]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return COMPARISONS[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id="isinstance"), args=[what, ast.Name(id=kind)]):
            return isinstance(_value(what, names), KINDS[kind])
        case ast.Subscript(value=whole, slice=ast.Slice(lower=None, upper=end, step=None)) if end:
            return _value(whole, names)[:_value(end, names)]
        case ast.Subscript(value=whole, slice=index):
            return _item(_value(whole, names), index, names)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, names), _value(right, names)
            if isinstance(b, list):
                a, b = b, a
            if not abs(b) <= (64 if isinstance(op, ast.Pow) or isinstance(a, list) else 1e9):
                raise _Unknown          # too large to be a size
            return ARITHMETIC[type(op)](a, b)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [_value(item, names) for item in items]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
            return CALLS[name](*(_value(argument, names) for argument in arguments))
    raise _Unknown


def _item(items: list[Any], index: ast.expr, names: Names) -> Any:
    """One of a list; where the index is not known, what all of them are."""
    try:
        return items[_value(index, names)]
    except _Unknown:
        if any(item != items[0] for item in items):
            raise
        return items[0]
