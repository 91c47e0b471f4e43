"""raylib for people who do not draw. In: the `raylib` wheel. Out: headers, and a null library.

The wheel's headers have been through a preprocessor: no guards, no bool, no macros. `headers`
puts those back. The null library defines every function of raylib.h and rlgl.h, each returning
zero, so that an env library opens and closes where nothing draws (the loader would end the
process at the first call of a missing function). raymath is never stubbed: include/raymath.h
computes.

Everything lands in the cache under a name that holds a hash of what it was made from.
"""
from __future__ import annotations

import ast
import ctypes
import hashlib
import platform
import re
import threading
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata
from pathlib import Path

from ..base import files, paths
from ..base.errors import BuildError, RunError
from ..toolchain import compilers
from ..toolchain.libraries import compile_library, is_intact, seal
from . import null

PIN = "raylib==6.0.1.1"
VARIANTS = ("raylib", "raylib_sdl", "raylib_drm", "raylib_dynamic")     # one folder, four wheels

# Guard macros of raylib's own headers: whoever comes first defines the type.
_GUARDED = {"Vector2": "RL_VECTOR2_TYPE", "Vector3": "RL_VECTOR3_TYPE",
            "Vector4": "RL_VECTOR4_TYPE", "Quaternion": "RL_QUATERNION_TYPE",
            "Matrix": "RL_MATRIX_TYPE", "Color": "RL_COLOR_TYPE",
            "Rectangle": "RL_RECTANGLE_TYPE"}

_NOTICE = """\
// {name} -- altered: made by puffer-sdk from the {wheel} wheel, which carries it without
// guards and macros. Do not edit: it is recreated when it is gone.
"""

_COMMON = """\
#include <stdbool.h>

#ifndef PI
    #define PI 3.14159265358979323846f
#endif
#ifndef DEG2RAD
    #define DEG2RAD (PI/180.0f)
#endif
#ifndef RAD2DEG
    #define RAD2DEG (180.0f/PI)
#endif
#ifndef RLAPI
    #define RLAPI
#endif
#ifndef RL_MALLOC
    #define RL_MALLOC(size) malloc(size)
#endif
#ifndef RL_CALLOC
    #define RL_CALLOC(count, size) calloc(count, size)
#endif
#ifndef RL_REALLOC
    #define RL_REALLOC(pointer, size) realloc(pointer, size)
#endif
#ifndef RL_FREE
    #define RL_FREE(pointer) free(pointer)
#endif
"""

# Fields that raylib 5.5 had elsewhere or called otherwise -> both, at one address
_OLD_FIELDS = {
    "int keyframeCount;": "union { int keyframeCount; int frameCount; };",
    "ModelAnimPose *keyframePoses;":
        "union { ModelAnimPose *keyframePoses; Transform **framePoses; };",
    "ModelSkeleton skeleton;":          # C++ has no structs without a name
        "\n#ifdef __cplusplus\nModelSkeleton skeleton;\n#else\nunion { ModelSkeleton skeleton; "
        "struct { int boneCount; BoneInfo *bones; Transform *bindPose; }; };\n#endif",
}

_COMPOUND_LITERAL = """\
#ifdef __cplusplus
    #define CLITERAL(type) type
#else
    #define CLITERAL(type) (type)
#endif
"""

_LIBRARY_BUILDS = """\
// In an env library chance comes from the env's own generator: the same seed, the same game.
#ifdef PUFFER_LIBRARY
    #define GetRandomValue(lo, hi) puffer_random_value(lo, hi)
    #define SetRandomSeed(seed) ((void)(seed))
#endif
"""


