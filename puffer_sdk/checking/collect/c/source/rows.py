"""What the child that reads an author's C hands over, as JSON.  collecting.py -> read.py"""
from typing import TypedDict

from .....env.syntax import Row, Static

# name, key, type, whether it points to a struct, what it points to
ParameterRow = tuple[str, int, str, bool, str]
# name, file, line, line of the body, its text, parameters, the tree
FunctionRow = tuple[str, str, int, int, str, list[ParameterRow], list[Row]]
# key, name, file, line, type, the tree
VariableRow = tuple[int, str, str, int, Static, list[Row] | None]


class Request(TypedDict):
    """What of an environment is read, and how."""

    folder: str
    flags: list[str]


class ProgramRequest(Request):
    """Another file of its folder."""

    main: str
    unsaved: dict[str, str]
    options: int


class Collected(TypedDict):
    """Functions and file-scope variables of the author's files, and the env struct's layout."""

    functions: list[FunctionRow]
    variables: list[VariableRow]
    layout: object      # of dataclasses.asdict, or None
