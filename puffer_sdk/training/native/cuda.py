"""Compile the trainer for GPUs.  kernels/cuda, trainer/{common,cuda,device} -> puffer_cuda-KEY.so

NVRTC compiles the kernels for this machine's GPUs, and the C compiler all the rest, with the cubins
in it; once for a machine, and nothing of an environment goes into it. Neither a GPU nor a driver is
needed to compile: `make cuda` does so for four generations. With PUFFER_CUDA=emulated the same
trainer is compiled for the CPU, where a GPU is emulated.
"""
from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ...base import files, paths, ui
from ...base.errors import BuildError, PufferError, RunError
from ...env import abi
from ...toolchain import compilers, gpu, messages, nvrtc
from ...toolchain.cuda_finding import Runtime, find_cublaslt, find_driver, find_runtime
from ...toolchain.libraries import compile_library, compile_once, is_intact, key_of, prune
from . import trainer_sources

ARCHS = ("75", "80", "90", "120")       # compute capabilities: T4, A100, H100 and H200, RTX 50
NVRTC_FLAGS = ("--device-as-default-execution-space", "--std=c++17",
               "-fmad=false")           # multiply-adds where the source says so
INTEGERS = "".join(f"typedef {name} int{bits}_t; typedef unsigned {name} uint{bits}_t;\n"
                   for name, bits in (("char", 8), ("short", 16), ("int", 32), ("long long", 64)))
HEADERS = {                             # NVRTC has none of the system's
    "stdint.h": INTEGERS.replace(" char int8_t", " signed char int8_t"),
    "math.h": "#define INFINITY __int_as_float(0x7f800000)\n", "string.h": ""}
LIBRARY_FLAGS = ("-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall",
                 "-Wextra", "-dynamiclib" if sys.platform == "darwin" else "-shared",
                 *(() if sys.platform == "darwin" else ("-Wl,--no-undefined",)))
TRAINER_FLAGS = ("-O3", *LIBRARY_FLAGS, "-Wl,--exclude-libs,ALL")     # the runtime stays inside
EMULATED_FLAGS = ("-O2", *LIBRARY_FLAGS)
FUSED_FLAGS = (*(("-mfma",) if platform.machine() in ("x86_64", "AMD64") else ()),
               "-ffp-contract=fast")        # multiply-adds round once, as a GPU's may
STRICT = ("-Werror", "-DPUFFER_STRICT")
TIMEOUT = 600                           # seconds; an idle core needs a few for each generation
KEEP = 4                                # libraries of other versions that stay in the cache
NAME, EMULATED = "puffer_cuda", "puffer_cuda_emulated"
# A cubin is data of the library; cuda_cubins lists them
CUBIN = """extern "C" __attribute__((visibility("hidden"))) const unsigned char cubin_{arch}[];
__asm__(".section .rodata\\n.balign 64\\n.globl cubin_{arch}\\n.hidden cubin_{arch}\\n"
        "cubin_{arch}:\\n.incbin \\"{path}\\"\\n.previous\\n");
"""


# ---- its library ------------------------------------------------------------------------------

def build(*, verbose: bool = False, fresh: bool = False) -> Path:
    """The library that train.device cuda runs here: for the installed GPUs, or emulated."""
    compile_it = build_emulated if gpu.is_emulated() else build_cuda_trainer
    return compile_it(verbose=verbose, fresh=fresh)


@cache
def _open(path: Path) -> Any:
    return abi.trainer_ffi().dlopen(os.fspath(path))


def library() -> Any:
    """That library, opened; compiled first where that is needed."""
    try:
        return _library()
    except PufferError as error:
        error.of_gpu = "FAILED"
        raise


def _library() -> Any:
    path = build()
    try:
        return _open(path)
    except OSError:                     # intact, and yet of another system: a shared cache, say
        path = build(fresh=True)
    try:
        return _open(path)
    except OSError as error:
        raise RunError("cannot load the GPU trainer", where=path, detail=str(error),
                       hint="delete the file; until this is fixed, --train.device cpu") from None


