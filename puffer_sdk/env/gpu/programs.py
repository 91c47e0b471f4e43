"""Environments for a GPU: compile an author's C as it stands.  Spec -> a program that loads

trainer/device/env_program.h says what a program is: a cubin for one kind of GPU, made by NVRTC,
or a shared library for the emulated GPU, made by the C++ compiler of the same text. Neither needs
a GPU. Both are kept in the environment's build/, under a hash of all that they are made of.
"""
from __future__ import annotations

import hashlib
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...base import files, paths
from ...base.errors import BuildError, UsageError
from ...base.spec import Spec
from ...raylib import headers
from ...toolchain import compilers, gpu, messages, nvrtc
from ...toolchain.libraries import NATIVE, SHARED, compile_library, is_intact, prune, seal
from .. import binding, header
from ..build import EXACT
from . import translate
from .alignment import warn_of_casts

KEEP = 8                            # programs of one kind that stay in build/
ARCH = "90"                         # what is compiled for where there is no GPU
EMULATED_FLAGS = ("-xc++", "-std=gnu++20", "-O2", NATIVE, *EXACT, "-fPIC",
                  "-fno-finite-loops",      # C lets a loop go on for ever, C++ takes it for none
                  "-fvisibility=hidden", "-fpermissive", "-Wno-narrowing", "-w")
TRANSLATION = ("translate.py", "rewrite.py", "conversions.py", "initializers.py", "either.py",
               "text_edits.py")
AROUND = ("program_begin.h", "math_functions.h", "program_end.h")
_REFUSED = re.compile(r"PUFFER_REFUSED (\w+)")
_HINTS = (                          # what a C++ compiler says -> what to do
    (r'cannot be (used to initialize|assigned)|incompatible with parameter|invalid conversion|'
     r"cannot convert", "C++ converts less than C: write the cast"),
    (r"must have a constant value|not constant|dynamic initialization",
     "write the number, or give it to an enum"),
    (r"bypass|jump to|crosses init", "put braces around what stands behind the case or label"),
    (r"already been (declared|defined)|redefinition|redeclared", "C++ wants it defined once"))


@dataclass(frozen=True)
class Program:
    """What a compilation gave."""

    path: Path
    spec: Spec
    arch: str | None                # "90"; None: for the emulated GPU
    seconds: float
    cached: bool                    # True if an earlier one was still good


def default_arch() -> str:
    """That of the GPU that trains on this machine; else that of an H100."""
    usable = gpu.list_usable()
    return usable[0][1].arch if usable else ARCH


def build_program(env: Spec | Path, arch: str | None, *, verbose: bool = False) -> Program:
    """Compiles the environment (its Spec or folder), unless that was done before.

    arch    "90": a cubin for GPUs of this compute capability; None: a shared library for the
            emulated one
    Raises BuildError with the author's file and line, UsageError for a GPU that NVRTC does not
    know, RunError where nothing can be written.
    """
    began = time.perf_counter()
    spec = env if isinstance(env, Spec) else header.read(Path(env))
    if arch is None:
        compiler, maker = None, compilers.find_compiler()
        parts = [*EMULATED_FLAGS, maker.key, compilers.cpu_features_key()]
    else:
        compiler = nvrtc.find()
        check_arch(compiler, arch)
        parts = [*nvrtc.FLAGS, str(compiler)]
    folder = paths.writable(paths.build_dir(spec.folder), purpose="build products")
    text = preprocess(spec, folder, verbose=verbose)
    kind, suffix = ("emulated", ".so") if arch is None else (f"sm_{arch}", ".cubin")
    stem = f"{spec.name}_{kind}"
    path = folder / f"{stem}-{_key(text, parts)}{suffix}"
    cached = is_intact(path)
    if not cached:
        source = program_text(text)
        try:
            if compiler and arch:
                _write_cubin(path, compiler, source, arch, spec)
            else:
                _compile_emulated(path, source, spec, verbose)
        except BuildError as error:
            raise _with_hint(error) from None
        warn_of_casts(text, spec)
        prune(folder, stem, keep=KEEP, spare=path, suffix=suffix)
    return Program(path, spec, arch, time.perf_counter() - began, cached)


def check_arch(compiler: nvrtc.Nvrtc, arch: str) -> None:
    """UsageError where this NVRTC knows no such GPU."""
    known = compiler.archs()
    if known and arch not in known:
        raise UsageError(f"{compiler} knows no GPU of compute capability {arch}",
                         expected=f"one of {', '.join(known)}", actual=arch,
                         hint="for another, a newer CUDA" if arch.isdigit() else
                         "write 90 for compute capability 9.0")


# ---- the text ----------------------------------------------------------------------------------