@dataclass(frozen=True)
class Wheel:
    """An installed wheel that carries raylib's headers."""

    name: str           # "raylib"
    version: str        # "6.0.1.1"
    folder: Path        # raylib.h.modified, rlgl.h.modified, raymath.h.modified, defines.py, ...

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def read(self, name: str) -> str:
        """The text of one of its files. Raises BuildError when it is missing."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BuildError(f"the {self} wheel is damaged: {name} cannot be read",
                             where=self.folder, detail=str(error),
                             hint=f"pip install --force-reinstall {PIN}") from None


def find_wheel() -> Wheel:
    """The installed raylib wheel; nothing of it is imported (that would load OpenGL)."""
    for name in VARIANTS:
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        folder = Path(str(found.locate_file("raylib")))
        if (folder / "raylib.h.modified").is_file():
            return Wheel(name, found.version, folder)
    raise BuildError("the raylib wheel, whose headers are required to compile, is not installed",
                     hint=f"pip install {PIN}")


# ---- headers ---------------------------------------------------------------------------------

_FILES = ("raylib.h", "rlgl.h", "raymath.h", "raylib_null.c")


def headers() -> Path:
    """A folder with raylib.h, rlgl.h and raymath.h, made once per wheel version.

    The headers compile without warnings as C11 and C++17, in any order, any number of times.
    Raises BuildError when the wheel is missing or is not one we can read, RunError when there
    is nowhere to write.
    """
    wheel = find_wheel()
    folder = paths.cache_dir() / "raylib" / f"{wheel.name}-{wheel.version}-{_inputs_key(wheel)}"
    if not _is_complete(folder):                # a read-only cache that is complete will do
        folder = paths.writable(folder, purpose="raylib's headers")
    if not _is_complete(folder):
        write_files(wheel, folder)
    return folder


def write_files(wheel: Wheel, folder: Path) -> None:
    """Writes the headers and the null library's source into a folder that exists.

    Each file appears whole or not at all; processes that race write the same bytes.
    """
    texts = (raylib_h(wheel), rlgl_h(wheel), _raymath_text(), null.text(
        str(wheel), {name: wheel.read(f"{name}.modified") for name in ("raylib.h", "rlgl.h")}))
    with files.refused("cannot write raylib's headers", where=folder,
                       hint="free some space, or point PUFFER_CACHE at another disk"):
        for name, text in zip(_FILES, texts, strict=True):
            files.write(folder / name, text)
            seal(folder / name)


def _is_complete(folder: Path) -> bool:
    return all(is_intact(folder / name) for name in _FILES)


@cache
def _inputs_key(wheel: Wheel) -> str:
    """A hash of everything that the headers are made from, this file included."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in ("raylib.h.modified", "rlgl.h.modified", "defines.py", "colors.py"):
        digest.update(wheel.read(name).encode())
    digest.update(_raymath_text().encode() + _additions().encode())
    return digest.hexdigest()[:12]


def _raymath_text() -> str:
    return (paths.include_dir() / "raymath.h").read_text(encoding="utf-8")


def raylib_h(wheel: Wheel) -> str:
    """The text of raylib.h: the wheel's, with guards, types, macros and colours again."""
    body = _with_old_fields(_restore_types(wheel.read("raylib.h.modified")))
    body = re.sub(r"(\(\*TraceLogCallback\)\([^)]*?)void \* ?args\)", r"\1va_list args)", body)
    enumerators = set(re.findall(r"^\s+([A-Z][A-Z0-9_]+)\s*[=,]", body, re.MULTILINE))
    versions, aliases = [], []
    for name, value in _defines(wheel):
        if name.startswith("RAYLIB_VERSION"):
            versions.append((name, value))
        elif value in enumerators and not name.startswith("RL_"):
            aliases.append((name, value))
    colors = [(name, f"CLITERAL(Color){{ {', '.join(map(str, rgba))} }}")
              for name, rgba in _colors(wheel)]
    return "\n".join([
        _NOTICE.format(name="raylib.h", wheel=wheel), "#ifndef RAYLIB_H", "#define RAYLIB_H",
        "#include <stdarg.h>", _COMMON, _COMPOUND_LITERAL,
        _macros(versions), _macros(colors), _macros(aliases),
        "#define GetMouseRay GetScreenToWorldRay     // its name in older versions", "",
        _extern_c(body), _additions(), "#endif // RAYLIB_H", ""])


def with_additions(text: str) -> str:
    """raylib's own raylib.h, with what ours has and that lacks, before its guard ends."""
    head, guard, tail = _with_old_fields(text).rpartition("#endif")
    note = "\n// What follows was added by puffer-sdk; raylib's own file ends here.\n"
    return head + note + _additions() + guard + tail


def _with_old_fields(text: str) -> str:
    """The structs of models with the fields of 5.5 beside those of 6.0."""
    for field, both in _OLD_FIELDS.items():
        text = text.replace(field, both)
    return text


def _additions() -> str:
    """What every raylib.h ends with: chance from the env's generator, the names of 5.5, a
    pattern for textures that are missing."""
    return "\n".join([_LIBRARY_BUILDS, *(
        (paths.include_dir() / name).read_text(encoding="utf-8")
        for name in ("raylib_compat.h", "raylib_missing.h"))])


def rlgl_h(wheel: Wheel) -> str:
    """The text of rlgl.h: stands alone, or beside raylib.h in either order."""
    whole = wheel.read("raylib.h.modified")
    matrix = re.search(r"^typedef struct Matrix \{.*?^\} Matrix;", whole, re.DOTALL | re.MULTILINE)
    if matrix is None:
        raise _unreadable(wheel, "raylib.h.modified", "struct Matrix")
    constants = [(name, value) for name, value in _defines(wheel)
                 if name.startswith(("RL_", "RLGL_"))]
    constants += [("RL_CULL_DISTANCE_NEAR", "0.05"), ("RL_CULL_DISTANCE_FAR", "4000.0")]
    return "\n".join([
        _NOTICE.format(name="rlgl.h", wheel=wheel), "#ifndef RLGL_H", "#define RLGL_H", _COMMON,
        _macros(constants), _guarded("Matrix", matrix),
        _extern_c(wheel.read("rlgl.h.modified")), "#endif // RLGL_H", ""])