def build_cuda_trainer(archs: Sequence[str] | None = None, *, verbose: bool = False,
                       fresh: bool = False, strict: bool = False) -> Path:
    """The trainer's library for GPUs, compiled unless that was done before.

    archs    compute capabilities ("90", ...); None: those of the installed GPUs
    strict   a warning is an error
    Raises BuildError where one of CUDA's parts is missing or a compiler refuses.
    """
    runtime, compiler, archs = _plan(archs)
    folder = paths.writable(paths.cache_dir() / "trainer", purpose="the trainer for GPUs")
    library = folder / _name(runtime, compiler, archs)
    if is_intact(library) and not fresh:
        return library
    names = ", ".join(f"sm_{arch}" for arch in archs)
    ui.say(f"compiling the trainer for {names}, once for this machine ...")
    try:
        with _cubins(compiler, archs) as cubins:
            compile_library(library, trainer_command(runtime, cubins, strict=strict),
                            source=trainer_sources.for_cuda()[1], what="the trainer for GPUs",
                            verbose=verbose, timeout=TIMEOUT)
    except BuildError as error:
        error.hint = _what_helps(error.detail or "")
        raise
    prune(folder, NAME, keep=KEEP, spare=library)
    return library


def _plan(archs: Sequence[str] | None) -> tuple[Runtime, nvrtc.Nvrtc, list[str]]:
    driver = find_driver()
    runtime = find_runtime(driver)
    here = driver if archs is None else None
    problem, hint = gpu.runtime_problem(runtime, here)
    compiler = None
    if not problem:
        compiler, problem, hint = gpu.find_compiler(here)
    if runtime is None or compiler is None or problem:
        raise BuildError(f"cannot compile the GPU trainer: {problem}", hint=hint)
    if archs is None:
        archs = sorted({found.arch for _, found in gpu.list_usable()})
        if not archs:
            raise BuildError("there is no GPU",
                             hint="name one: python -m puffer_sdk.training.native.cuda FILE "
                                  "--arch 90")
    return runtime, compiler, list(archs)


def trainer_command(runtime: Runtime, cubins: Path, *, strict: bool = False,
                    sources: Sequence[Path] | None = None,
                    flags: Sequence[str] = TRAINER_FLAGS) -> list[compilers.Word]:
    """How the C compiler is called, but for `-o FILE`.

    cubins    the file that _cubins makes
    sources   of C++, then of C; None: the trainer's
    """
    made = trainer_sources.for_cuda() if sources is None else sources
    cxx = [path for path in made if path.suffix == ".cc"]
    return [*compilers.find_compiler().command, *flags, *(STRICT if strict else ()),
            *(f"-I{place}" for place in trainer_sources.include_dirs()),
            "-isystem", runtime.include, "-isystem", trainer_sources.runtime_headers(),
            *_run_path(runtime), "-x", "c++", *cxx, cubins,
            "-x", "c", *(path for path in made if path not in cxx),
            "-x", "none", runtime.library, "-lstdc++", "-lm", "-ldl", "-lrt"]


def _run_path(runtime: Runtime) -> list[str]:
    """Where else the loader looks for cuBLASLt."""
    found = find_cublaslt(runtime.version[0], runtime)
    if not found or os.environ.get("PUFFER_CUBLASLT"):
        return []
    return ["-Xlinker", f"-rpath={found.parent}"]


def _name(runtime: Runtime, compiler: nvrtc.Nvrtc, archs: Sequence[str]) -> str:
    key = key_of([*trainer_sources.for_cuda(), trainer_sources.kernels(), abi.env_header(),
                  *trainer_sources.headers(".h", ".cuh")],
                 [*archs, *NVRTC_FLAGS, *TRAINER_FLAGS, *_run_path(runtime), str(runtime),
                  str(compiler), compilers.find_compiler().key])
    return f"{NAME}-{key}.so"


@contextmanager
def _cubins(compiler: nvrtc.Nvrtc, archs: Sequence[str]) -> Iterator[Path]:
    """A C++ file that holds the kernels for these GPUs, while it is used."""
    with files.private() as home:
        parts = ['#include "kernels/cuda/launch.h"\n']
        for arch in archs:
            path = home / f"{arch}.cubin"
            files.write(path, compile_kernels(compiler, arch)[0])
            parts.append(CUBIN.format(arch=arch, path=path))
        rows = "".join(f"{{{arch}, cubin_{arch}}}, " for arch in archs)
        parts.append(f"const CudaCubin cuda_cubins[] = {{{rows}{{0, 0}}}};\n")
        made = home / "cubins.cc"
        files.write(made, "".join(parts))
        yield made


