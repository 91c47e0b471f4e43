"""What C converts by itself and C++ does not, and how types are spelt.  libclang's types -> text"""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clang.cindex import Cursor, Type

# What C++ keeps for itself, and a C program may call its variables
KEYWORDS = """and and_eq bitand bitor bool catch char16_t char32_t char8_t class compl concept
    const_cast consteval constexpr constinit co_await co_return co_yield decltype delete
    dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public reinterpret_cast requires static_cast template this
    throw true try typeid typename using virtual wchar_t xor xor_eq""".split()

WORDS = re.compile(r'"(?:\\.|[^"\\])*"' r"|'(?:\\.|[^'\\])*'" rf"|\b({'|'.join(KEYWORDS)})\b")
_INTEGERS = {"INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "SHORT", "USHORT", "CHAR_S",
             "UCHAR", "SCHAR"}
PLAIN = _INTEGERS | {"BOOL", "FLOAT", "DOUBLE", "ENUM", "POINTER", "RECORD"}


def conversion(cursor: Cursor, child: Cursor, parent: Cursor) -> tuple[str, str] | None:
    """What has to stand around a value that C converts by itself and C++ does not."""
    to, given = cursor.type.get_canonical(), child.type.get_canonical()
    to_kind, from_kind = to.kind.name, given.kind.name
    if unbound(to.spelling) == unbound(given.spelling):
        return None                             # a value is read, no more
    if to_kind == from_kind == "POINTER" and _is_plain(to.get_pointee(), given.get_pointee()):
        return None                             # and memcpy learns how the two are aligned
    spelling = renamed(unbound(cursor.type.spelling))
    named = "(unnamed" not in spelling and "(anonymous" not in spelling
    if to_kind == "POINTER" and (from_kind == "POINTER" or (
            from_kind in _INTEGERS and child.kind.name not in ("INTEGER_LITERAL", "PAREN_EXPR"))):
        return (f"(({spelling})(", "))") if named else ("puffer_pointer{(", ")}")
    if child.kind.name == "STRING_LITERAL" and to.spelling == "char *" and \
            parent.kind.name != "UNEXPOSED_EXPR":    # C's text may be written to
        return "((char *)(", "))"
    if to_kind == "ENUM":
        return (f"(({spelling})(", "))") if named else ("puffer_number{(long long)(", ")}")
    if from_kind == "ENUM" and to_kind == "UINT":       # without negatives it is unsigned in C
        return f"(({spelling})(", "))"
    return None


def _is_plain(to: Type, given: Type) -> bool:
    """Whether C++, too, takes a pointer to `given` as one to `to`: as void*, and less const."""
    return bool(to.kind.name == "VOID" and not given.kind.name.startswith("FUNCTION")
            and not given.is_volatile_qualified()
            and (to.is_const_qualified() or not given.is_const_qualified()))


def renamed(kind: str) -> str:
    """A type as clang spells it, with the names that are C++'s own written otherwise."""
    kind = kind.replace("_Bool", "\0")
    return WORDS.sub(lambda match: match[1] + "_" if match[1] else match[0], kind
                      ).replace("\0", "_Bool")


def unbound(kind: str) -> str:
    """The type of a value that is read: int *const -> int *, const enum Way -> enum Way."""
    kind = re.sub(r"(\s*\b(const|volatile|restrict))+$", "", kind)
    return kind if "*" in kind else re.sub(r"\b(const|volatile) ", "", kind)


def unqualified(kind: str) -> str:
    """const int[3] -> int[3]: a box is assigned to."""
    return kind if "*" in kind else re.sub(r"\b(const|volatile) ", "", kind)