def _restore_types(text: str) -> str:
    """Puts the RL_..._TYPE guards around the types that other headers may define first."""
    for name in _GUARDED:
        text, count = re.subn(
            rf"^typedef (?:struct {name} \{{.*?^\}} {name}|\w+ {name});",
            partial(_guarded, name),
            text, count=1, flags=re.DOTALL | re.MULTILINE)
        if not count:
            raise BuildError(f"raylib's header no longer defines {name} as expected",
                             hint=f"pip install {PIN}")
    return text


def _guarded(name: str, definition: re.Match[str]) -> str:
    macro = _GUARDED[name]
    return f"#ifndef {macro}\n#define {macro}\n{definition[0]}\n#endif"


def _extern_c(body: str) -> str:
    return ("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + body.rstrip() +
            "\n\n#ifdef __cplusplus\n}\n#endif\n")


def _macros(pairs: list[tuple[str, str]]) -> str:
    width = max((len(name) for name, _ in pairs), default=0)
    return "".join(f"#ifndef {name}\n    #define {name:<{width}}  {value}\n#endif\n"
                   for name, value in pairs)


def _defines(wheel: Wheel) -> list[tuple[str, str]]:
    """The wheel's defines.py as C: (name, literal or other name), the first of each name."""
    found: dict[str, str] = {}
    for node in ast.parse(wheel.read("defines.py")).body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        if not isinstance(target, ast.Name):
            continue
        value = node.value
        if isinstance(value, ast.Constant):
            text = f'"{value.value}"' if isinstance(value.value, str) else repr(value.value)
        elif isinstance(value, ast.Attribute):          # raylib.MOUSE_BUTTON_LEFT
            text = value.attr
        else:
            continue                                    # PI / 180: _COMMON has it
        found.setdefault(target.id, text)
    return list(found.items())


def _colors(wheel: Wheel) -> list[tuple[str, tuple[int, ...]]]:
    found: list[tuple[str, tuple[int, ...]]] = []
    for node in ast.parse(wheel.read("colors.py")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = ast.literal_eval(node.value)
            if isinstance(value, tuple) and len(value) == 4:
                found.append((node.targets[0].id, value))
    if not found:
        raise _unreadable(wheel, "colors.py", "colours")
    return found


def _unreadable(wheel: Wheel, name: str, what: str) -> BuildError:
    return BuildError(f"{name} of the {wheel} wheel has no {what}", where=wheel.folder / name,
                      hint=f"pip install {PIN}")


# ---- the null library ------------------------------------------------------------------------

def null_source() -> Path:
    """raylib_null.c, in the folder of `headers`. Compile it with -I of that folder."""
    return headers() / "raylib_null.c"


def null_library(*, verbose: bool = False) -> Path:
    """libraylib_null-HASH.so, compiled once per wheel and compiler."""
    source = null_source()
    compiler = compilers.find_compiler()
    flags = ["-shared", "-fPIC", "-O1", "-std=c11"]
    key = hashlib.sha256("\n".join([source.parent.name, compiler.key, *flags,
                                    platform.machine()]).encode()).hexdigest()[:12]
    library = source.with_name(f"libraylib_null-{key}.so")
    if not is_intact(library):
        folder = paths.writable(source.parent, purpose="raylib's null library")
        library = folder / library.name
    if not is_intact(library):
        compile_library(library, [*compiler.command, *flags, f"-I{source.parent}", source],
                        source=source, what="raylib's null library", verbose=verbose)
    return library


_loaded: ctypes.CDLL | None = None
_lock = threading.Lock()


def load_null(*, beneath: bool = False) -> None:
    """Makes raylib's names resolvable in this process, once; a real raylib that is there stays.

    Call it before an env library is opened. Raises BuildError or RunError.
    beneath    also where a real raylib is there: for the names that it lacks
    """
    global _loaded
    with _lock:
        if _loaded is not None or (hasattr(ctypes.CDLL(None), "InitWindow") and not beneath):
            return
        library = null_library()
        try:
            _loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        except OSError:                         # damaged, or from another machine: once more
            files.remove(library)
            try:
                _loaded = ctypes.CDLL(str(null_library()), mode=ctypes.RTLD_GLOBAL)
            except OSError as error:
                raise RunError("cannot load raylib's null library", where=library,
                               detail=str(error), hint="set CC to a compiler of this machine"
                               ) from None