def compile_kernels(compiler: nvrtc.Nvrtc, arch: str, *flags: str) -> tuple[bytes, str]:
    """(a cubin of all kernels for one GPU, what NVRTC said). Raises BuildError with its text."""
    source = trainer_sources.kernels()
    cubin, said = nvrtc.compile_cubin(
        compiler, f'#include "{source.relative_to(trainer_sources.home())}"\n', arch,
        (*NVRTC_FLAGS, f"-I{trainer_sources.home()}", *flags), HEADERS)
    if cubin is None:
        raise BuildError(f"{compiler} refused the trainer's kernels for sm_{arch}", where=source,
                         detail=messages.shorten(said))
    return cubin, said


def _what_helps(said: str) -> str:
    """The next step, by where a compiler's first error is."""
    place = re.search(r"^(\S+?):\d+:.*\berror\b", said, re.M)
    ours = [trainer_sources.home() / name for name in ("kernels", "trainer")]
    if place and any((trainer_sources.home() / place[1]).is_relative_to(home) for home in ours):
        return "these are our own sources: please report this with the lines above; until then, " \
               f"{gpu.ON_CPU}"
    return f"this compiler does not work with CUDA's headers: {compilers.install_hint('g++')}; " \
           f"until then, {gpu.ON_CPU}"


def build_emulated(*, verbose: bool = False, fresh: bool = False,
                   flags: Sequence[str] = ()) -> Path:
    """The same trainer for the CPU, on an emulated GPU: what PUFFER_CUDA=emulated runs. With
    PUFFER_CUDA_EMULATED_FMA=1 it rounds as a GPU may, and not as the CPU's trainer does."""
    compiler = compilers.find_compiler()
    if os.environ.get("PUFFER_CUDA_EMULATED_FMA") == "1":
        flags = (*FUSED_FLAGS, *flags)
    files = trainer_sources.for_emulated()
    command = [*compiler.command, *EMULATED_FLAGS, *flags,
               *(f"-I{place}" for place in trainer_sources.include_dirs()),
               "-x", "c++", *map(os.fspath, files[:2]), "-x", "c", *map(os.fspath, files[2:]),
               "-x", "none", "-lstdc++", "-lm", "-ldl"]
    key = key_of([*files, *trainer_sources.headers(".h", ".cuh"), abi.env_header()],
                 [*EMULATED_FLAGS, *flags, compiler.key, compilers.cpu_features_key()])
    folder = paths.writable(paths.cache_dir() / "trainer", purpose="the emulated trainer")
    return compile_once(folder / f"{EMULATED}-{key}.so", command, source=files[1],
                        what="the emulated trainer", keep=KEEP, verbose=verbose, fresh=fresh,
                        timeout=TIMEOUT, said="compiling the trainer with an emulated GPU ...")


# ---- other programs of the same parts ---------------------------------------------------------

def build_kernels(library: Path, archs: Sequence[str] = ARCHS, *, strict: bool = False) -> Path:
    """All kernels in one library, which tests call. Raises BuildError with the compiler's text."""
    return build_with_kernels(library, archs, [trainer_sources.launcher()], "the CUDA kernels",
                              flags=[flag for flag in TRAINER_FLAGS if "visibility" not in flag],
                              strict=strict)


def build_with_kernels(target: Path, archs: Sequence[str], sources: Sequence[Path], what: str, *,
                       flags: Sequence[str] = TRAINER_FLAGS, strict: bool = False,
                       verbose: bool = False) -> Path:
    """A library or program of these sources and all kernels. Raises BuildError."""
    runtime, compiler, archs = _plan(archs)
    files.mkdir(target.parent)
    with _cubins(compiler, archs) as cubins:
        compilers.compile_to(target, trainer_command(runtime, cubins, strict=strict, flags=flags,
                                                     sources=sources),
                             source=sources[0], what=what, verbose=verbose, timeout=TIMEOUT)
    return target


def main(arguments: Sequence[str]) -> int:
    """What `make cuda` runs: the whole trainer, a warning is an error; no GPU is needed."""
    parser = argparse.ArgumentParser(prog="python -m puffer_sdk.training.native.cuda",
                                     description="Compile the trainer for GPUs.")
    parser.add_argument("file", type=Path, help="where the library goes")
    parser.add_argument("--arch", action="append", metavar="90",
                        help="a compute capability; may be repeated. Without it: "
                             + ", ".join(ARCHS))
    options = parser.parse_args(arguments)
    archs = options.arch or ARCHS
    try:
        build_with_kernels(options.file, archs, trainer_sources.for_cuda(),
                           "the trainer for GPUs", strict=True, verbose=True)
    except PufferError as error:
        ui.print_error(error)
        return error.exit_status
    ui.say(f"compiled for {', '.join(f'sm_{arch}' for arch in archs)}: {paths.shown(options.file)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
