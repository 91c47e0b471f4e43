"""What a hand-written binding says, checked against the contract.  binding.c -> problems, remarks

As PufferLib 4.0 includes it: vecenv.h calls what the binding defines, and OBS_TENSOR_T says what
observations are, whatever the struct calls them.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeVar

from ..base import paths
from ..base.errors import BuildError, DialectError, PufferError
from ..base.spec import OBS_TENSORS, Remark
from . import contract, dialects, pufferlib5
from .contract import BINDING_MACROS, OBS_TYPES, TENSORS
from .source import Source

Named = TypeVar("Named")


@dataclass
class Bound(Source):
    """One environment's binding, as it is read; `problems` grows as it goes."""

    problems: list[PufferError] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)   # names in problems: clang trips over them
    struct_name: str = ""               # of the env

    def problem(self, code: str | None, message: str, where: object = None, *,
                expected: object = None, actual: object = None, hint: str | None = None,
                upgrade: str | None = None) -> None:
        error = BuildError(self.named(message), code=code, where=where or self.header.name,
                           expected=self.named(expected), actual=self.named(actual),
                           hint=self.named(hint))
        error.upgrade = upgrade
        self.problems.append(error)

    def named(self, text: Named) -> Named:
        """A text with the names that the functions have in this form."""
        return type(text)(pufferlib5.named(text)) if self.is_form5 and isinstance(text, str) \
            else text

    def object_to(self, code: str, message: str, where: str, *, expected: str | None = None,
                  actual: str | None = None, hint: str | None = None,
                  upgrade: str | None = None) -> None:
        """A problem, or where a hand-written binding decides what is bound, a remark."""
        if self.binding:
            self.remarks.append(Remark(code, self.named(message), where, expected, actual, hint))
        else:
            self.problem(code, message, where, expected=expected, actual=actual, hint=hint,
                         upgrade=upgrade)

    def refused_tensor(self) -> bool:
        """True if OBS_TENSOR_T names a type that is refused, whatever observations are."""
        return "OBS_TENSOR_T" in self.macros and self.macros["OBS_TENSOR_T"][0] not in TENSORS

    def typed_by_tensor(self, types: dict[str, str]) -> bool:
        """True where observations are a void*, as they are to PufferLib, and OBS_TENSOR_T says what
        lies there."""
        return bool(self.binding) and types.get("observations") == contract.UNTYPED \
            and "OBS_TENSOR_T" in self.macros

    def check_tensor_type(self, types: dict[str, str]) -> None:
        if "OBS_TENSOR_T" not in self.macros:
            self.check_tensor_is_declared(types)
            return
        declared = self.macros["OBS_TENSOR_T"][0]
        if wrong := contract.wrong_tensor(declared, types.get("observations", "")):
            self.problem("PUF103", wrong[0], self.macro_place("OBS_TENSOR_T"), expected=wrong[1],
                         actual=declared)

    def check_tensor_is_declared(self, types: dict[str, str]) -> None:
        """A hand-written binding of an older PufferLib does not say OBS_TENSOR_T."""
        if not self.binding or self.is_form5:
            return
        self.absent.add("OBS_TENSOR_T")
        tensor = OBS_TENSORS[OBS_TYPES.get(types.get("observations", ""), "f32")]
        self.problem("PUF103", "the binding does not define OBS_TENSOR_T: it is that of an older "
                     "PufferLib", self.place_of_include() or self.binding.name,
                     expected=f'#define OBS_TENSOR_T {tensor}, above #include "vecenv.h"',
                     hint=f"{dialects.upgrade(self.name)} writes it",
                     upgrade=dialects.upgrade(self.name))

    def guess_struct(self) -> str:
        """The struct name to show in a hint: what another function takes, else CamelCase."""
        for name in contract.FUNCTIONS:
            cursor = self.funcs.get(name)
            for argument in cursor.get_arguments() if cursor else ():
                if spelling := argument.type.get_pointee().spelling:
                    return str(spelling)
        return "".join(part.title() for part in self.name.split("_"))

    def check_binding(self) -> None:
        """A hand-written binding defines Env, my_init and my_log, and uses the MY_ macros that
        vecenv.h knows."""
        named = (r"(?m)^\s*#\s*define\s+Env\b|\}\s*Env\s*;|\bstruct\s+Env\b"
                 r"|\btypedef\b[^;{]*\bEnv\s*;")
        if self.binding and not re.search(named, "\n".join(self.texts().values())):
            self.absent |= {"Env", "my_init", "my_log"}
            self.problem("PUF101", "the binding does not say which struct is the env",
                         self.binding.name, hint='before #include "vecenv.h": #define Env '
                         + (self.struct_name or self.guess_struct()))
        for name, arguments, unless in (("my_init", "Env* env, Dict* kwargs", "MY_VEC_INIT"),
                                        ("my_log", "Log* log, Dict* out", None)):
            if self.binding and unless not in self.binding_macros and not (
                    name in self.absent or name in self.funcs):
                self.problem("PUF101", f"{name} is not defined" if self.is_form5
                             else f"the binding does not define {name}", self.binding.name,
                             hint=f"write void {name}({arguments}) {{ ... }}")
        theirs = "\n".join(paths.text(path) for path in (
            tree / "vecenv.h" for tree in paths.checkout_includes(self.folder)) if path.is_file())
        for name, place in self.binding_macros.items():
            if not self.binding or name in BINDING_MACROS:
                continue
            if theirs and not re.search(rf"\b{name}\b", theirs):
                self.remarks.append(Remark(
                    "PUF101", f"{name} has no effect: the checkout's vecenv.h does not read it",
                    place, expected=f"one of {', '.join(BINDING_MACROS)}", actual=name))
                continue
            self.problems.append(DialectError(
                f"{name} is not supported", where=place,
                expected=f"one of {', '.join(BINDING_MACROS)}", actual=name))