def preprocess(spec: Spec, build_dir: Path, *, verbose: bool = False) -> bytes:
    """The binding with all that it includes, for a GPU: PUFFER_DEVICE is defined.

    Only our headers are there, also where the machine's variables name others, or a compiler that
    is a script.
    """
    source = binding.write(spec, build_dir)
    device = paths.include_dir() / "device"
    compiler = compilers.find_compiler()
    command: list[compilers.Word] = [
               *compiler.command, "-E", "-xc", "-std=gnu11", "-nostdinc", "-w",
               f"-I{spec.folder}", f"-I{device}", f"-I{headers.headers()}",
               f"-I{paths.data_dir('trainer') / 'device'}",     # before a compiler's -isystem
               "-U__SSE__", "-U__SSE2__", "-U_OPENMP", "-DPUFFER_LIBRARY", "-DPUFFER_DEVICE=1",
               "-DRAYMATH_STATIC_INLINE", f'-DPUFFER_NAME="{spec.name}"',
               *spec.field_flags,
               *(spec.final_obs.flags if spec.final_obs and spec.has_truncations else []),
               "-include", device / "puffer_prelude.h", source]
    try:
        text = compilers.run_compiler(command, source=spec.header, what=spec.header.name,
                                      verbose=verbose, reads=True,
                                      env={"CPATH": None, "C_INCLUDE_PATH": None})
    except BuildError as error:
        raise _not_read(error, spec) from None
    return text.encode()


def _not_read(error: BuildError, spec: Spec) -> BuildError:
    refused = _REFUSED.search(error.detail or "")
    if refused:
        name, file = refused[1], spec.binding or spec.header
        where = str(file)
        with suppress(OSError):
            for number, line in enumerate(paths.text(file).splitlines(), 1):
                if re.match(rf"\s*#\s*define\s+(OBS_TENSOR_T\s+)?{name}\b", line):
                    where = f"{paths.shown(file)}:{number}"
                    break
        reason = "its rows of 16 bits are converted on the CPU" if name == "PrecisionTensor" else \
            "there each env is a thread, and none sees the others"
        return BuildError(f"{name} cannot be compiled for a GPU: {reason}", where=where,
                          hint="train with the environments on the CPU: --vec.device cpu")
    if error.header:
        error.message = f"{error.header} is not available on a GPU"
        error.hint = f"include it under #ifndef PUFFER_DEVICE; {translate.CPU}"
    return error


def program_text(preprocessed: bytes) -> str:
    """All that a C++ compiler is given: no includes, and the author's file and line throughout.

    A character is a byte: encode it as latin-1.
    """
    device = paths.include_dir() / "device"
    begin, functions, end = (f'#line 1 "{name}"\n{(device / name).read_text(encoding="utf-8")}'
                             for name in AROUND)
    begin = begin.replace('#include "math_functions.h"\n', functions)
    return begin + translate.translate(preprocessed) + end


def _key(text: bytes, parts: list[str]) -> str:
    """Twelve hex digits that change with all that a program is made of."""
    made = hashlib.sha256(text)
    for name in TRANSLATION:
        made.update((Path(__file__).parent / name).read_bytes())
    for name in AROUND:
        made.update((paths.include_dir() / "device" / name).read_bytes())
    made.update("\0".join(parts).encode())
    return made.hexdigest()[:12]


# ---- the two compilers -------------------------------------------------------------------------

def _write_cubin(path: Path, compiler: nvrtc.Nvrtc, source: str, arch: str, spec: Spec) -> None:
    cubin, said = nvrtc.compile_cubin(compiler, source, arch)
    if cubin is None:
        raise BuildError(f"the GPU's compiler refused {spec.header.name}: it compiles C as C++",
                         where=messages.find_location(said, spec.header) or spec.header,
                         detail=messages.shorten(said))
    with files.refused(f"cannot write {path.name}", where=path):
        files.write(path, cubin)
    seal(path)


def _compile_emulated(path: Path, source: str, spec: Spec, verbose: bool) -> None:
    with files.private() as home:
        unit = home / f"{path.stem}.cc"
        files.write(unit, source.encode("latin-1"))
        compile_library(path, [*compilers.find_compiler().command, *EMULATED_FLAGS, *SHARED,
                               str(unit), "-lstdc++", "-lm"],
                        source=spec.header, what=f"{spec.header.name} as C++", verbose=verbose)


def _with_hint(error: BuildError) -> BuildError:
    """What to do about the first thing that a C++ compiler says."""
    said = error.detail or ""
    found = next((hint for pattern, hint in _HINTS if re.search(pattern, said)), None)
    error.hint = f"{found}; {translate.CPU}" if found else \
        f"write it so that C++ takes it too, {translate.CPU}"
    return error
